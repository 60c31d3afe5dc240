//! The key of an account. `Debug` never prints it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The well-known key of the emulator.
const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The bytes of a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    pub fn new(bytes: Vec<u8>) -> Key {
        Key(bytes)
    }

    /// The well-known key of the emulator.
    pub fn well_known() -> Key {
        Key(STANDARD.decode(EMULATOR_KEY).unwrap_or_default())
    }

    /// The bytes for a signature.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The key in base64, for another program.
    pub fn base64(&self) -> String {
        STANDARD.encode(&self.0)
    }

    /// Whether a text contains the key in base64.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.base64())
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
        // `Debug` output may end up in logs.
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
