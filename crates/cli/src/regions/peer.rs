//! Another region as a user names it, in a process of its own: `West US=west.example:8090`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::setting::{check_name, slug};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerSetting {
    pub(crate) name: String,
    /// The address on which this peer listens for other regions: `host:port`.
    pub(crate) address: String,
}

/// The peers in an environment variable, separated by semicolons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PeerList(pub(crate) Vec<PeerSetting>);

impl PeerSetting {
    pub(crate) fn slug(&self) -> String {
        slug(&self.name)
    }
}

impl FromStr for PeerSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<PeerSetting, String> {
        let parts = text.split_once('=').map(|(name, address)| {
            let (name, address) = (name.trim(), address.trim());
            (name, address, address.rsplit_once(':'))
        });
        match parts {
            Some((name, address, Some((host, port))))
                if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port != 0) =>
            {
                check_name(name)?;
                Ok(PeerSetting {
                    name: name.to_owned(),
                    address: address.to_owned(),
                })
            }
            _ => Err(format!(
                "'{text}' does not say which region is where; use NAME=HOST:PORT with what --peer-listen of the \
                 other process listens on, such as North Europe=10.0.0.2:8090"
            )),
        }
    }
}

impl FromStr for PeerList {
    type Err = String;

    fn from_str(text: &str) -> Result<PeerList, String> {
        let peers = text.split(';').map(str::trim);
        let peers = peers.filter(|peer| !peer.is_empty());
        peers
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map(PeerList)
    }
}

impl fmt::Display for PeerSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.address)
    }
}

/// A peer in the configuration file is the text of the flag.
impl<'de> Deserialize<'de> for PeerSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PeerSetting, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses() {
        for (text, name, address) in [
            ("West US=10.0.0.1:8090", "West US", "10.0.0.1:8090"),
            (" a = db.example:1 ", "a", "db.example:1"),
            ("a=[::1]:9", "a", "[::1]:9"),
        ] {
            let peer: PeerSetting = text.parse().unwrap();
            assert_eq!((&peer.name[..], &peer.address[..]), (name, address));
            assert_eq!(peer.to_string().parse(), Ok(peer));
        }
        for text in [
            "", "a", "a=", "a=h", "a=h:", "a=:1", "a=h:0", "*=h:1", "=h:1",
        ] {
            assert!(text.parse::<PeerSetting>().is_err(), "{text}");
        }
        let PeerList(peers) = "a=h:1; b=h:2;".parse().unwrap();
        assert_eq!(peers.len(), 2);
        assert!("a=h:1;b".parse::<PeerList>().is_err());
    }
}
