//! Where to listen: `127.0.0.1:8081`, `localhost:8081`, `[::1]:8081`, an address, or just a port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// The port that clients of the emulator expect.
const PORT: u16 = 8081;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) SocketAddr);

impl Default for Listen {
    fn default() -> Listen {
        Listen(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)))
    }
}

impl Listen {
    /// A free port on loopback, reachable only from this machine.
    pub(crate) fn any_port() -> Listen {
        Listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        let loopback = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Listen(address));
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Listen(SocketAddr::from((address, PORT))));
        }
        if text.eq_ignore_ascii_case("localhost") {
            return Ok(Listen(loopback(PORT)));
        }
        let port = match text.rsplit_once(':') {
            Some((host, port)) if host.eq_ignore_ascii_case("localhost") => port,
            Some(_) => "",
            None => text,
        };
        port.parse().map(|port| Listen(loopback(port))).map_err(|_| {
            format!(
                "'{text}' is not an address to listen on; use ADDRESS:PORT, localhost:PORT or PORT, such as \
                 0.0.0.0:8081"
            )
        })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("127.0.0.1:8081", "127.0.0.1:8081"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:9000", "[::1]:9000"),
            ("::1", "[::1]:8081"),
            ("10.1.2.3", "10.1.2.3:8081"),
            ("localhost", "127.0.0.1:8081"),
            ("LOCALHOST:9000", "127.0.0.1:9000"),
            ("9000", "127.0.0.1:9000"),
            ("0", "127.0.0.1:0"),
        ] {
            assert_eq!(
                text.parse::<Listen>().unwrap().to_string(),
                expected,
                "{text}"
            );
        }
        for text in [
            "",
            "db.example:8081",
            "localhost:",
            "localhost:99999",
            ":80",
            "70000",
            "-1",
        ] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }
}
