//! `/dbs/{db}/users` and `/dbs/{db}/users/{user}`.

use hyper::Method;
use orrery_model::{DatabaseAddress, Failure, UserAddress};
use orrery_wire::{FeedKind, FeedPost, parse_id_body, user_body};

use super::feed;
use crate::exchange::Exchange;
use crate::reply::Reply;

/// Lists, queries, creates and upserts the users of a database.
pub(super) async fn feed(
    exchange: &Exchange<'_>,
    database: DatabaseAddress<'_>,
) -> Result<Reply, Failure> {
    // The catalogue is read only for the methods that need it.
    let list = || {
        let catalogue = exchange.catalogue();
        let entry = catalogue
            .database(database)
            .map_err(|_| Failure::OWNER_NOT_FOUND)?;
        let users = entry.users.iter();
        let bodies = users
            .map(|(id, entry)| (id.clone(), user_body(&entry.user)))
            .collect();
        Ok((entry.database.rid.to_string(), bodies))
    };
    match *exchange.method {
        Method::GET => {
            let (rid, users) = list()?;
            feed::read(exchange, &rid, FeedKind::Users, users)
        }
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => {
                let (rid, users) = list()?;
                feed::query(exchange, &rid, FeedKind::Users, &users)
            }
            FeedPost::Create => {
                let id = parse_id_body(&exchange.body)?;
                let user = exchange.engine().create_user(database, &id).await?;
                Ok(Reply::new(201, user_body(&user)).with_etag(user.etag.as_str()))
            }
            FeedPost::Upsert => {
                let id = parse_id_body(&exchange.body)?;
                let (user, created) = exchange.engine().upsert_user(database, &id).await?;
                let status = if created { 201 } else { 200 };
                Ok(Reply::new(status, user_body(&user)).with_etag(user.etag.as_str()))
            }
            FeedPost::Batch | FeedPost::QueryPlan => Err(Failure::MethodNotAllowed),
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Reads, replaces or deletes one user.
pub(super) async fn one(
    exchange: &Exchange<'_>,
    address: UserAddress<'_>,
) -> Result<Reply, Failure> {
    let engine = exchange.engine();
    let if_match = exchange.headers.if_match();
    let user = match *exchange.method {
        Method::GET => exchange.catalogue().user(address)?.1.user.clone(),
        Method::PUT => {
            let id = parse_id_body(&exchange.body)?;
            engine.replace_user(address, &id, if_match.as_ref()).await?
        }
        Method::DELETE => {
            engine.delete_user(address, if_match.as_ref()).await?;
            return Ok(Reply::new(204, ""));
        }
        _ => return Err(Failure::MethodNotAllowed),
    };
    Ok(Reply::new(200, user_body(&user)).with_etag(user.etag.as_str()))
}
