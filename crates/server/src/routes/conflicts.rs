//! `/dbs/{db}/colls/{coll}/conflicts`: versions that lost a conflict and wait for a decision.
//! Clients list, query and read them, and delete those that they have decided. An account with one
//! write region has none.

use hyper::Method;
use orrery_engine::{CompiledQuery, Conflict, ConflictOperation};
use orrery_model::{ContainerAddress, Failure, limits};
use orrery_wire::{ConflictDescription, FeedKind, FeedPost, conflict_body, feed_body};

use super::feed;
use super::item::{await_session, check_session};
use super::items::plan;
use super::scripts::owner;
use crate::authority::{AuthorizedScope, FormerRanges};
use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

/// Lists and queries the conflicts of a container.
pub(super) async fn feed(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = list(exchange, &found).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

/// Reads or deletes one conflict.
pub(super) async fn one(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
    id: &str,
) -> Result<Reply, Failure> {
    let found = owner(exchange, container)?;
    let answered = answer(exchange, &found, id).await;
    Ok(found.complete(exchange, answered.unwrap_or_else(Reply::failed)))
}

async fn list(exchange: &Exchange<'_>, found: &ResolvedContainer) -> Result<Reply, Failure> {
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

/// Answers with one page of the conflict feed.
async fn page(exchange: &Exchange<'_>, found: &ResolvedContainer) -> Result<Reply, Failure> {
    let headers = exchange.headers;
    let container = &found.entry.container;
    let access = found.item_access(exchange);
    let scope = access.scope(None, true, FormerRanges::Gone)?;
    admit(exchange, found, &scope).await?;
    let items_max = headers.max_item_count.unwrap_or(limits::PAGE_ITEMS_DEFAULT);
    let page = access.conflicts(&scope, items_max, headers.continuation)?;
    let bodies: Vec<_> = page.conflicts.iter().map(body).collect();
    let rid = container.rid.to_string();
    Ok(Reply {
        item_count: Some(bodies.len()),
        continuation: page.continuation,
        ..Reply::new(200, feed_body(&rid, FeedKind::Conflicts, &bodies))
    })
}

/// Runs a query over the conflicts. The query reads every conflict, since a container has few
/// conflicts.
async fn query(exchange: &Exchange<'_>, found: &ResolvedContainer) -> Result<Reply, Failure> {
    let container = &found.entry.container;
    let access = found.item_access(exchange);
    let query = CompiledQuery::over_resources(&feed::query_text(exchange)?)?;
    let scope = access.scope(
        Some(&query),
        exchange.headers.query.enable_cross_partition,
        FormerRanges::Gone,
    )?;
    admit(exchange, found, &scope).await?;
    let all = access.conflicts(&scope, usize::MAX, None)?;
    let named = all.conflicts.iter();
    let named = named.map(|conflict| (conflict.rid.to_string(), body(conflict)));
    let rid = container.rid.to_string();
    let named: Vec<_> = named.collect();
    feed::rows(exchange, &query, &rid, FeedKind::Conflicts, &named)
}

async fn answer(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    id: &str,
) -> Result<Reply, Failure> {
    let access = found.item_access(exchange);
    let key = access.key()?;
    match *exchange.method {
        Method::GET => {
            admit(exchange, found, &key.scope()).await?;
            let conflict = access.conflict(&key, id)?;
            Ok(Reply::new(200, body(&conflict)).with_etag(conflict.etag.as_str()))
        }
        Method::DELETE => {
            // Deleting a conflict is a write, so it needs a region that takes writes.
            exchange.admit_write().await?;
            access.delete_conflict(&key, id).await?;
            Ok(Reply::new(204, ""))
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Waits until this region may answer a read of conflicts, and checks the session.
async fn admit(
    exchange: &Exchange<'_>,
    found: &ResolvedContainer,
    scope: &AuthorizedScope,
) -> Result<(), Failure> {
    let container = &found.entry.container;
    let level = exchange.level()?;
    exchange.admit_read().await?;
    await_session(exchange, found, || scope.clone()).await?;
    let session = exchange.session();
    for partition in found.item_access(exchange).partitions_of(scope)? {
        check_session(
            exchange,
            &session,
            level,
            container,
            partition.partition_lsn(),
        )?;
    }
    Ok(())
}

/// The body of a conflict.
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
