//! `/dbs/{db}/colls/{coll}/pkranges`: the physical partitions of a container.
//!
//! Clients read this feed until they receive 304. The etag is the number of ranges that the
//! container has had, so a client that sends it back receives the ranges created since then, with
//! all their ancestors.

use hyper::Method;
use orrery_engine::{ContainerEntry, Partition};
use orrery_keys::PartitionKeyRangeRid;
use orrery_model::{ContainerAddress, Failure, Precondition};
use orrery_wire::{FeedKind, PartitionKeyRangeDescription, feed_body, partition_key_range_body};

use crate::exchange::{Exchange, ResolvedContainer};
use crate::reply::Reply;

pub(super) fn feed(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<Reply, Failure> {
    if *exchange.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    let found = find(exchange, container)?;
    let partitions = &found.entry.container.partitions;
    let made = partitions.iter().map(|partition| partition.id.0 + 1);
    // Range ids are never reused, so the highest one counts all ranges ever made.
    let made = made.max().unwrap_or(0);
    let etag = format!("\"{made}\"");
    let not_modified = || Ok(Reply::not_modified(etag.as_str()).with_owner(found.owner(exchange)));
    let known = match exchange.headers.if_none_match() {
        Some(Precondition::Etag(known)) if known == etag => return not_modified(),
        Some(Precondition::Any) => return not_modified(),
        Some(Precondition::Etag(known)) if exchange.headers.change_feed.is_some() => {
            known.trim_matches('"').parse().unwrap_or(0)
        }
        _ => 0,
    };
    // A number larger than the present one is of a deleted container with the same name.
    let known = if known > made { 0 } else { known };
    let newer = partitions
        .iter()
        .filter(|partition| partition.id.0 >= known);
    let bodies: Vec<_> = newer
        .map(|partition| body_of(&found.entry, partition))
        .collect();
    let rid = found.entry.container.rid;
    let reply = Reply {
        item_count: Some(bodies.len()),
        ..Reply::new(200, feed_body(rid, FeedKind::PartitionKeyRanges, &bodies))
    };
    Ok(reply.with_etag(etag).with_owner(found.owner(exchange)))
}

pub(super) fn one(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
    id: &str,
) -> Result<Reply, Failure> {
    if *exchange.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    let found = find(exchange, container)?;
    let mut partitions = found.entry.container.partitions.iter();
    let partition = partitions.find(|partition| {
        id == partition.id.to_string() || id == rid_of(&found.entry, partition).to_string()
    });
    let body = body_of(&found.entry, partition.ok_or(Failure::NOT_FOUND)?);
    Ok(Reply::new(200, body).with_owner(found.owner(exchange)))
}

/// Finds the container. A missing container is reported as the missing owner of the ranges.
fn find(
    exchange: &Exchange<'_>,
    container: ContainerAddress<'_>,
) -> Result<ResolvedContainer, Failure> {
    exchange
        .container(container)
        .map_err(|failure| match failure {
            Failure::NotFound(_) => Failure::OWNER_NOT_FOUND,
            other => other,
        })
}

fn rid_of(entry: &ContainerEntry, partition: &Partition) -> PartitionKeyRangeRid {
    PartitionKeyRangeRid::new(entry.container.rid, u64::from(partition.id.0) + 1)
}

fn body_of(entry: &ContainerEntry, partition: &Partition) -> Vec<u8> {
    partition_key_range_body(&PartitionKeyRangeDescription {
        rid: rid_of(entry, partition),
        id: partition.id,
        range: &partition.range,
        ancestors: &partition.ancestors,
        throughput_fraction: 1.0 / entry.container.partitions.len() as f64,
        etag: &entry.etag,
        modified_seconds: entry.modified_seconds,
        lsn: partition.counters().lsn,
    })
}
