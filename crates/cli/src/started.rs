//! What a running server says of itself on standard output, once: to a person or to a program.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use serde::Serialize;

use crate::advertise::Advertise;
use crate::durability::DurabilitySetting;
use crate::settings::Place;

pub(crate) struct Started {
    pub(crate) address: SocketAddr,
    pub(crate) advertise: Option<Advertise>,
    /// The key, if it may be shown.
    pub(crate) public_key: Option<&'static str>,
    /// None without TLS.
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) place: Place,
    pub(crate) durability: DurabilitySetting,
}

#[derive(Serialize)]
struct Announcement<'a> {
    ready: bool,
    endpoint: &'a str,
    key: Option<&'static str>,
    certificate: Option<String>,
    pid: u32,
    version: &'static str,
}

impl Started {
    /// One line, for `--ready-json`.
    pub(crate) fn json(&self) -> String {
        let announcement = Announcement {
            ready: true,
            endpoint: &self.endpoint(&host_of(reachable(self.address.ip()))),
            key: self.public_key,
            certificate: self.certificate.as_ref().map(|path| absolute(path)),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
        };
        serde_json::to_string(&announcement).expect("strings and numbers serialise")
    }

    pub(crate) fn message(&self) -> String {
        let host = match reachable(self.address.ip()) {
            // The name that documentation and the emulator's clients use.
            IpAddr::V4(Ipv4Addr::LOCALHOST) => "localhost".to_owned(),
            address => host_of(address),
        };
        let endpoint = self.endpoint(&host);
        let (place, durability) = match &self.place {
            Place::Memory => ("in memory, forgotten at the end".to_owned(), None),
            Place::Directory(path) => {
                let promise = format!("{} ({})", self.durability, self.durability.promise());
                (path.display().to_string(), Some(promise))
            }
        };
        let key = self.public_key.unwrap_or("<your key>");
        let mut lines = vec![
            format!("Orrery {}, a document database", env!("CARGO_PKG_VERSION")),
            String::new(),
            format!("  endpoint     {endpoint}"),
            format!("  explorer     {endpoint}_explorer/"),
            format!("  data         {place}"),
        ];
        lines.extend(durability.map(|durability| format!("  durability   {durability}")));
        lines.extend(
            self.certificate
                .as_ref()
                .map(|path| format!("  certificate  {}", path.display())),
        );
        lines.extend([
            String::new(),
            format!("  AccountEndpoint={endpoint};AccountKey={key};"),
            String::new(),
            "Press Ctrl-C to stop.".to_owned(),
        ]);
        lines.join("\n")
    }

    fn endpoint(&self, host: &str) -> String {
        if let Some(advertise) = &self.advertise {
            return advertise.to_string();
        }
        let scheme = if self.certificate.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{host}:{}/", self.address.port())
    }
}

/// Who listens on every address is reached on the loopback one.
fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    }
}

fn host_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn absolute(path: &std::path::Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::EMULATOR_KEY;

    fn started(address: &str) -> Started {
        Started {
            address: address.parse().unwrap(),
            advertise: None,
            public_key: Some(EMULATOR_KEY),
            certificate: None,
            place: Place::Memory,
            durability: "sync".parse().unwrap(),
        }
    }

    #[test]
    fn ready_is_one_line_of_json() {
        let json = started("127.0.0.1:9000").json();
        let start = format!(
            r#"{{"ready":true,"endpoint":"http://127.0.0.1:9000/","key":"{EMULATOR_KEY}","certificate":null,"pid":"#
        );
        assert!(json.starts_with(&start), "{json}");
        assert!(!json.contains('\n'));
    }

    #[test]
    fn endpoints_can_be_reached() {
        for (address, expected) in [
            ("127.0.0.1:1", "http://127.0.0.1:1/"),
            ("0.0.0.0:1", "http://127.0.0.1:1/"),
            ("[::]:1", "http://[::1]:1/"),
            ("10.0.0.1:1", "http://10.0.0.1:1/"),
        ] {
            assert!(started(address).json().contains(expected), "{address}");
        }
        let advertised = Started {
            advertise: Some("https://db".parse().unwrap()),
            ..started("0.0.0.0:1")
        };
        assert!(advertised.json().contains("\"https://db/\""));
        assert!(
            advertised
                .message()
                .contains("AccountEndpoint=https://db/;")
        );
    }

    #[test]
    fn a_person_reads_where_and_how() {
        let message = Started {
            certificate: Some("d/certificate.pem".into()),
            place: Place::Directory("d".into()),
            ..started("127.0.0.1:8081")
        }
        .message();
        for phrase in [
            "  endpoint     https://localhost:8081/",
            "  explorer     https://localhost:8081/_explorer/",
            "  data         d",
            "  durability   sync (every write",
            &format!("AccountEndpoint=https://localhost:8081/;AccountKey={EMULATOR_KEY};"),
            "Ctrl-C",
        ] {
            assert!(message.contains(phrase), "{message}");
        }
        let secret = Started {
            public_key: None,
            ..started("127.0.0.1:8081")
        };
        assert!(secret.message().contains("AccountKey=<your key>;"));
        assert!(secret.json().contains("\"key\":null"));
    }
}
