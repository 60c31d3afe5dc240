//! `GET /`: the account document.

use hyper::Method;
use orrery_account::{Location, Locations};
use orrery_model::Failure;
use orrery_wire::{AccountDescription, Region, Staleness};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Not `localhost`, for which one client would read this document before every request.
pub(crate) const ACCOUNT_ID: &str = "orrery";

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
    Ok(Reply::new(200, document.to_body()))
}

/// An account of one region is wherever the client found it.
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

fn regions(locations: &[Location]) -> Vec<Region<'_>> {
    let region = locations.iter().map(|location| Region {
        name: &location.name,
        endpoint: &location.endpoint,
    });
    region.collect()
}
