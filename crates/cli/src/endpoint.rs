//! The URL under which clients reach a listener of this process.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::advertise::Advertise;

/// The URL of one region. The first region has the advertised address itself; the other regions
/// have the advertised host with a port of their own.
pub(crate) fn of_region(
    is_first: bool,
    advertise: Option<&Advertise>,
    tls: bool,
    address: SocketAddr,
) -> String {
    match advertise {
        Some(advertise) if is_first => advertise.of(tls, address),
        Some(advertise) => advertise.with_port(tls, address),
        None => of(tls, address),
    }
}

/// On this machine.
pub(crate) fn of(tls: bool, address: SocketAddr) -> String {
    let host = host_of(reachable(address.ip()));
    format!("{}://{host}:{}/", scheme(tls), address.port())
}

pub(crate) fn scheme(tls: bool) -> &'static str {
    if tls { "https" } else { "http" }
}

/// An address that a client can connect to. A listener on every address is reachable on loopback.
pub(crate) fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    }
}

pub(crate) fn host_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_reached_where_they_listen_or_where_is_said() {
        for (is_first, advertise, tls, address, expected) in [
            (true, None, true, "127.0.0.1:1", "https://127.0.0.1:1/"),
            (
                false,
                Some("emulator"),
                true,
                "127.0.0.2:2",
                "https://127.0.0.2:2/",
            ),
            (
                false,
                Some("emulator"),
                true,
                "0.0.0.0:2",
                "https://127.0.0.1:2/",
            ),
            (false, None, false, "0.0.0.0:2", "http://127.0.0.1:2/"),
            (false, None, false, "[::]:2", "http://[::1]:2/"),
            (
                true,
                Some("https://db:9"),
                true,
                "0.0.0.0:1",
                "https://db:9/",
            ),
            (
                false,
                Some("https://db:9"),
                true,
                "0.0.0.0:2",
                "https://db:2/",
            ),
            (
                false,
                Some("http://[::2]"),
                true,
                "[::]:2",
                "http://[::2]:2/",
            ),
        ] {
            let advertise = advertise.map(|text| text.parse::<Advertise>().unwrap());
            let found = of_region(is_first, advertise.as_ref(), tls, address.parse().unwrap());
            assert_eq!(found, expected);
        }
    }
}
