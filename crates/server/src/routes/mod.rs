//! The table of routes: one file for each kind of resource.

mod account;
mod addresses;
mod barrier;
mod batch;
mod changes;
mod conflicts;
mod containers;
mod databases;
mod feed;
mod item;
mod items;
mod offers;
mod operators;
mod partition_key_ranges;
mod permissions;
mod report;
mod requests;
mod script;
mod scripts;
mod users;

use hyper::Method;
use orrery_model::Failure;
use orrery_wire::{FeedPost, Resource};

use crate::exchange::Exchange;
use crate::reply::Reply;
pub(crate) use account::ACCOUNT_ID;
pub(crate) use addresses::addresses;

/// Answers a request whose credential was verified.
pub(crate) async fn dispatch(
    exchange: &Exchange<'_>,
    resource: Resource<'_>,
) -> Result<Reply, Failure> {
    if reads_catalogue(exchange, resource) {
        // One place for all resources: a new route cannot forget the budget of the catalogue.
        exchange.engine().admit_metadata()?;
    }
    if let Some(replica) = exchange.replica
        && *exchange.method == Method::HEAD
    {
        return barrier::route(exchange, resource, replica);
    }
    match resource {
        Resource::Account => account::route(exchange),
        Resource::Databases => databases::feed(exchange).await,
        Resource::Database(address) => databases::one(exchange, address).await,
        Resource::Containers(database) => containers::feed(exchange, database).await,
        Resource::Container(address) => containers::one(exchange, address).await,
        Resource::Items(container) => items::route(exchange, container).await,
        Resource::Item(address) => item::route(exchange, address).await,
        Resource::PartitionKeyDelete(container) => items::delete_by_key(exchange, container).await,
        Resource::PartitionKeyRanges(container) => partition_key_ranges::feed(exchange, container),
        Resource::PartitionKeyRange(container, id) => {
            partition_key_ranges::one(exchange, container, id)
        }
        Resource::Offers => offers::feed(exchange),
        Resource::Offer(rid) => offers::one(exchange, rid).await,
        Resource::Users(database) => users::feed(exchange, database).await,
        Resource::User(address) => users::one(exchange, address).await,
        Resource::Permissions(user) => permissions::feed(exchange, user).await,
        Resource::Permission(address) => permissions::one(exchange, address).await,
        Resource::Scripts(container, kind) => scripts::route(exchange, container, kind).await,
        Resource::Script(container, kind, segment) => {
            script::route(exchange, container, kind, segment).await
        }
        Resource::Partitions(container) => operators::partitions(exchange, container).await,
        Resource::Distribution(container) => operators::distribute(exchange, container).await,
        // `/metrics` is answered before this point, in the form of Prometheus.
        Resource::Metrics => Err(Failure::MethodNotAllowed),
        Resource::Conflicts(container) => conflicts::feed(exchange, container).await,
        Resource::Conflict(container, id) => conflicts::one(exchange, container, id).await,
        Resource::ClientEncryptionKeys(_) | Resource::ClientEncryptionKey(_, _) => {
            Err(not_built("Client encryption keys are"))
        }
        Resource::Addresses => Err(Failure::NotImplemented(
            "Direct mode is switched off on this server (--direct off). Use gateway mode: ConnectionMode.Gateway \
             in .NET, gatewayMode() in Java."
                .to_owned(),
        )),
        Resource::RequestLog => requests::route(exchange),
        Resource::DistributedTransaction => Err(not_built("Distributed transactions are")),
    }
}

/// Whether the request reads the catalogue, which has a request budget of its own.
fn reads_catalogue(exchange: &Exchange<'_>, resource: Resource<'_>) -> bool {
    let reads = match *exchange.method {
        Method::GET => true,
        Method::POST => exchange.headers.feed_post() == FeedPost::Query,
        _ => false,
    };
    reads && resource.is_master()
}

/// The failure for an unimplemented part of the protocol. `subject` ends in `is` or `are`.
pub(crate) fn not_built(subject: &str) -> Failure {
    Failure::NotImplemented(format!(
        "{subject} not built into this version of Orrery; see COMPAT.md."
    ))
}
