//! The report of an account, as the operators' listener sends it.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccountReport {
    pub(super) multi_write: bool,
    #[serde(default)]
    pub(super) per_partition_failover: bool,
    pub(super) epoch: String,
    pub(super) regions: Vec<RegionStatus>,
    pub(super) links: Vec<Link>,
    #[serde(default)]
    pub(super) partitions: Vec<Partition>,
}

/// A partition whose writes another region than the write region takes, or that is down in a
/// region.
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
pub(super) struct RegionStatus {
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

/// The answer to an order that adds a region.
#[derive(Debug, Deserialize)]
pub(super) struct AddedRegion {
    pub(super) name: String,
    pub(super) endpoint: String,
}
