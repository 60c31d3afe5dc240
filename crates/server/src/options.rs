//! What a server is told at its start.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Weak;

use orrery_account::{Account, Bound};
use orrery_model::AccountKeys;

use crate::{Governor, TlsIdentity};

pub struct ServerOptions {
    pub listen: SocketAddr,
    /// What the region is part of, if it is not alone.
    pub account: Weak<Account>,
    /// What the account document says of a region that is alone; by default whatever host the client
    /// used. Several regions know their endpoints.
    pub advertise: Option<String>,
    /// Of bounded staleness, for the account document.
    pub bound: Bound,
    /// None serves plain HTTP.
    pub tls: Option<TlsIdentity>,
    pub keys: AccountKeys,
    /// Signs resource tokens.
    pub token_secret: Vec<u8>,
    /// Whether answers have the `Strict-Transport-Security` header, which makes browsers use only
    /// TLS for a year.
    pub hsts: bool,
    /// The governor of the process, which all of its listeners share.
    pub governor: Governor,
}

/// A certificate chain and its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsMaterial {
    pub certificate_pem: String,
    pub key_pem: String,
}

impl fmt::Debug for TlsMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsMaterial").finish_non_exhaustive()
    }
}
