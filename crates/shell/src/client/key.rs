//! The key of an account, which nothing prints.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The key that every client of the emulator knows.
const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    pub fn new(bytes: Vec<u8>) -> Key {
        Key(bytes)
    }

    pub(crate) fn well_known() -> Key {
        Key(STANDARD.decode(EMULATOR_KEY).unwrap_or_default())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether a text has the key in it, as base64.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.contains(&STANDARD.encode(&self.0))
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        match STANDARD.decode(text.trim()) {
            Ok(bytes) if !bytes.is_empty() => Ok(Key(bytes)),
            _ => Err("the key is not base64".to_owned()),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_base64_and_stays_hidden() {
        let key: Key = EMULATOR_KEY.parse().unwrap();
        assert_eq!(key, Key::well_known());
        assert_eq!(format!("{key:?}"), "Key(..)");
        assert!(key.is_in(&format!("a {EMULATOR_KEY} b")) && !key.is_in("a b"));
        for wrong in ["", "a b", "secret!"] {
            assert!(!wrong.parse::<Key>().unwrap_err().contains("secret"));
        }
    }
}
