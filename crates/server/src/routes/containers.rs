//! `/dbs/{db}/colls` and `/dbs/{db}/colls/{coll}`.

use hyper::Method;
use orrery_engine::{ContainerEntry, NewContainer};
use orrery_model::{ContainerAddress, ContainerDefinition, DatabaseAddress, Failure};
use orrery_wire::{
    ContainerSystem, ContainerUsage, FeedKind, FeedPost, RangeStatistics, container_body, names,
    parse_body,
};

use super::feed;
use crate::exchange::{Exchange, database_owner};
use crate::reply::Reply;

/// Lists, queries and creates the containers of a database.
pub(super) async fn feed(
    exchange: &Exchange<'_>,
    database: DatabaseAddress<'_>,
) -> Result<Reply, Failure> {
    let list = || {
        let catalogue = exchange.catalogue();
        let entry = catalogue
            .database(database)
            .map_err(|_| Failure::OWNER_NOT_FOUND)?;
        let containers = entry.containers.iter();
        let bodies = containers
            .map(|(id, entry)| (id.clone(), body_of(exchange, entry, false)))
            .collect();
        Ok((entry.database.rid.to_string(), bodies))
    };
    match *exchange.method {
        Method::GET => {
            let (rid, containers) = list()?;
            feed::read(exchange, &rid, FeedKind::Containers, containers)
        }
        Method::POST => match exchange.headers.feed_post() {
            FeedPost::Query => {
                let (rid, containers) = list()?;
                feed::query(exchange, &rid, FeedKind::Containers, &containers)
            }
            FeedPost::Create => create(exchange, database).await,
            FeedPost::Upsert | FeedPost::Batch | FeedPost::QueryPlan => {
                Err(Failure::MethodNotAllowed)
            }
        },
        _ => Err(Failure::MethodNotAllowed),
    }
}

/// Creates a container with the throughput of the headers.
async fn create(exchange: &Exchange<'_>, address: DatabaseAddress<'_>) -> Result<Reply, Failure> {
    // A client of an old version of the protocol sends no partition key.
    let mut body = parse_body(&exchange.body)?;
    if exchange.headers.predates_partition_keys() {
        ContainerDefinition::add_system_key(&mut body);
    }
    let definition = ContainerDefinition::parse_new(&body)?;
    let throughput = exchange.headers.offer.throughput;
    let new = NewContainer {
        definition,
        throughput,
    };
    let entry = exchange.engine().create_container(address, new).await?;
    let catalogue = exchange.catalogue();
    let database = catalogue.database(address)?;
    let reply = Reply::new(201, body_of(exchange, &entry, false)).with_etag(entry.etag.as_str());
    // The header tells the client that the container shares the throughput of its database.
    let shares = database.database.offer.is_some() && entry.offer.is_none();
    Ok(Reply {
        reports: Vec::from_iter(shares.then(|| (names::SHARE_THROUGHPUT, "True".to_owned()))),
        ..reply.with_owner(database_owner(database))
    })
}

/// Reads, replaces or deletes one container.
pub(super) async fn one(
    exchange: &Exchange<'_>,
    address: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    let if_match = exchange.headers.if_match();
    match *exchange.method {
        Method::GET => read(exchange, address),
        Method::PUT => {
            let found = exchange.container(address)?;
            let body = parse_body(&exchange.body)?;
            let engine = exchange.engine();
            let entry = engine
                .replace_container(found.address(), &body, if_match.as_ref())
                .await?;
            let reply =
                Reply::new(200, body_of(exchange, &entry, false)).with_etag(entry.etag.as_str());
            Ok(reply.with_owner(found.database_owner()))
        }
        Method::DELETE => {
            let found = exchange.container(address)?;
            exchange
                .engine()
                .delete_container(found.address(), if_match.as_ref())
                .await?;
            Ok(Reply::new(204, "").with_owner(found.owner(exchange)))
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}

fn read(exchange: &Exchange<'_>, address: ContainerAddress<'_>) -> Result<Reply, Failure> {
    let found = exchange.container(address)?;
    let (entry, owner) = (&found.entry, found.database_owner());
    let known = exchange.headers.if_none_match();
    if known.is_some_and(|known| known.matches(&entry.etag)) {
        return Ok(Reply::not_modified(entry.etag.as_str()).with_owner(owner));
    }
    // A sender that may read only some of the items must not learn the counts and sizes of all
    // items.
    let sees_all = exchange.authority.covers_whole_containers();
    let with_statistics = exchange.headers.populate_statistics && sees_all;
    let body = body_of(exchange, entry, with_statistics);
    let wants_usage = exchange.headers.populate_quota && sees_all;
    let reply = Reply {
        usage: wants_usage.then(|| usage(exchange, entry)).transpose()?,
        ..Reply::new(200, body)
    };
    Ok(reply.with_etag(entry.etag.as_str()).with_owner(owner))
}

fn usage(exchange: &Exchange<'_>, entry: &ContainerEntry) -> Result<ContainerUsage, Failure> {
    let ranges = statistics(entry);
    Ok(ContainerUsage {
        documents: ranges.iter().map(|range| range.documents).sum(),
        kilobytes: ranges.iter().map(|range| range.kilobytes).sum(),
        indexed_percent: exchange.engine().index_progress(&entry.container)?,
    })
}

fn body_of(exchange: &Exchange<'_>, entry: &ContainerEntry, with_statistics: bool) -> Vec<u8> {
    let system = ContainerSystem {
        rid: entry.container.rid,
        etag: &entry.etag,
        modified_seconds: entry.modified_seconds,
    };
    let statistics = with_statistics.then(|| statistics(entry));
    let mut definition = entry.container.definition.to_value();
    if exchange.headers.predates_partition_keys() {
        entry.container.definition.hide_system_key(&mut definition);
    }
    container_body(&definition, system, statistics.as_deref())
}

fn statistics(entry: &ContainerEntry) -> Vec<RangeStatistics> {
    let partitions = entry.container.partitions.iter();
    let range = partitions.map(|partition| {
        let counters = partition.counters();
        RangeStatistics {
            range: partition.id,
            kilobytes: counters.bytes.div_ceil(1024),
            documents: counters.items,
        }
    });
    range.collect()
}
