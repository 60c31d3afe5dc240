//! The errors that stop a server from starting.

use std::net::SocketAddr;

/// An error at the start. Its text says which flag to change.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {address}; choose another address or port with --listen")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "cannot listen for operators on {address}; choose another address or port with --management"
    )]
    ListenForOperators {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "cannot listen on {address} for direct mode; choose another address or port with --direct-listen, or \
         switch it off with --direct off"
    )]
    ListenDirect {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("the TLS certificate or its key cannot be used: {0}")]
    Certificate(String),
}
