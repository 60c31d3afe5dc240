//! `GET /addresses/`: the replicas of the partitions of a container, and of the master partition.

use hyper::Method;
use orrery_model::Failure;
use orrery_wire::{AddressesQuery, ReplicaPath, Resource, addresses_body};

use crate::exchange::Exchange;
use crate::reply::Reply;

/// Answers with the addresses of the ranges that the query names. A range that does not exist has
/// no address, which makes the client read the list of ranges again.
pub(crate) fn addresses(
    exchange: &Exchange<'_>,
    resource: Resource<'_>,
    query: &AddressesQuery<'_>,
) -> Result<Reply, Failure> {
    if *exchange.method != Method::GET {
        return Err(Failure::MethodNotAllowed);
    }
    let listener = listener(exchange)?;
    let Resource::Container(address) = resource else {
        let body = addresses_body(None, &[ReplicaPath::Master], &listener);
        return Ok(Reply::new(200, body));
    };
    let found = exchange.container(address)?;
    let container = &found.entry.container;
    let ranges = container.partitions.iter().map(|partition| partition.id);
    let paths: Vec<_> = ranges
        .filter(|range| query.wants(*range))
        .map(|range| ReplicaPath::Range(container.rid, range))
        .collect();
    let body = addresses_body(Some(container.rid), &paths, &listener);
    Ok(Reply::new(200, body))
}

/// The host and port of the listener for direct mode: the host under which clients reach this
/// region.
fn listener(exchange: &Exchange<'_>) -> Result<String, Failure> {
    let state = exchange.state;
    let port = state.direct_port.get().ok_or(Failure::NOT_FOUND)?;
    let endpoint = state.region.locations().and_then(|locations| {
        let mut locations = locations.readable.into_iter().chain(locations.writable);
        let own = locations.find(|location| location.name == state.region.name());
        own.map(|location| location.endpoint)
    });
    let endpoint = endpoint.or_else(|| state.advertise.clone());
    let host = match &endpoint {
        Some(endpoint) => host_of(endpoint),
        None => without_port(exchange.host()),
    };
    // No SDK takes an address with brackets.
    match host {
        "[::1]" => Ok(format!("localhost:{port}")),
        host if host.starts_with('[') => Err(Failure::NotImplemented(format!(
            "Direct mode does not reach the address {host}, because the SDKs refuse IPv6 addresses there. Use a \
             host name, or gateway mode."
        ))),
        host => Ok(format!("{host}:{port}")),
    }
}

/// The host of a URL, without its port.
fn host_of(endpoint: &str) -> &str {
    let authority = endpoint.split("://").last().unwrap_or_default();
    without_port(authority.split('/').next().unwrap_or_default())
}

fn without_port(authority: &str) -> &str {
    match authority.find(']') {
        Some(end) => authority.get(..=end).unwrap_or(authority),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_endpoints() {
        for (endpoint, expected) in [
            ("https://localhost:8081/", "localhost"),
            ("http://10.0.0.1/", "10.0.0.1"),
            ("https://[::1]:8081/", "[::1]"),
            ("https://db.example", "db.example"),
        ] {
            assert_eq!(host_of(endpoint), expected);
        }
    }
}
