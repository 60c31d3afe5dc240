//! Barriers: a client in direct mode asks a replica for its position, without reading anything.

use orrery_model::Failure;
use orrery_wire::{ReplicaPath, Resource};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Answers with the position of the partition in the path of the replica.
pub(super) fn route(
    exchange: &Exchange<'_>,
    resource: Resource<'_>,
    replica: ReplicaPath,
) -> Result<Reply, Failure> {
    match (resource, replica) {
        (Resource::Databases, _) => Ok(Reply::new(200, "")),
        (Resource::Container(address), ReplicaPath::Range(_, range)) => {
            let found = exchange.container(address)?;
            let partition = found.entry.container.partition(range);
            let reply = Reply {
                partition_lsn: partition.map(|partition| partition.partition_lsn()),
                ..Reply::new(200, "")
            };
            Ok(found.complete(exchange, reply))
        }
        (Resource::Container(address), ReplicaPath::Master) => {
            let found = exchange.container(address)?;
            Ok(Reply::new(200, "").with_owner(found.database_owner()))
        }
        _ => Err(Failure::MethodNotAllowed),
    }
}
