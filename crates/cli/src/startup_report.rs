//! The announcement of a running server on standard output, for a person or for a program.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::Serialize;

use crate::advertise::Advertise;
use crate::durability::DurabilitySetting;
use crate::endpoint::{host_of, reachable, scheme};
use crate::regions::KeyLocation;
use crate::settings::DataLocation;
use crate::size::Size;

pub(crate) struct StartupReport {
    pub(crate) address: SocketAddr,
    pub(crate) advertise: Option<Advertise>,
    /// The primary key, if it is the well-known key and therefore may be printed.
    pub(crate) public_key: Option<&'static str>,
    /// None without TLS.
    pub(crate) certificate: Option<PathBuf>,
    /// The server made the certificate itself, so users must add the certificate to their trusted
    /// certificates.
    pub(crate) has_own_certificate: bool,
    pub(crate) data_location: DataLocation,
    pub(crate) durability: DurabilitySetting,
    pub(crate) cache: Size,
    /// Where clients in direct mode connect. None when it is off.
    pub(crate) direct: Option<DirectEndpoint>,
    /// None for an account of one region.
    pub(crate) regions: Option<StartupRegions>,
}

/// The listener for clients in direct mode.
#[derive(Debug, Clone)]
pub(crate) struct DirectEndpoint {
    pub(crate) address: SocketAddr,
    /// The certificate, which differs from that of the endpoint if the endpoint has no TLS.
    pub(crate) certificate: PathBuf,
}

pub(crate) struct StartupRegions {
    pub(crate) account: Option<AccountEndpoint>,
    /// The regions in the order of the settings.
    pub(crate) regions: Vec<RegionEndpoint>,
    /// The URL of the operators' listener.
    pub(crate) management: String,
    pub(crate) key: KeyLocation,
}

/// The address of the account as a whole.
pub(crate) struct AccountEndpoint {
    pub(crate) endpoint: String,
    /// Whether a setting names the address, so that the next start has the same address.
    pub(crate) is_chosen: bool,
}

