//! The target of the attackers: the addresses of the server, and the credentials that the program
//! gives to attackers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The text that only items of other partition keys have. An attacker who receives this text under
/// a token for one partition key has read an item that the token does not cover.
pub(crate) const SECRET: &str = "this-item-belongs-to-somebody-else";
/// The partition key of the tokens.
pub(crate) const GRANTED_KEY: &str = "mine";
pub(crate) const DATABASE: &str = "d";
/// The container that the tokens of attackers cover in part.
pub(crate) const CONTAINER: &str = "attacked";
/// The container of attackers with scripts. Its separate throughput lets scripts run even if other
/// attacks have used up the throughput of the other container.
pub(crate) const SCRIPTS_CONTAINER: &str = "scripts";
/// The container of honest clients.
pub(crate) const HONEST_CONTAINER: &str = "honest";
/// The id of an item of 1.9 MB, which is near the limit of 2 MiB.
pub(crate) const LARGE_ITEM: &str = "large";

/// The server's addresses and the credentials which the attacking process receives.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    /// A region that serves TLS.
    pub(crate) tls_address: SocketAddr,
    /// The address on which the region accepts connections of the other region.
    pub(crate) peer_address: SocketAddr,
    /// A token for reading one partition key of the container.
    pub(crate) read_token: String,
    /// A token for all operations on one partition key of the container.
    pub(crate) write_token: String,
    /// A key of the account, whose owner may register scripts.
    pub(crate) key: String,
}

/// The orders of the program to its process of attackers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) target: Target,
    pub(crate) milliseconds: u64,
    /// Attacks by their names, each with its number of connections.
    pub(crate) attacks: Vec<(String, usize)>,
}

/// The end of an attack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(pub(crate) Instant);

impl Deadline {
    /// Returns whether the time of the attack is over.
    pub(crate) fn is_over(self) -> bool {
        Instant::now() >= self.0
    }

    /// Waits for this time, or until the attack ends.
    pub(crate) async fn pause(self, time: Duration) {
        let left = self.0.saturating_duration_since(Instant::now());
        tokio::time::sleep(time.min(left)).await;
    }
}
