//! What attackers know of the server: its addresses, and the credentials that the program gave
//! them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The text that only items of other partition keys have. An attacker who receives this text under
/// a token for one partition key has read an item that the token does not cover.
pub(crate) const SECRET: &str = "this-item-belongs-to-somebody-else";
/// The partition key that tokens are for.
pub(crate) const GRANTED_KEY: &str = "mine";
pub(crate) const DATABASE: &str = "d";
/// The container that the tokens of attackers cover in part.
pub(crate) const CONTAINER: &str = "attacked";
/// What attackers with scripts reach. It has throughput of its own, so that its scripts run although
/// other attacks have used up the throughput of the other container.
pub(crate) const SCRIPTS_CONTAINER: &str = "scripts";
/// What honest clients use.
pub(crate) const HONEST_CONTAINER: &str = "honest";
pub(crate) const LARGE_ITEM: &str = "large";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// A region that serves TLS.
    pub(crate) tls_address: SocketAddr,
    /// The address on which the region accepts connections of the other region.
    pub(crate) peer_address: SocketAddr,
    /// For reading one partition key of the container.
    pub(crate) read_token: String,
    /// For all operations on one partition key of the container.
    pub(crate) write_token: String,
    /// A key of the account: who has it may register scripts.
    pub(crate) key: String,
}

/// What the program tells its process of attackers to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) target: Target,
    pub(crate) milliseconds: u64,
    /// Attacks by their names, each with its number of connections.
    pub(crate) attacks: Vec<(String, usize)>,
}

/// When an attack ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until(pub(crate) Instant);

impl Until {
    pub(crate) fn is_over(self) -> bool {
        Instant::now() >= self.0
    }

    /// Waits that long, or until the attack ends.
    pub(crate) async fn pause(self, time: Duration) {
        let left = self.0.saturating_duration_since(Instant::now());
        tokio::time::sleep(time.min(left)).await;
    }
}