#[derive(Clone, Serialize)]
pub(crate) struct RegionEndpoint {
    pub(crate) name: String,
    pub(crate) endpoint: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Announcement<'a> {
    ready: bool,
    endpoint: &'a str,
    key: Option<&'static str>,
    certificate: Option<String>,
    pid: u32,
    version: &'static str,
    /// The settings that decide the speed and the size of the server, for programs that measure it.
    durability: String,
    cache_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    direct: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    regions: Option<&'a [RegionEndpoint]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    management: Option<ManagementAnnouncement<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ManagementAnnouncement<'a> {
    endpoint: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

impl StartupRegions {
    fn management(&self) -> ManagementAnnouncement<'_> {
        let (key_file, key) = match &self.key {
            KeyLocation::File(path) => (Some(absolute(path)), None),
            KeyLocation::Memory(key) => (None, Some(key.as_str())),
        };
        ManagementAnnouncement {
            endpoint: &self.management,
            key_file,
            key,
        }
    }

    fn lines(&self) -> Vec<String> {
        let width = self.regions.iter().map(|region| region.name.len());
        let width = width.max().unwrap_or_default();
        let mut label = "regions";
        let mut lines = Vec::new();
        let account = self.account.as_ref();
        lines.extend(account.map(|AccountEndpoint { endpoint, .. }| {
            format!("  account      {endpoint}, whichever region is there")
        }));
        for RegionEndpoint { name, endpoint } in &self.regions {
            lines.push(format!("  {label:<11}  {name:<width$}  {endpoint}"));
            label = "";
        }
        let key = match &self.key {
            KeyLocation::File(path) => format!("the key is in {}", path.display()),
            KeyLocation::Memory(key) => format!("with the key {key}"),
        };
        lines.push(format!(
            "  operators    {}, also for browsers, {key}",
            self.management
        ));
        lines
    }
}

impl StartupReport {
    /// One line, for `--ready-json`.
    pub(crate) fn json(&self) -> String {
        let regions = self.regions.as_ref();
        let account = regions.and_then(|regions| regions.account.as_ref());
        let announcement = Announcement {
            ready: true,
            endpoint: &self.endpoint(&host_of(reachable(self.address.ip()))),
            key: self.public_key,
            certificate: self.certificate.as_ref().map(|path| absolute(path)),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            durability: self.durability.to_string(),
            cache_bytes: self.cache.0,
            direct: self.direct.as_ref().map(|direct| {
                let host = host_of(reachable(direct.address.ip()));
                self.direct_endpoint(direct, &host)
            }),
            account: account.map(|account| &account.endpoint[..]),
            regions: regions.map(|started| started.regions.as_slice()),
            management: regions.map(StartupRegions::management),
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
        let (location, durability) = match &self.data_location {
            DataLocation::Memory => ("in memory, forgotten at the end".to_owned(), None),
            DataLocation::Directory(path) => {
                let promise = format!("{} ({})", self.durability, self.durability.promise());
                (path.display().to_string(), Some(promise))
            }
        };
        let key = self.public_key.unwrap_or("<your key>");
        let account = self
            .regions
            .as_ref()
            .and_then(|regions| regions.account.as_ref());
        // Only an address that is the same after a restart belongs in a connection string.
        let chosen = account.filter(|account| account.is_chosen);
        let chosen = chosen.map(|account| &account.endpoint);
        let mut lines = vec![
            format!("Orrery {}, a document database", env!("CARGO_PKG_VERSION")),
            String::new(),
            format!("  endpoint     {endpoint}"),
            format!("  explorer     {endpoint}_explorer/"),
        ];
        if let Some(direct) = &self.direct {
            let address = self.direct_endpoint(direct, &host);
            lines.push(format!(
                "  direct mode  {address}, where clients find it by themselves"
            ));
            if self.certificate.is_none() {
                let path = absolute(&direct.certificate);
                lines.push(format!(
                    "               always with TLS; the certificate is {path}"
                ));
            }
        }
        lines.extend(self.regions.iter().flat_map(StartupRegions::lines));
        lines.push(format!("  data         {location}"));
        lines.extend(durability.map(|durability| format!("  durability   {durability}")));
        if let Some(path) = &self.certificate {
            let path = absolute(path);
            lines.push(format!("  certificate  {path}"));
            if self.has_own_certificate {
                lines.push(format!(
                    "               orrery certificate trust --certificate \"{path}\" makes programs accept it"
                ));
            }
        }
        lines.extend([
            String::new(),
            format!(
                "  AccountEndpoint={};AccountKey={key};",
                chosen.unwrap_or(&endpoint)
            ),
            String::new(),
            "Press Ctrl-C to stop.".to_owned(),
        ]);
        lines.join("\n")
    }

    /// The address of direct mode, at the host that clients are told.
    fn direct_endpoint(&self, direct: &DirectEndpoint, host: &str) -> String {
        let advertised = self.advertise.as_ref().map(Advertise::host);
        let host = advertised.unwrap_or(host);
        format!("rntbd://{host}:{}/", direct.address.port())
    }

    fn endpoint(&self, host: &str) -> String {
        let tls = self.certificate.is_some();
        if let Some(advertise) = &self.advertise {
            return advertise.of(tls, self.address);
        }
        let scheme = scheme(tls);
        format!("{scheme}://{host}:{}/", self.address.port())
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

    fn started(address: &str) -> StartupReport {
        StartupReport {
            address: address.parse().unwrap(),
            advertise: None,
            public_key: Some(EMULATOR_KEY),
            certificate: None,
            has_own_certificate: false,
            data_location: DataLocation::Memory,
            durability: "sync".parse().unwrap(),
            cache: Size::mebibytes(128),
            direct: None,
            regions: None,
        }
    }

    fn regions(key: KeyLocation, is_chosen: bool) -> StartupRegions {
        let region = |name: &str, port| RegionEndpoint {
            name: name.to_owned(),
            endpoint: format!("http://127.0.0.1:{port}/"),
        };
        StartupRegions {
            account: Some(AccountEndpoint {
                endpoint: "http://127.0.0.1:4/".to_owned(),
                is_chosen,
            }),
            regions: vec![region("West US", 1), region("North Europe", 2)],
            management: "http://127.0.0.1:3/".to_owned(),
            key,
        }
    }

    #[test]
    fn the_report_lists_regions_and_management() {
        let with = |key, is_chosen| StartupReport {
            regions: Some(regions(key, is_chosen)),
            ..started("127.0.0.1:1")
        };
        let in_memory = with(KeyLocation::Memory("k".to_owned()), false);
        let json = in_memory.json();
        let end = r#","account":"http://127.0.0.1:4/","regions":[{"name":"West US","endpoint":"http://127.0.0.1:1/"},{"name":"North Europe","endpoint":"http://127.0.0.1:2/"}],"management":{"endpoint":"http://127.0.0.1:3/","key":"k"}}"#;
        assert!(json.ends_with(end), "{json}");
        let in_file = with(KeyLocation::File("/d/key".into()), true);
        assert!(in_file.json().contains(r#""keyFile":"/d/key""#));
        for phrase in [
            "  account      http://127.0.0.1:4/, whichever",
            "AccountEndpoint=http://127.0.0.1:4/;",
            "  regions      West US       http://127.0.0.1:1/",
            "               North Europe  http://127.0.0.1:2/",
            "  operators    http://127.0.0.1:3/, also for browsers, the key is in /d/key",
        ] {
            let message = in_file.message();
            assert!(message.contains(phrase), "{message}");
        }
        assert!(in_memory.message().contains("with the key k"));
        // A port that was free is another one next time.
        assert!(
            in_memory
                .message()
                .contains("AccountEndpoint=http://localhost:1/;")
        );
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
    fn direct_mode_is_at_the_host_of_the_endpoint() {
        let direct = |advertise: Option<&str>, address: &str| StartupReport {
            advertise: advertise.map(|advertise| advertise.parse().unwrap()),
            direct: Some(DirectEndpoint {
                address: address.parse().unwrap(),
                certificate: "c.pem".into(),
            }),
            ..started("127.0.0.1:1")
        };
        for (advertise, address, json, message) in [
            (None, "127.0.0.1:7", "127.0.0.1:7", "localhost:7"),
            (None, "0.0.0.0:7", "127.0.0.1:7", "localhost:7"),
            (Some("https://db:1"), "0.0.0.0:7", "db:7", "db:7"),
        ] {
            let report = direct(advertise, address);
            let json = format!("\"direct\":\"rntbd://{json}/\"");
            assert!(report.json().contains(&json), "{}", report.json());
            let message = format!("  direct mode  rntbd://{message}/");
            assert!(report.message().contains(&message), "{}", report.message());
            // The endpoint is plain HTTP here.
            assert!(
                report
                    .message()
                    .contains("always with TLS; the certificate is /")
            );
        }
        assert!(!started("127.0.0.1:1").json().contains("direct"));
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
        let advertised = StartupReport {
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
        let message = StartupReport {
            certificate: Some("d/certificate.pem".into()),
            has_own_certificate: true,
            data_location: DataLocation::Directory("d".into()),
            ..started("127.0.0.1:8081")
        }
        .message();
        for phrase in [
            "  endpoint     https://localhost:8081/",
            "  explorer     https://localhost:8081/_explorer/",
            "  data         d",
            "  durability   sync (every write",
            "/d/certificate.pem\n               orrery certificate trust --certificate \"/",
            &format!("AccountEndpoint=https://localhost:8081/;AccountKey={EMULATOR_KEY};"),
            "Ctrl-C",
        ] {
            assert!(message.contains(phrase), "{message}");
        }
        let secret = StartupReport {
            public_key: None,
            ..started("127.0.0.1:8081")
        };
        assert!(secret.message().contains("AccountKey=<your key>;"));
        assert!(secret.json().contains("\"key\":null"));
    }
}
