//! The account's keys.

use std::fmt;

/// The key that every client of the emulator knows, and so no secret.
pub const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// What a key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRole {
    ReadWrite,
    ReadOnly,
}

/// Bytes that are never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Secret {
        Secret(bytes)
    }

    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The keys that sign requests, primary first.
#[derive(Debug, Clone)]
pub struct AccountKeys {
    pub keys: Vec<(Secret, KeyRole)>,
}
