//! `/dbs/{db}/colls/{coll}/conflicts`: versions that lost and wait for a decision; list, query, read,
//! and delete when they are decided. An account with one write region has none.

use hyper::Method;
use orrery_engine::{Conflict, ConflictOperation};
use orrery_model::{ContainerAddress, Failure, limits};
use orrery_wire::{ConflictDescription, FeedKind, FeedPost, conflict_body, feed_body};

use super::feed;
use super::item::{await_session, check_session};
use super::items::plan;
use super::scripts::owner;
use crate::authority::Area;
use crate::exchange::{Exchange, Found};
use crate::reply::Reply;

pub(super) async fn feed(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = list(exchange, &found).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

pub(super) async fn one(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
    id: &str,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = answer(exchange, &found, id).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

async fn list(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET => page(exchange, found).await,
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => query(exchange, found).await,
            FeedPost::QueryPlan => plan(exchange, found),
            FeedPost::Create | FeedPost::Upsert | FeedPost::Batch => Err(Failure::MethodNotAllowed),
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

async fn page(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    let headers = exchange.headers;
    let container = &found.entry.container;
    let reach = found.reach(exchange);
    let area = reach.area(None, true)?;
    admit(exchange, found, &area).await?;
    let items_max = headers.max_item_count.unwrap_or(limits::PAGE_ITEMS_DEFAULT);
    let page = reach.conflicts(&area, items_max, headers.continuation)?;
    let bodies: Vec<_> = page.conflicts.iter().map(body).collect();
    let rid = container.rid.to_string();
    Ok(Reply {
        item_count: Some(bodies.len()),
        continuation: page.continuation,
        ..Reply::new(200, feed_body(&rid, FeedKind::Conflicts, &bodies))
    })
}

/// Conflicts are few: a query looks at all of them.
async fn query(exchange: &Exchange<'_>, found: &Found) -> Result<Reply, Failure> {
    let container = &found.entry.container;
    let reach = found.reach(exchange);
    let area = reach.area(None, true)?;
    admit(exchange, found, &area).await?;
    let all = reach.conflicts(&area, usize::MAX, None)?;
    let named = all.conflicts.iter();
    let named = named.map(|conflict| (conflict.rid.to_string(), body(conflict)));
    let rid = container.rid.to_string();
    feed::query(
        exchange,
        &rid,
        FeedKind::Conflicts,
        &named.collect::<Vec<_>>(),
    )
}

async fn answer(exchange: &Exchange<'_>, found: &Found, id: &str) -> Result<Reply, Failure> {
    let reach = found.reach(exchange);
    let key = reach.key()?;
    match *exchange.method {
        Method::GET => {
            admit(exchange, found, &key.area()).await?;
            let conflict = reach.conflict(&key, id)?;
            Ok(Reply::new(200, body(&conflict)).with_etag(conflict.etag.as_str()))
        }
        Method::DELETE => {
            exchange.admit_write().await?;
            reach.delete_conflict(&key, id).await?;
            Ok(Reply::new(204, ""))
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

async fn admit(exchange: &Exchange<'_>, found: &Found, area: &Area) -> Result<(), Failure> {
    let container = &found.entry.container;
    let level = exchange.level()?;
    exchange.admit_read().await?;
    await_session(exchange, found, || area.clone()).await?;
    let session = exchange.session();
    for partition in found.reach(exchange).partitions_of(area)? {
        check_session(exchange, &session, level, container, partition.stamp())?;
    }
    Ok(())
}

fn body(conflict: &Conflict) -> Vec<u8> {
    conflict_body(&ConflictDescription {
        rid: conflict.rid,
        is_create: conflict.operation == ConflictOperation::Create,
        resource: conflict.resource,
        content: &conflict.content,
        lsn: conflict.lsn,
        etag: &conflict.etag,
        modified_seconds: conflict.modified_seconds,
    })
}
