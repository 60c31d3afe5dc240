//! `/dbs/{db}/colls/{coll}/docs`: create, upsert, query, query plan, batch, read feed.

use std::sync::Arc;

use hyper::Method;
use orrery_engine::{CompiledQuery, FeedRequest, QueryText, query_plan};
use orrery_model::{ContainerAddress, Document, Failure, OperationKind, limits};
use orrery_wire::{FeedKind, FeedPost, feed_body, token_forbidden};

use super::feed::query_text;
use super::item::{await_session, check_session, write};
use super::{batch, changes, report};
use crate::authority::{AuthorizedScope, FormerRanges, ItemAccess};
use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

/// Answers requests to the feed of items.
pub(super) async fn route(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    let found = exchange.container(container)?;
    let answered = answer(exchange, &found).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

/// Chooses the operation from the method and the headers.
async fn answer(exchange: &Exchange<'_>, found: &ResolvedContainer) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET if let Some(mode) = exchange.headers.change_feed => {
            changes::page(exchange, found, mode, None).await
        }
        Method::GET => page(exchange, found, None).await,
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::QueryPlan => plan(exchange, found),
            FeedPost::Batch => batch::route(exchange, found).await,
            FeedPost::Query if let Some(mode) = exchange.headers.change_feed => {
                let query = changes::compile(exchange, mode)?;
                changes::page(exchange, found, mode, Some(query)).await
            }
            FeedPost::Query => {
                let text = query_text(exchange)?;
                page(exchange, found, Some(compile(exchange, found, &text)?)).await
            }
            FeedPost::Upsert => put(exchange, found, OperationKind::Upsert).await,
            FeedPost::Create => put(exchange, found, OperationKind::Create).await,
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Creates or upserts the document in the body.
async fn put(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    kind: fn(Document) -> OperationKind,
) -> Result<Reply, Failure> {
    let document = Document::parse(&exchange.body)?;
    // The authority checks the key of the document too: a body must not choose a key that the token
    // does not grant.
    let key = found.item_access(exchange).key_for(&document)?;
    // The location needs the id, and the write consumes the document.
    let location = exchange.location(Some(document.id()));
    let reply = write(exchange, found, key, kind(document)).await?;
    Ok(Reply {
        location: location.filter(|_| reply.failure.is_none()),
        ..reply
    })
}

/// Deletes all items of one logical partition.
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

async fn delete_items(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let key = access.key()?;
    exchange.admit_write().await?;
    let answer = access.delete_items(key, exchange.request_budget()?).await;
    let base = match answer.result {
        Ok(()) => Reply::new(200, ""),
        Err(failure) => Reply::failed(failure),
    };
    Ok(Reply {
        charge: answer.charge,
        partition_lsn: answer.partition_lsn,
        ..base
    })
}

/// Compiles a query, and refuses it with a plan if the client must merge its rows.
fn compile(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    text: &QueryText,
) -> Result<Arc<CompiledQuery>, Failure> {
    let (access, container) = (found.item_access(exchange), &found.entry.container);
    let query = access.compile(text)?;
    if exchange.expects_plan() && scope(exchange, access, Some(&query))?.is_whole_container() {
        let checked = query.check_client_merge(text, &container.definition);
        checked.map_err(|failure| refuse_resumed_merge(exchange, failure))?;
    }
    Ok(query)
}

/// An SDK that merges asks for the plan before it has a continuation, so a program has resumed the
/// query from the continuation of a page of one range. The SDK would send it to every range, and
/// each range would leave out the rows before it.
fn refuse_resumed_merge(exchange: &Exchange<'_>, failure: Failure) -> Failure {
    let token = exchange.headers.continuation.unwrap_or_default();
    match failure {
        Failure::NeedsPlan(_) if !token.is_empty() => Failure::bad_request(
            "Invalid Continuation Token: your SDK merges the rows of this query from several ranges, and \
             the token is of a page of one range. Run the query again from its beginning, or over one \
             partition key, or send 'x-orrery-whole-query: True' with every page of it.",
        ),
        failure => failure,
    }
}

/// The items that a query or a read feed may read.
fn scope(
    exchange: &Exchange<'_>,
    access: ItemAccess<'_>,
    query: Option<&CompiledQuery>,
) -> Result<AuthorizedScope, Failure> {
    let is_cross_partition = exchange.headers.query.enable_cross_partition;
    let former = match query {
        Some(_) if exchange.sdk_capabilities().repeats_former_ranges => FormerRanges::Answered,
        _ => FormerRanges::Gone,
    };
    access.scope(query, is_cross_partition, former)
}

/// Answers with the query plan that a client needs to merge the rows of several partitions.
pub(super) fn plan(exchange: &Exchange<'_>, found: &ResolvedContainer) -> Result<Reply, Failure> {
    let definition = &found.entry.container.definition;
    let features = exchange.headers.query.supported_features;
    let plan = query_plan(&query_text(exchange)?, definition, features)?;
    Ok(Reply::new(200, plan.to_string()))
}

/// Answers with one page of the feed, or of a query.
async fn page(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    query: Option<Arc<CompiledQuery>>,
) -> Result<Reply, Failure> {
    let headers = exchange.headers;
    let container = &found.entry.container;
    let budget = exchange.request_budget()?;
    let access = found.item_access(exchange);
    let scope = scope(exchange, access, query.as_deref())?;
    // The plan contains counts of the whole container.
    if headers.query.explain && !exchange.authority.covers_whole_containers() {
        return Err(token_forbidden(
            "covers a part of the container, and the plan of a query tells of all of it: leave out the header \
             that asks for the plan",
        ));
    }
    exchange.admit_read().await?;
    await_session(exchange, found, || scope.clone()).await?;
    let session = exchange.session();
    for partition in access.partitions_of(&scope)? {
        // A partition that lacks records of the client's session fails the page before any row is
        // read.
        check_session(
            exchange,
            &session,
            budget.level,
            container,
            partition.partition_lsn(),
        )?;
    }
    let request = |scope| FeedRequest {
        scope,
        query,
        items_max: headers.max_item_count.unwrap_or(limits::PAGE_ITEMS_DEFAULT),
        continuation: headers.continuation.map(str::to_owned),
        continuation_bytes_max: headers
            .continuation_limit_kb
            .map(|kilobytes| kilobytes * 1024),
        budget,
        wants_report: report::is_wanted(headers.query),
        without_index: false,
        enable_scan: headers.query.enable_scan,
    };
    let answer = access.feed(scope, request).await;
    let base = match answer.result {
        Ok(page) => {
            check_continuation_size(exchange, page.continuation.as_deref())?;
            Reply {
                item_count: Some(page.items.len()),
                continuation: page.continuation,
                session_token: exchange.token_of_ranges(&page.partition_lsns),
                is_complete: headers.query.optimistic_direct,
                reports: report::headers(headers.query, page.report),
                ..Reply::new(200, feed_body(container.rid, FeedKind::Items, &page.items))
            }
        }
        Err(failure) => Reply::failed(failure),
    };
    Ok(Reply {
        charge: answer.charge,
        partition_lsn: answer.partition_lsn,
        ..base
    })
}

/// Refuses a page whose continuation token exceeds the limit of the client.
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
