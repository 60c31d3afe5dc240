//! The orders of operators and the reports for them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// An operator's order to the account. Orders name regions by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorOrder {
    /// Promotes another region to write region (or to hub in a multi-write account).
    Failover {
        to: String,
        /// Promotes without the current write region, which may be lost.
        forced: bool,
        /// Promotes even if the region may lack writes that were acknowledged at strong or bounded
        /// staleness.
        accepts_loss: bool,
        /// Regions that are down and leave the account with the promotion.
        offline: Vec<String>,
    },
    /// Removes a region from the account.
    Remove {
        region: String,
        /// Multi-write accounts: removes the region without its cooperation, because it is lost.
        forced: bool,
    },
    /// Makes a region stop answering and receiving, as if its data centre were gone.
    TakeDown { region: String },
    /// Ends [`OperatorOrder::TakeDown`].
    BringUp { region: String },
    /// Moves the writes of one partition to another region.
    MovePartition {
        to: String,
        partition: PartitionAddress,
        /// Moves the writes even if the current owner may be lost.
        forced: bool,
    },
    /// Makes one region refuse requests for one partition.
    TakeDownPartition {
        region: String,
        partition: PartitionAddress,
    },
    BringUpPartition {
        region: String,
        partition: PartitionAddress,
    },
    /// Shapes the link between two regions in one direction.
    Link {
        from: String,
        to: String,
        order: LinkOrder,
    },
}

/// A physical partition, written `dbs/{database}/colls/{container}/ranges/{id}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionAddress {
    pub database: String,
    pub container: String,
    pub range: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOrder {
    /// Delays records; heartbeats and other messages still pass.
    Pause,
    /// Ends a pause and a cut.
    Resume,
    /// Drops every frame.
    Cut,
    Delay(Duration),
    /// Lets a number of records pass a paused link.
    Step(u64),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountReport {
    pub write_region: Option<String>,
    pub multi_write: bool,
    pub per_partition_failover: bool,
    pub epoch: String,
    pub regions: Vec<RegionReport>,
    pub links: Vec<LinkReport>,
    /// Partitions with another owner than the write region, and partitions that are down in some
    /// region.
    pub partitions: Vec<PartitionReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionReport {
    pub address: PartitionAddress,
    /// The owner of the partition; none if the write region is the owner.
    pub owner: Option<String>,
    /// Whether the partition moved because its owner was down; it then moves back without an order.
    pub is_automatic: bool,
    /// Regions in which the partition is down.
    pub down: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionReport {
    pub name: String,
    pub endpoint: Option<String>,
    pub state: RegionState,
    /// The reason for a failure, as the region last reported it.
    pub cause: Option<String>,
    /// The region's last records in its log and in its state, and its commit index. Of a region in
    /// another process, the report has only the position that the write region has heard.
    pub appended: Option<u64>,
    pub applied: Option<u64>,
    pub committed: Option<u64>,
    /// Records and milliseconds behind the write region, by the region's own knowledge.
    pub own_lag: Option<(u64, u64)>,
    /// Records that this region acknowledged and that are not part of the history.
    pub diverged_records: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionState {
    /// The write region, or the hub.
    Write,
    Read,
    /// A new region that is still copying and not listed yet.
    Joining,
    /// Takes no more writes; the account removes it once the others agree on the end of its stream.
    Leaving,
    /// An operator took the region down.
    Down,
    /// Refuses records because of a failure.
    Broken,
    /// Is no member of the account.
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReport {
    pub from: String,
    pub to: String,
    pub delay: Duration,
    pub is_paused: bool,
    pub is_cut: bool,
    /// The records of `from` that `to` lacks, as far as `from` knows; none if `from` does not
    /// write.
    pub behind: Option<LinkLag>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkLag {
    pub records: u64,
    pub bytes: u64,
    pub millis: u64,
}

/// The reason why an order is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    #[error("there is no region '{0}'; the account has {1}")]
    UnknownRegion(String, String),
    #[error("region '{0}' is not in this process; ask the process that has it, {1}")]
    Elsewhere(String, String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}

impl FromStr for PartitionAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<PartitionAddress, String> {
        let parts: Vec<&str> = text.trim_matches('/').split('/').collect();
        if let ["dbs", database, "colls", container, "ranges", range] = parts[..]
            && let Ok(range) = range.parse()
            && !database.is_empty()
            && !container.is_empty()
        {
            return Ok(PartitionAddress {
                database: database.to_owned(),
                container: container.to_owned(),
                range,
            });
        }
        Err(format!(
            "'{text}' names no partition; write dbs/DATABASE/colls/CONTAINER/ranges/ID, as the pkranges of the container list them"
        ))
    }
}

impl fmt::Display for PartitionAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PartitionAddress {
            database,
            container,
            range,
        } = self;
        write!(f, "dbs/{database}/colls/{container}/ranges/{range}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_addressed_by_path() {
        let address: PartitionAddress = "/dbs/d/colls/c c/ranges/12".parse().unwrap();
        assert_eq!(address.to_string(), "dbs/d/colls/c c/ranges/12");
        for wrong in [
            "",
            "12",
            "dbs/d/colls/c",
            "dbs/d/colls/c/ranges/x",
            "dbs//colls/c/ranges/1",
        ] {
            assert!(wrong.parse::<PartitionAddress>().is_err(), "{wrong}");
        }
    }
}
