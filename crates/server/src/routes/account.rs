//! `GET /`: the account document.

use hyper::Method;
use orrery_model::Failure;
use orrery_wire::{AccountDescription, Region};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Not `localhost`, for which one client would read this document before every request.
pub(crate) const ACCOUNT_ID: &str = "orrery";

pub(super) fn route(exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    if *exchange.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    let seen = exchange.base_url();
    let endpoint = exchange.state.advertise.as_deref().unwrap_or(&seen);
    let document = AccountDescription {
        id: ACCOUNT_ID,
        regions: &[Region {
            name: exchange.state.region.name(),
            endpoint,
        }],
        consistency: exchange.engine().consistency,
    };
    Ok(Reply::new(200, document.to_body()))
}
