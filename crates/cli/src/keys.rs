//! The keys of the account.
//!
//! A key is read as text, checked once, and from then on only compared and handed to the server;
//! neither type prints what it holds.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orrery_model::{AccountKeyRole, AccountKeys, Secret};
use serde::Deserialize;

pub(crate) use orrery_model::WELL_KNOWN_KEY as EMULATOR_KEY;

/// The length of an HMAC-SHA256 signature: a shorter key is easier to guess than a signature.
const KEY_BYTES_MIN: usize = 32;
/// The length of the keys that [`fresh_key`] makes, which is that of the service's keys.
const KEY_BYTES: usize = 64;

/// A key as the user gave it, before any check. The parser of arguments repeats a wrong value in
/// its message, so it must not check keys.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct KeyText(String);

impl KeyText {
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl FromStr for KeyText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<KeyText, Infallible> {
        Ok(KeyText(text.to_owned()))
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText(..)")
    }
}

/// The four keys of an account, of which the primary key must exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeySet {
    primary: Secret,
    secondary: Option<Secret>,
    primary_read_only: Option<Secret>,
    secondary_read_only: Option<Secret>,
}

/// The four keys as text, before any check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyTexts {
    pub(crate) primary: Option<KeyText>,
    pub(crate) secondary: Option<KeyText>,
    pub(crate) primary_read_only: Option<KeyText>,
    pub(crate) secondary_read_only: Option<KeyText>,
}

impl KeySet {
    /// Decodes the keys. Without a primary key the primary key is the well-known one.
    pub(crate) fn parse(texts: &KeyTexts) -> Result<KeySet> {
        let optional = |name, text: &Option<KeyText>| {
            let decoded = text.as_ref().map(|text| decode_long(name, &text.0));
            decoded.transpose()
        };
        let primary = texts.primary.as_ref().map_or(EMULATOR_KEY, |text| &text.0);
        Ok(KeySet {
            primary: decode_long("primary key", primary)?,
            secondary: optional("secondary key", &texts.secondary)?,
            primary_read_only: optional("primary read-only key", &texts.primary_read_only)?,
            secondary_read_only: optional("secondary read-only key", &texts.secondary_read_only)?,
        })
    }

    pub(crate) fn account_keys(&self) -> AccountKeys {
        let given = [
            (Some(&self.primary), AccountKeyRole::ReadWrite),
            (self.secondary.as_ref(), AccountKeyRole::ReadWrite),
            (self.primary_read_only.as_ref(), AccountKeyRole::ReadOnly),
            (self.secondary_read_only.as_ref(), AccountKeyRole::ReadOnly),
        ];
        let keys = given
            .into_iter()
            .filter_map(|(key, role)| Some((key?.clone(), role)));
        AccountKeys {
            keys: keys.collect(),
        }
    }

    /// The primary key, if it is the well-known key of the emulator.
    pub(crate) fn public_primary(&self) -> Option<&'static str> {
        is_well_known(&self.primary).then_some(EMULATOR_KEY)
    }

    /// Whether one of the keys is the well-known key of the emulator.
    pub(crate) fn has_well_known(&self) -> bool {
        let keys = self.account_keys().keys;
        keys.iter().any(|(key, _)| is_well_known(key))
    }
}

fn is_well_known(key: &Secret) -> bool {
    STANDARD.encode(key.expose()) == EMULATOR_KEY
}

/// A new random key, in base64.
pub(crate) fn fresh_key() -> Result<String> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("no entropy: {error}"))?;
    Ok(STANDARD.encode(bytes))
}

/// The key that a client signs requests with: the given key, or the well-known key.
pub(crate) fn client_key(text: Option<&KeyText>) -> Result<Secret> {
    decode("key", text.map_or(EMULATOR_KEY, |text| &text.0))
}

/// Decodes a key of this server and refuses a short one. A client may sign with a short key,
/// because the server that the client talks to decides which keys it accepts.
fn decode_long(name: &str, text: &str) -> Result<Secret> {
    let key = decode(name, text)?;
    let length = key.expose().len();
    if length < KEY_BYTES_MIN {
        bail!(
            "the {name} has {length} bytes, and keys of less than {KEY_BYTES_MIN} can be guessed; make one with \
             `openssl rand -base64 64`"
        );
    }
    Ok(key)
}

fn decode(name: &str, text: &str) -> Result<Secret> {
    // Copied keys often end with a newline, so white space around a key is trimmed.
    match STANDARD.decode(text.trim()) {
        Ok(bytes) if !bytes.is_empty() => Ok(Secret::new(bytes)),
        Ok(_) => bail!("the {name} is empty"),
        Err(_) => bail!("the {name} is not base64; make one with `openssl rand -base64 64`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(key: &str) -> KeyText {
        KeyText(key.to_owned())
    }

    /// A key of [`KEY_BYTES_MIN`] bytes, each of which is `byte`.
    fn key_of(byte: u8) -> KeyText {
        KeyText(STANDARD.encode([byte; KEY_BYTES_MIN]))
    }

    #[test]
    fn the_well_known_key_is_the_default_and_public() {
        let default = KeySet::parse(&KeyTexts::default()).unwrap();
        assert_eq!(default.public_primary(), Some(EMULATOR_KEY));
        assert_eq!(default.account_keys().keys.len(), 1);
        let own = KeyTexts {
            primary: Some(key_of(b'a')),
            ..KeyTexts::default()
        };
        assert_eq!(KeySet::parse(&own).unwrap().public_primary(), None);
    }

    #[test]
    fn keys_have_roles_and_the_primary_is_first() {
        let texts = KeyTexts {
            primary: Some(key_of(b'a')),
            secondary: Some(key_of(b'b')),
            primary_read_only: None,
            secondary_read_only: Some(key_of(b'c')),
        };
        let keys = KeySet::parse(&texts).unwrap().account_keys().keys;
        let keys: Vec<_> = keys
            .iter()
            .map(|(key, role)| (key.expose()[0], *role))
            .collect();
        let expected = [
            (b'a', AccountKeyRole::ReadWrite),
            (b'b', AccountKeyRole::ReadWrite),
            (b'c', AccountKeyRole::ReadOnly),
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn short_keys_are_refused_with_a_way_to_make_one() {
        for length in [1, KEY_BYTES_MIN - 1, KEY_BYTES_MIN, KEY_BYTES] {
            let key = text(&STANDARD.encode(vec![7; length]));
            let texts = KeyTexts {
                secondary_read_only: Some(key.clone()),
                ..KeyTexts::default()
            };
            let parsed = KeySet::parse(&texts);
            assert_eq!(parsed.is_ok(), length >= KEY_BYTES_MIN, "{length}");
            if let Err(error) = parsed {
                let error = error.to_string();
                assert!(
                    error.contains("secondary read-only key") && error.contains("openssl rand"),
                    "{error}"
                );
            }
            // The key of another server is as long as that server likes.
            client_key(Some(&key)).unwrap();
        }
        assert_ne!(fresh_key().unwrap(), fresh_key().unwrap());
    }

    #[test]
    fn a_wrong_key_is_named_but_not_shown() {
        for wrong in ["", "  ", "se cret", "secret!"] {
            let texts = KeyTexts {
                secondary: Some(text(wrong)),
                ..KeyTexts::default()
            };
            let error = KeySet::parse(&texts).unwrap_err().to_string();
            assert!(
                error.contains("secondary key") && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
