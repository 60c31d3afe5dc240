//! What a server says of its account.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) multi_write: bool,
    #[serde(default)]
    pub(super) per_partition_failover: bool,
    pub(super) epoch: String,
    pub(super) regions: Vec<Region>,
    pub(super) links: Vec<Link>,
    #[serde(default)]
    pub(super) partitions: Vec<Partition>,
}

/// One that the write region does not take the writes of, or that is down somewhere.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Partition {
    #[serde(rename = "partition")]
    pub(super) address: String,
    pub(super) owner: Option<String>,
    pub(super) automatic: bool,
    pub(super) down: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) endpoint: Option<String>,
    pub(super) state: String,
    pub(super) cause: Option<String>,
    pub(super) kept: Option<u64>,
    pub(super) applied: Option<u64>,
    pub(super) committed: Option<u64>,
    pub(super) lag: Option<Lag>,
    pub(super) false_progress: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) delay_millis: u64,
    pub(super) paused: bool,
    pub(super) cut: bool,
    pub(super) behind: Option<Lag>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Lag {
    pub(super) records: u64,
    pub(super) millis: u64,
}

/// The answer to an addition.
#[derive(Debug, Deserialize)]
pub(super) struct Added {
    pub(super) name: String,
    pub(super) endpoint: String,
}
