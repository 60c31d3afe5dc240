//! The address that this server advertises to clients, where it differs from the listen address.

use std::net::SocketAddr;
use std::str::FromStr;

use crate::endpoint::{self, scheme};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advertise {
    /// `https://host:port/`, always with the slash.
    Url(String),
    /// As Microsoft's emulator does: `https://127.0.0.1:8081/`, whatever name a client came by.
    Emulator,
}

const EMULATOR: &str = "emulator";
const EMULATOR_HOST: &str = "127.0.0.1";

impl Advertise {
    /// The host alone, without port and brackets.
    pub(crate) fn host(&self) -> &str {
        let Advertise::Url(url) = self else {
            return EMULATOR_HOST;
        };
        let authority = url.split("://").nth(1).unwrap_or_default();
        let authority = authority.trim_end_matches('/');
        // The colons of an IPv6 host are inside its brackets and do not begin the port.
        match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        }
    }

    /// The URL that clients receive from a server that listens on `address`.
    pub(crate) fn of(&self, tls: bool, address: SocketAddr) -> String {
        match self {
            Advertise::Url(url) => url.clone(),
            // Clients reach a loopback address other than 127.0.0.1 only under that address.
            Advertise::Emulator if address.ip().is_loopback() => endpoint::of(tls, address),
            Advertise::Emulator => {
                format!("{}://{EMULATOR_HOST}:{}/", scheme(tls), address.port())
            }
        }
    }

    /// The same host, another port.
    pub(crate) fn with_port(&self, tls: bool, address: SocketAddr) -> String {
        let Advertise::Url(url) = self else {
            return self.of(tls, address);
        };
        let scheme = url.split("://").next().unwrap_or_default();
        let port = address.port();
        match self.host() {
            host if host.contains(':') => format!("{scheme}://[{host}]:{port}/"),
            host => format!("{scheme}://{host}:{port}/"),
        }
    }
}

impl FromStr for Advertise {
    type Err = String;

    fn from_str(text: &str) -> Result<Advertise, String> {
        if text == EMULATOR {
            return Ok(Advertise::Emulator);
        }
        let authority = ["https://", "http://"]
            .iter()
            .find_map(|scheme| text.strip_prefix(scheme));
        let authority = authority.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let valid = authority.is_some_and(|authority| {
            !authority.is_empty()
                && !authority.starts_with(':')
                && !authority.contains(|c: char| "/?#@".contains(c) || c.is_whitespace())
        });
        if !valid {
            return Err(format!(
                "'{text}' is not an address for clients; use http or https, a host and perhaps a port, such as \
                 https://db.example:8081/, or the word emulator"
            ));
        }
        Ok(Advertise::Url(format!(
            "{}/",
            text.strip_suffix('/').unwrap_or(text)
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emulator_is_on_the_loopback_address() {
        let advertise = "emulator".parse::<Advertise>().unwrap();
        assert_eq!(advertise.host(), "127.0.0.1");
        for (tls, address, expected) in [
            (true, "127.0.0.1:8081", "https://127.0.0.1:8081/"),
            (false, "0.0.0.0:9", "http://127.0.0.1:9/"),
            (true, "127.0.0.2:8081", "https://127.0.0.2:8081/"),
        ] {
            assert_eq!(advertise.of(tls, address.parse().unwrap()), expected);
        }
    }

    #[test]
    fn addresses_for_clients() {
        for (text, expected, host) in [
            ("https://db.example", "https://db.example/", "db.example"),
            ("http://db:8081/", "http://db:8081/", "db"),
            ("https://[::1]:8081", "https://[::1]:8081/", "::1"),
        ] {
            let advertise = text.parse::<Advertise>().unwrap();
            let address = "127.0.0.1:1".parse().unwrap();
            assert_eq!(advertise.of(true, address), expected);
            assert_eq!(advertise.host(), host);
        }
        for text in [
            "",
            "db:8081",
            "ftp://db",
            "https://",
            "https://:1",
            "https://db/path",
            "https://a b",
        ] {
            assert!(text.parse::<Advertise>().is_err(), "{text}");
        }
    }
}
