//! `/dbs/{db}/users/{user}/permissions` and below. Every answer carries a token minted for it.

use hyper::Method;
use orrery_engine::{Catalogue, ContainerEntry, DatabaseEntry, NewPermission};
use orrery_model::{ContainerAddress, Failure, Permission, PermissionAddress, UserAddress};
use orrery_wire::{
    FeedKind, FeedPost, Grant, PermissionRequest, RequestPath, Resource, permission_body,
    script_name_link, script_self_link,
};

use super::feed;
use crate::exchange::Exchange;
use crate::reply::Reply;

pub(super) async fn feed(exchange: &Exchange<'_>, user: UserAddress<'_>) -> Result<Reply, Failure> {
    let list = || {
        let catalogue = exchange.catalogue();
        let (_, entry) = catalogue.user(user).map_err(|_| Failure::OWNER_NOT_FOUND)?;
        let permissions = entry.permissions.iter();
        let bodies = permissions
            .map(|(id, permission)| Ok((id.clone(), body_of(exchange, permission)?)))
            .collect::<Result<_, Failure>>()?;
        Ok((entry.user.rid.to_string(), bodies))
    };
    match *exchange.method {
        Method::GET => {
            let (rid, permissions) = list()?;
            feed::read(exchange, &rid, FeedKind::Permissions, permissions)
        }
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => {
                let (rid, permissions) = list()?;
                feed::query(exchange, &rid, FeedKind::Permissions, &permissions)
            }
            FeedPost::Create => {
                let new = parse(exchange)?;
                let permission = exchange.engine().create_permission(user, new).await?;
                reply(exchange, 201, &permission)
            }
            FeedPost::Upsert => {
                let new = parse(exchange)?;
                let (permission, created) = exchange.engine().upsert_permission(user, new).await?;
                reply(exchange, if created { 201 } else { 200 }, &permission)
            }
            FeedPost::Batch | FeedPost::QueryPlan => Err(Failure::MethodNotAllowed),
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

pub(super) async fn one(
    exchange: &Exchange<'_>,
    address: PermissionAddress<'_>,
) -> Result<Reply, Failure> {
    let engine = exchange.engine();
    let if_match = exchange.headers.if_match();
    match *exchange.method {
        Method::GET => {
            let catalogue = exchange.catalogue();
            reply(exchange, 200, catalogue.permission(address)?.1)
        }
        Method::PUT => {
            let new = parse(exchange)?;
            let permission = engine
                .replace_permission(address, new, if_match.as_ref())
                .await?;
            reply(exchange, 200, &permission)
        }
        Method::DELETE => {
            engine.delete_permission(address, if_match.as_ref()).await?;
            Ok(Reply::new(204, ""))
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

fn parse(exchange: &Exchange<'_>) -> Result<NewPermission, Failure> {
    let request = PermissionRequest::parse(&exchange.body)?;
    Ok(NewPermission {
        id: request.id,
        mode: request.mode,
        mode_text: request.mode_text,
        resource: request.resource,
        partition_key: request.partition_key,
    })
}

fn reply(exchange: &Exchange<'_>, status: u16, permission: &Permission) -> Result<Reply, Failure> {
    let body = body_of(exchange, permission)?;
    Ok(Reply::new(status, body).with_etag(permission.etag.as_str()))
}

fn body_of(exchange: &Exchange<'_>, permission: &Permission) -> Result<Vec<u8>, Failure> {
    let lifetime = exchange.headers.token_lifetime_seconds()?;
    let grant = Grant {
        resource: permission.resource.clone(),
        alias: alias(&exchange.catalogue(), &permission.resource),
        mode: permission.mode,
        partition_key: permission.partition_key.clone(),
        expires_seconds: exchange.engine().now_seconds() + lifetime,
    };
    let token = exchange
        .state
        .token_secret()
        .mint(&grant, exchange.state.activity_ids.nonce());
    Ok(permission_body(permission, &token))
}

/// The same container or script addressed the other way, because a client may use either.
fn alias(catalogue: &Catalogue, resource: &str) -> Option<String> {
    let path = RequestPath::parse(resource).ok()?;
    match path.resource().ok()? {
        Resource::Container(address) => {
            let (database, entry) = catalogue.container(address).ok()?;
            Some(match address {
                ContainerAddress::Name { .. } => entry.container.self_link.clone(),
                ContainerAddress::Rid(_) => name_link(database, entry),
            })
        }
        Resource::Script(address, kind, segment) => {
            let (database, entry) = catalogue.container(address).ok()?;
            let mut scripts = entry.scripts.of_kind(kind);
            Some(match address {
                ContainerAddress::Name { .. } => {
                    script_self_link(scripts.find(|script| script.id == segment)?)
                }
                ContainerAddress::Rid(_) => {
                    let script = scripts.find(|script| script.rid.to_string() == segment)?;
                    script_name_link(&name_link(database, entry), script)
                }
            })
        }
        _ => None,
    }
}

fn name_link(database: &DatabaseEntry, entry: &ContainerEntry) -> String {
    let id = &entry.container.definition.id;
    format!("dbs/{}/colls/{id}", database.database.id)
}
