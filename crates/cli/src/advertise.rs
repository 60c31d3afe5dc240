//! The address that clients are told to come to, when it is not the one listened on.

use std::fmt;
use std::str::FromStr;

/// `https://host:port/`, always with the slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advertise(String);

impl Advertise {
    /// The host alone, without port and brackets.
    pub(crate) fn host(&self) -> &str {
        let authority = self
            .0
            .split("://")
            .nth(1)
            .unwrap_or_default()
            .trim_end_matches('/');
        match authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        }
    }
}

impl Advertise {
    /// The same host, another port.
    pub(crate) fn with_port(&self, port: u16) -> String {
        let scheme = self.0.split("://").next().unwrap_or_default();
        match self.host() {
            host if host.contains(':') => format!("{scheme}://[{host}]:{port}/"),
            host => format!("{scheme}://{host}:{port}/"),
        }
    }
}

impl FromStr for Advertise {
    type Err = String;

    fn from_str(text: &str) -> Result<Advertise, String> {
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
                 https://db.example:8081/"
            ));
        }
        Ok(Advertise(format!(
            "{}/",
            text.strip_suffix('/').unwrap_or(text)
        )))
    }
}

impl fmt::Display for Advertise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_for_clients() {
        for (text, expected, host) in [
            ("https://db.example", "https://db.example/", "db.example"),
            ("http://db:8081/", "http://db:8081/", "db"),
            ("https://[::1]:8081", "https://[::1]:8081/", "::1"),
        ] {
            let advertise = text.parse::<Advertise>().unwrap();
            assert_eq!((advertise.0.as_str(), advertise.host()), (expected, host));
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
