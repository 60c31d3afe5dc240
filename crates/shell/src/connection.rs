//! Which account a shell talks to.

use std::fmt;
use std::str::FromStr;

use crate::client::{Endpoint, Key};
use crate::error::Error;
use crate::places::{self, Environment};

/// Where `orrery serve` listens without settings.
const LOCAL: &str = "https://localhost:8081/";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) endpoint: Endpoint,
    pub(crate) key: Key,
    /// The connection strings of emulators say so.
    pub(crate) insecure: bool,
}

/// A connection string as it was given: it has a key in it, so nothing prints it.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct ConnectionText(String);

impl FromStr for ConnectionText {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<ConnectionText, Self::Err> {
        Ok(ConnectionText(text.to_owned()))
    }
}

impl fmt::Debug for ConnectionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionText(..)")
    }
}

impl Connection {
    /// The given one, or that of the environment, or the local server.
    pub(crate) fn choose(
        given: Option<&ConnectionText>,
        environment: Environment<'_>,
    ) -> Result<Connection, Error> {
        let from_environment = environment(places::CONNECTION);
        let (text, place) = match (given, &from_environment) {
            (Some(ConnectionText(text)), _) => (text.as_str(), "the connection string"),
            (None, Some(text)) => (text.as_str(), places::CONNECTION),
            (None, None) => (LOCAL, ""),
        };
        Connection::read(text, environment)
            .map_err(|reason| Error::Usage(format!("{place}: {reason}")))
    }

    /// A connection string, or an address alone.
    fn read(text: &str, environment: Environment<'_>) -> Result<Connection, String> {
        let mut endpoint = None;
        let mut key = None;
        let mut insecure = false;
        let text = text.trim();
        if text.starts_with("http") {
            endpoint = Some(text);
        } else {
            for part in text.split(';').filter(|part| !part.trim().is_empty()) {
                // What has no name may be a part of a key and is not repeated.
                let (name, value) = part.split_once('=').ok_or(EXPECTED)?;
                match name.trim().to_ascii_lowercase().as_str() {
                    "accountendpoint" => endpoint = Some(value.trim()),
                    "accountkey" => key = Some(value.parse()?),
                    "disableservercertificatevalidation" => {
                        insecure = value.trim().eq_ignore_ascii_case("true");
                    }
                    _ => {}
                }
            }
        }
        let endpoint = endpoint.ok_or(EXPECTED)?;
        let endpoint = endpoint
            .parse()
            .map_err(|reason| format!("the address {endpoint}: {reason}"))?;
        let key = match (key, environment(places::KEY)) {
            (Some(key), _) => key,
            (None, Some(text)) => text
                .parse()
                .map_err(|reason| format!("{}: {reason}", places::KEY))?,
            (None, None) => Key::well_known(),
        };
        Ok(Connection {
            endpoint,
            key,
            insecure,
        })
    }
}

const EXPECTED: &str = "expected AccountEndpoint=https://host:port/;AccountKey=...; or an address that begins with https://";

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(given: Option<&str>, variables: &[(&str, &str)]) -> Result<Connection, String> {
        let given = given.map(|text| ConnectionText(text.to_owned()));
        let environment = |name: &str| {
            let mut variables = variables.iter();
            let found = variables.find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Connection::choose(given.as_ref(), &environment).map_err(|error| error.to_string())
    }

    #[test]
    fn the_flag_wins_then_the_environment_then_the_local_server() {
        let other = "AccountKey=YQ==;AccountEndpoint=http://b:1/";
        for (given, variables, authority, key) in [
            (None, &[][..], "localhost:8081", None),
            (
                None,
                &[("ORRERY_KEY", "Yg==")],
                "localhost:8081",
                Some("Yg=="),
            ),
            (None, &[("ORRERY_CONNECTION", other)], "b:1", Some("YQ==")),
            (
                Some("https://a"),
                &[("ORRERY_CONNECTION", other)],
                "a:443",
                None,
            ),
            (
                Some("AccountEndpoint=https://a:2/;AccountKey=YQ==;"),
                &[("ORRERY_KEY", "Yg==")],
                "a:2",
                Some("YQ=="),
            ),
        ] {
            let found = choose(given, variables).unwrap();
            let key = key.map_or_else(Key::well_known, |key| key.parse().unwrap());
            assert_eq!(
                (found.endpoint.authority(), found.key),
                (authority.to_owned(), key)
            );
        }
        let emulator = "AccountEndpoint=https://a/;DisableServerCertificateValidation=True;";
        assert!(choose(Some(emulator), &[]).unwrap().insecure);
    }

    #[test]
    fn a_wrong_one_is_explained_and_no_key_repeated() {
        for (given, phrase) in [
            ("secret", "AccountEndpoint="),
            ("AccountKey=secret!", "not base64"),
            ("AccountKey=c2VjcmV0", "AccountEndpoint="),
            ("AccountEndpoint=a", "https://"),
            ("https://a:b", "not a port"),
        ] {
            let error = choose(Some(given), &[]).unwrap_err();
            assert!(
                error.contains(phrase) && !error.contains("secret"),
                "{error}"
            );
        }
        let error = choose(None, &[("ORRERY_CONNECTION", "x")]).unwrap_err();
        assert!(error.contains("ORRERY_CONNECTION"));
        let text: ConnectionText = "secret".parse().unwrap();
        assert!(!format!("{text:?}").contains("secret"));
    }
}
