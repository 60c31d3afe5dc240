//! `/dbs/{db}/colls/{coll}/docs`: create, upsert, query, query plan, batch, read feed.

use std::sync::Arc;

use hyper::Method;
use orrery_engine::{CompiledQuery, FeedRequest, query_plan};
use orrery_model::{ContainerAddress, Document, Failure, OperationKind, limits};
use orrery_wire::{FeedKind, FeedPost, feed_body, refused, session_token};

use super::feed::query_text;
use super::item::{await_session, check_session, write};
use super::{batch, changes, report};
use crate::exchange::{Exchange, Found};
use crate::reply::Reply;

pub(super) async fn route(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    let found = exchange.container(container)?;
    let answered = answer(exchange, &found).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

async fn answer(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET if let Some(mode) = exchange.headers.change_feed => {
            changes::page(exchange, found, mode).await
        }
        Method::GET => page(exchange, found, None).await,
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::QueryPlan => plan(exchange, found),
            FeedPost::Batch => batch::route(exchange, found).await,
            FeedPost::Query => {
                let query = compile(exchange, found)?;
                page(exchange, found, Some(query)).await
            }
            FeedPost::Upsert => put(exchange, found, OperationKind::Upsert).await,
            FeedPost::Create => put(exchange, found, OperationKind::Create).await,
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

async fn put(
    exchange: &Exchange<'_>,
    found: &Found,
    kind: fn(Document) -> OperationKind,
) -> Result<Reply, Failure> {
    let document = Document::parse(&exchange.body)?;
    let key = found.reach(exchange).key_for(&document)?;
    write(exchange, found, key, kind(document)).await
}

pub(super) async fn delete_by_key(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    if *exchange.method != Method::POST {
        return Err(Failure::MethodNotAllowed);
    }
    let found = exchange.container(container)?;
    let answered = delete_items(exchange, &found).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

async fn delete_items(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    let reach = found.reach(exchange);
    let key = reach.key()?;
    exchange.admit_write().await?;
    let answer = reach.delete_items(key, exchange.terms()?).await;
    let base = match answer.result {
        Ok(()) => Reply::new(200, ""),
        Err(failure) => Reply::failed(failure),
    };
    Ok(Reply {
        charge: answer.charge,
        stamp: answer.stamp,
        ..base
    })
}

fn compile(exchange: &Exchange<'_>, found: &Found) -> Result<Arc<CompiledQuery>, Failure> {
    found.reach(exchange).compile(&query_text(exchange)?)
}

pub(super) fn plan(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    let definition = &found.entry.container.definition;
    let features = exchange.headers.query.supported_features;
    let plan = query_plan(&query_text(exchange)?, definition, features)?;
    Ok(Reply::new(200, plan.to_string()))
}

async fn page(
    exchange: &Exchange<'_>,
    found: &Found,
    query: Option<Arc<CompiledQuery>>,
) -> Result<Reply, Failure> {
    let headers = exchange.headers;
    let container = &found.entry.container;
    let terms = exchange.terms()?;
    let reach = found.reach(exchange);
    let area = reach.area(query.as_deref(), headers.query.enable_cross_partition)?;
    if headers.query.explain && !exchange.authority.covers_whole_containers() {
        return Err(refused(
            "covers a part of the container, and the plan of a query tells of all of it: leave out the header \
             that asks for the plan",
        ));
    }
    exchange.admit_read().await?;
    await_session(exchange, found, || area.clone()).await?;
    let session = exchange.session();
    for partition in reach.partitions_of(&area)? {
        check_session(
            exchange,
            &session,
            terms.level,
            container,
            partition.stamp(),
        )?;
    }
    let request = |scope| FeedRequest {
        scope,
        query,
        items_max: headers.max_item_count.unwrap_or(limits::PAGE_ITEMS_DEFAULT),
        continuation: headers.continuation.map(str::to_owned),
        terms,
        wants_report: report::is_wanted(headers.query),
        without_index: false,
        enable_scan: headers.query.enable_scan,
    };
    let answer = reach.feed(area, request).await;
    let base = match answer.result {
        Ok(page) => {
            check_continuation_size(exchange, page.continuation.as_deref())?;
            Reply {
                item_count: Some(page.items.len()),
                continuation: page.continuation,
                session_token: Some(session_token(&exchange.session(), &page.stamps)),
                is_complete: headers.query.optimistic_direct,
                reports: report::headers(headers.query, page.report),
                ..Reply::new(200, feed_body(container.rid, FeedKind::Items, &page.items))
            }
        }
        Err(failure) => Reply::failed(failure),
    };
    Ok(Reply {
        charge: answer.charge,
        stamp: answer.stamp,
        ..base
    })
}

fn check_continuation_size(exchange: &Exchange<'_>, token: Option<&str>) -> Result<(), Failure> {
    match (exchange.headers.continuation_limit_kb, token) {
        (Some(kilobytes), Some(token)) if token.len() > kilobytes * 1024 => {
            Err(Failure::bad_request(format!(
                "The continuation token limit specified is not large enough: the token has {} bytes.",
                token.len()
            )))
        }
        _ => Ok(()),
    }
}
