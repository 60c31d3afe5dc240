//! `GET /`: the account document.

use hyper::Method;
use orrery_account::{Location, Locations};
use orrery_model::Failure;
use orrery_wire::{AccountDescription, RegionLocation, Staleness, names};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// The id of the account. It is not `localhost`, for which one SDK would read this document before
/// every request.
pub(crate) const ACCOUNT_ID: &str = "orrery";

/// The figure for attachments that Cosmos DB states. Orrery has no attachments.
const MEDIA_STORAGE_MB: &str = "2048";

/// Answers with the regions and the consistency of the account.
pub(super) fn route(exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    if *exchange.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    let state = exchange.state;
    let locations = state.region.locations().unwrap_or_else(|| {
        let endpoint = state.advertise.clone();
        alone(
            state.region.name(),
            endpoint.unwrap_or_else(|| exchange.base_url()),
        )
    });
    if locations.readable.is_empty() {
        // A client that read a document without regions would look for none until its next refresh.
        return Err(Failure::Unavailable(format!(
            "Service is currently unavailable. Region '{}' has not received the regions of its account yet. Ask \
             again, or ask another region.",
            state.region.name()
        )));
    }
    let (writable, readable) = (regions(&locations.writable), regions(&locations.readable));
    let document = AccountDescription {
        id: ACCOUNT_ID,
        writable: &writable,
        readable: &readable,
        multi_write: locations.multi_write,
        per_partition_failover: locations.per_partition_failover,
        consistency: exchange.engine().consistency,
        staleness: Staleness {
            versions: state.bound.versions,
            seconds: state.bound.seconds,
        },
    };
    let report = |name: &'static str, value: &str| (name, value.to_owned());
    Ok(Reply {
        reports: vec![
            report(names::MAX_MEDIA_STORAGE_USAGE_MB, MEDIA_STORAGE_MB),
            report(names::MEDIA_STORAGE_USAGE_MB, "0"),
        ],
        ..Reply::new(200, document.to_body())
    })
}

/// The locations of an account of one region: the endpoint is the URL that the client used.
fn alone(name: &str, endpoint: String) -> Locations {
    let location = Location {
        name: name.to_owned(),
        endpoint,
    };
    Locations {
        writable: vec![location.clone()],
        readable: vec![location],
        multi_write: false,
        per_partition_failover: false,
    }
}

/// The locations in the form of the document.
fn regions(locations: &[Location]) -> Vec<RegionLocation<'_>> {
    let region = locations.iter().map(|location| RegionLocation {
        name: &location.name,
        endpoint: &location.endpoint,
    });
    region.collect()
}
