//! The address of an account.

use std::net::IpAddr;
use std::str::FromStr;

/// The scheme, host and port of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    pub(crate) tls: bool,
    /// The host without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    /// The value of the `host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns whether the server runs on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        self.host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(url: &str) -> Result<Endpoint, String> {
        let (tls, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err("does not begin with https:// or http://".to_owned()),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match authority.rsplit_once(':') {
            // A colon inside the brackets of an IPv6 address does not begin a port.
            Some((host, port)) if !port.ends_with(']') => {
                let port = port.parse().map_err(|_| format!("{port} is not a port"))?;
                (host, port)
            }
            _ => (authority, if tls { 443 } else { 80 }),
        };
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host);
        if host.is_empty() || host.contains(['/', '?', '@']) {
            return Err("not of the form https://host:port/".to_owned());
        }
        Ok(Endpoint {
            tls,
            host: host.to_owned(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for (url, expected) in [
            ("https://localhost:8081", true),
            ("https://127.0.0.2", true),
            ("https://[::1]:1", true),
            ("https://localhost.example", false),
            ("https://10.0.0.1", false),
        ] {
            assert_eq!(url.parse::<Endpoint>().unwrap().is_loopback(), expected);
        }
    }

    #[test]
    fn addresses() {
        for (url, expected) in [
            ("https://localhost:8081/", Some((true, "localhost:8081"))),
            ("http://127.0.0.1:1", Some((false, "127.0.0.1:1"))),
            ("https://a", Some((true, "a:443"))),
            ("http://[::1]:8081", Some((false, "[::1]:8081"))),
            ("http://[::1]/", Some((false, "[::1]:80"))),
            ("localhost:8081", None),
            ("http://", None),
            ("http://a:b", None),
            ("http://a/b", None),
        ] {
            let found = url.parse::<Endpoint>().ok();
            let found = found.map(|endpoint| (endpoint.tls, endpoint.authority()));
            let expected = expected.map(|(tls, authority)| (tls, authority.to_owned()));
            assert_eq!(found, expected, "{url}");
        }
    }
}
