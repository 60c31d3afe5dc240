//! `GET /_orrery/requests?after=N`: reads the request log, which also keeps the log running.

use std::time::Instant;

use hyper::Method;
use orrery_model::Failure;
use orrery_wire::request_log_body;

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Answers with the logged requests after a number.
pub(super) fn route(exchange: &Exchange<'_>) -> Result<Reply, Failure> {
    if *exchange.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    let after = after(exchange.request.uri.query().unwrap_or_default())?;
    let (next, requests) = exchange.state.request_log.read(Instant::now(), after);
    Ok(Reply::new(200, request_log_body(next, &requests)))
}

/// The number of the first request to return. Without the parameter the answer has all logged
/// requests.
fn after(query: &str) -> Result<u64, Failure> {
    let given = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("after="))
        .unwrap_or("0");
    given
        .parse()
        .map_err(|_| Failure::BadRequest(format!("'{given}' is not a number of requests to skip")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_optional() {
        for (query, expected) in [("", 0), ("a=1", 0), ("after=7", 7), ("a=1&after=12", 12)] {
            assert_eq!(after(query), Ok(expected), "{query}");
        }
        assert!(after("after=x").is_err());
        assert!(after("after=-1").is_err());
    }
}
