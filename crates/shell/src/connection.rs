//! The account of a shell.

use std::fmt;
use std::str::FromStr;

use orrery_client::{Endpoint, Key};

use crate::error::Error;
use crate::paths::{self, Environment};

/// The address of `orrery serve` without settings.
const LOCAL: &str = "https://localhost:8081/";

/// The account, the key, and the trust that a connection string demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectionSettings {
    pub(crate) endpoint: Endpoint,
    pub(crate) key: Key,
    /// Whether to accept any certificate, as connection strings of emulators demand.
    pub(crate) insecure: bool,
}

/// A connection string from the user. It contains a key, so `Debug` does not print it.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct ConnectionString(String);

impl FromStr for ConnectionString {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<ConnectionString, Self::Err> {
        Ok(ConnectionString(text.to_owned()))
    }
}

impl fmt::Debug for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionString(..)")
    }
}

impl ConnectionSettings {
    /// The given connection string, or that of the environment, or the local server.
    pub(crate) fn choose(
        given: Option<&ConnectionString>,
        environment: Environment<'_>,
    ) -> Result<ConnectionSettings, Error> {
        let from_environment = environment(paths::CONNECTION);
        let (text, source) = match (given, &from_environment) {
            (Some(ConnectionString(text)), _) => (text.as_str(), "the connection string"),
            (None, Some(text)) => (text.as_str(), paths::CONNECTION),
            (None, None) => (LOCAL, ""),
        };
        ConnectionSettings::read(text, environment)
            .map_err(|reason| Error::Usage(format!("{source}: {reason}")))
    }

    /// Parses a connection string, or an address alone.
    fn read(text: &str, environment: Environment<'_>) -> Result<ConnectionSettings, String> {
        let mut endpoint = None;
        let mut key = None;
        let mut insecure = false;
        let text = text.trim();
        // An address alone begins with its scheme; a connection string begins with a name.
        if text.starts_with("http") {
            endpoint = Some(text);
        } else {
            for part in text.split(';').filter(|part| !part.trim().is_empty()) {
                // An unnamed part may belong to a key, so the message does not repeat the part.
                let (name, value) = part.split_once('=').ok_or(EXPECTED)?;
                match name.trim().to_ascii_lowercase().as_str() {
                    "accountendpoint" => endpoint = Some(value.trim()),
                    "accountkey" => key = Some(value.parse()?),
                    "disableservercertificatevalidation" => {
                        insecure = value.trim().eq_ignore_ascii_case("true");
                    }
                    // Connection strings have further parts that the shell does not need.
                    _ => {}
                }
            }
        }
        let endpoint = endpoint.ok_or(EXPECTED)?;
        let endpoint = endpoint
            .parse()
            .map_err(|reason| format!("the address {endpoint}: {reason}"))?;
        let key = match (key, environment(paths::KEY)) {
            (Some(key), _) => key,
            (None, Some(text)) => text
                .parse()
                .map_err(|reason| format!("{}: {reason}", paths::KEY))?,
            // The public key is right for a local server and harmless for others, which refuse it.
            (None, None) => Key::well_known(),
        };
        Ok(ConnectionSettings {
            endpoint,
            key,
            insecure,
        })
    }
}

/// The message for any other text. It never repeats the text, which may contain a key.
const EXPECTED: &str = "expected AccountEndpoint=https://host:port/;AccountKey=...; or an address that begins with https://";

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(
        given: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<ConnectionSettings, String> {
        let given = given.map(|text| ConnectionString(text.to_owned()));
        let environment = |name: &str| {
            let mut variables = variables.iter();
            let found = variables.find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ConnectionSettings::choose(given.as_ref(), &environment).map_err(|error| error.to_string())
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
        let text: ConnectionString = "secret".parse().unwrap();
        assert_eq!(format!("{text:?}"), "ConnectionString(..)");
    }
}
