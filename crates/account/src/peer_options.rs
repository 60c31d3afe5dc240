//! The peers of a process that serves one region of an account.

use tokio::net::TcpListener;

use crate::PeerIdentity;

/// The addresses and certificates with which a process with one region finds its peers.
pub struct PeerOptions {
    /// The account name; the region refuses connections that name another account.
    pub account: String,
    /// The listener for the other regions' connections.
    pub listen: TcpListener,
    /// The identity of this process's region.
    pub identity: PeerIdentity,
    /// Names and addresses (`host:port`) of the other regions. A new account has the region that
    /// founds it first and then these, in this order.
    pub regions: Vec<(String, String)>,
    /// Whether another process founds the account: this region then waits for its number. A region
    /// that has a number already ignores this flag.
    pub joins: bool,
}
