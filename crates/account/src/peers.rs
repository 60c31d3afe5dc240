//! The other processes of an account whose regions are each in one of their own.

use tokio::net::TcpListener;

use crate::PeerIdentity;

/// How a process with one region finds the others.
pub struct Peers {
    /// Connections of regions that say anything else are refused.
    pub account: String,
    /// Where the others connect to.
    pub listen: TcpListener,
    /// Of the region of this process.
    pub identity: PeerIdentity,
    /// Names and addresses (`host:port`) of the other regions. A new account has the region that
    /// founds it first and then these, in this order.
    pub regions: Vec<(String, String)>,
    /// Whether another process founds the account: this one waits to hear its number. It means
    /// nothing to a region that has been in the account before.
    pub joins: bool,
}
