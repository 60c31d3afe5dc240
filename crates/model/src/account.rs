//! The account's keys.

use std::fmt;

/// The key that Microsoft publishes for its emulator. Every client of the emulator knows this
/// public key.
pub const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The requests that a key may sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKeyRole {
    ReadWrite,
    ReadOnly,
}

/// Bytes of a key or another secret. `Debug` never prints them.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    pub fn new(bytes: Vec<u8>) -> Secret {
        Secret(bytes)
    }

    /// The bytes. The name makes each use of a secret visible in a review.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` output may end up in logs and in error messages.
        f.write_str("Secret(..)")
    }
}

/// The keys that sign requests of an account, primary keys first.
#[derive(Debug, Clone)]
pub struct AccountKeys {
    pub keys: Vec<(Secret, AccountKeyRole)>,
}
