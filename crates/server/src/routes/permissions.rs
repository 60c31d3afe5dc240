//! `/dbs/{db}/users/{user}/permissions` and below. Every permission in an answer has a token made
//! for this answer.

use hyper::Method;
use orrery_engine::NewPermission;
use orrery_model::{DatabaseAddress, Failure, Permission, PermissionAddress, UserAddress};
use orrery_wire::{FeedKind, FeedPost, PermissionRequest, permission_body};

use super::feed;
use crate::authority::{check_permission, mint};
use crate::exchange::Exchange;
use crate::reply::Reply;

/// Lists, queries, creates and upserts the permissions of a user.
pub(super) async fn feed(exchange: &Exchange<'_>, user: UserAddress<'_>) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET => {
            let (rid, permissions) = list(exchange, user).await?;
            feed::read(exchange, &rid, FeedKind::Permissions, permissions)
        }
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => {
                let (rid, permissions) = list(exchange, user).await?;
                feed::query(exchange, &rid, FeedKind::Permissions, &permissions)
            }
            FeedPost::Create => {
                let new = parse(exchange, user.database()).await?;
                let permission = exchange.engine().create_permission(user, new).await?;
                reply(exchange, 201, &permission).await
            }
            FeedPost::Upsert => {
                let new = parse(exchange, user.database()).await?;
                let (permission, created) = exchange.engine().upsert_permission(user, new).await?;
                reply(exchange, if created { 201 } else { 200 }, &permission).await
            }
            FeedPost::Batch | FeedPost::QueryPlan => Err(Failure::MethodNotAllowed),
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// The resource id of a user, and the user's permissions: names and bodies, each with a token.
async fn list(
    exchange: &Exchange<'_>,
    user: UserAddress<'_>,
) -> Result<(String, Vec<(String, Vec<u8>)>), Failure> {
    let catalogue = exchange.catalogue();
    let (_, entry) = catalogue.user(user).map_err(|_| Failure::OWNER_NOT_FOUND)?;
    let mut bodies = Vec::with_capacity(entry.permissions.len());
    for (id, permission) in &entry.permissions {
        let token = mint(exchange, permission).await?;
        bodies.push((id.clone(), permission_body(permission, &token)));
    }
    Ok((entry.user.rid.to_string(), bodies))
}

/// Reads, replaces or deletes one permission.
pub(super) async fn one(
    exchange: &Exchange<'_>,
    address: PermissionAddress<'_>,
) -> Result<Reply, Failure> {
    let engine = exchange.engine();
    let if_match = exchange.headers.if_match();
    match *exchange.method {
        Method::GET => {
            let catalogue = exchange.catalogue();
            reply(exchange, 200, catalogue.permission(address)?.1).await
        }
        Method::PUT => {
            let new = parse(exchange, address.user().database()).await?;
            let permission = engine
                .replace_permission(address, new, if_match.as_ref())
                .await?;
            reply(exchange, 200, &permission).await
        }
        Method::DELETE => {
            engine.delete_permission(address, if_match.as_ref()).await?;
            Ok(Reply::new(204, ""))
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Parses a permission, and refuses one whose token would open nothing.
async fn parse(
    exchange: &Exchange<'_>,
    database: DatabaseAddress<'_>,
) -> Result<NewPermission, Failure> {
    let request = PermissionRequest::parse(&exchange.body)?;
    let key = request.partition_key.as_ref();
    check_permission(exchange, database, &request.resource, key).await?;
    Ok(NewPermission {
        id: request.id,
        mode: request.mode,
        mode_text: request.mode_text,
        resource: request.resource,
        partition_key: request.partition_key,
    })
}

/// The answer with the permission and a new token.
async fn reply(
    exchange: &Exchange<'_>,
    status: u16,
    permission: &Permission,
) -> Result<Reply, Failure> {
    let body = permission_body(permission, &mint(exchange, permission).await?);
    Ok(Reply::new(status, body).with_etag(permission.etag.as_str()))
}
