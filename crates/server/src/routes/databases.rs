//! `/dbs` and `/dbs/{db}`.

use hyper::Method;
use orrery_model::{DatabaseAddress, Failure};
use orrery_wire::{FeedKind, FeedPost, database_body, parse_id_body};

use super::{feed, not_built};
use crate::exchange::Exchange;
use crate::reply::Reply;

/// Lists, queries and creates databases.
pub(super) async fn feed(exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET => feed::read(exchange, "", FeedKind::Databases, databases(exchange)),
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => feed::query(exchange, "", FeedKind::Databases, &databases(exchange)),
            FeedPost::Create => create(exchange).await,
            FeedPost::Upsert | FeedPost::Batch | FeedPost::QueryPlan => {
                Err(Failure::MethodNotAllowed)
            }
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// The names and bodies of all databases, in the order of their names.
fn databases(exchange: &Exchange<'_>) -> Vec<(String, Vec<u8>)> {
    let catalogue = exchange.catalogue();
    let databases = catalogue.databases.iter();
    databases
        .map(|(id, entry)| (id.clone(), database_body(&entry.database)))
        .collect()
}

async fn create(exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    let id = parse_id_body(&exchange.body)?;
    let throughput = exchange.headers.offer.throughput;
    let database = exchange.engine().create_database(&id, throughput).await?;
    Ok(Reply::new(201, database_body(&database)).with_etag(database.etag.as_str()))
}

/// Reads or deletes one database.
pub(super) async fn one(
    exchange: &Exchange<'_>,
    address: DatabaseAddress<'_>,
) -> Result<Reply, Failure> {
    match *exchange.method {
        Method::GET => {
            let catalogue = exchange.catalogue();
            let database = &catalogue.database(address)?.database;
            let known = exchange.headers.if_none_match();
            if known.is_some_and(|known| known.matches(&database.etag)) {
                return Ok(Reply::not_modified(database.etag.as_str()));
            }
            Ok(Reply::new(200, database_body(database)).with_etag(database.etag.as_str()))
        }
        Method::DELETE => {
            let if_match = exchange.headers.if_match();
            exchange
                .engine()
                .delete_database(address, if_match.as_ref())
                .await?;
            Ok(Reply::new(204, ""))
        }
        Method::PUT => Err(not_built("Replacing a database is")),
        _ => Err(Failure::MethodNotAllowed),
    }
}
