//! What a server is told at its start.

use std::fmt;
use std::net::SocketAddr;

use orrery_model::AccountKeys;

pub struct ServerOptions {
    pub listen: SocketAddr,
    /// What the account document says; by default whatever host the client used.
    pub advertise: Option<String>,
    /// None serves plain HTTP.
    pub tls: Option<TlsMaterial>,
    pub keys: AccountKeys,
    /// Signs resource tokens.
    pub token_secret: Vec<u8>,
}

/// A certificate chain and its private key.
#[derive(Clone)]
pub struct TlsMaterial {
    pub certificate_pem: String,
    pub key_pem: String,
}

impl fmt::Debug for TlsMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsMaterial").finish_non_exhaustive()
    }
}
