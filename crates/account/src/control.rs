//! What operators order and what they are told.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Something that an operator does to the account. Regions are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Another region becomes the write region (or the hub, where all write).
    Failover {
        to: String,
        /// Without the region that writes now, which may be lost.
        forced: bool,
        /// Even if writes that were acknowledged at strong or bounded may be missing.
        accepts_loss: bool,
        /// Regions that are down and leave the account with it.
        offline: Vec<String>,
    },
    /// A region leaves the account.
    Remove {
        region: String,
        /// Where every region writes: without asking it, because it is lost.
        forced: bool,
    },
    /// A region stops answering and hears of nothing, as if its data centre were gone.
    TakeDown { region: String },
    /// It comes back.
    BringUp { region: String },
    /// Another region takes the writes of one partition.
    MovePartition {
        to: String,
        partition: PartitionAddress,
        /// Although the region that takes them now may be lost.
        forced: bool,
    },
    /// Requests for one partition are not answered in one region.
    TakeDownPartition {
        region: String,
        partition: PartitionAddress,
    },
    BringUpPartition {
        region: String,
        partition: PartitionAddress,
    },
    /// In one direction.
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
    /// Holds records back; regions still hear of each other.
    Pause,
    /// Ends a pause or a cut.
    Resume,
    /// Loses everything.
    Cut,
    Delay(Duration),
    /// Lets so many records through a paused link.
    Step(u64),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub write_region: Option<String>,
    pub multi_write: bool,
    pub per_partition_failover: bool,
    pub epoch: String,
    pub regions: Vec<RegionReport>,
    pub links: Vec<LinkReport>,
    /// Those that the write region does not take the writes of, or that are down somewhere.
    pub partitions: Vec<PartitionReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionReport {
    pub address: PartitionAddress,
    /// None if it is the write region.
    pub owner: Option<String>,
    /// Whether it was moved because it was down, and comes back by itself.
    pub is_automatic: bool,
    /// Regions in which it is down.
    pub down: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionReport {
    pub name: String,
    pub endpoint: Option<String>,
    pub state: RegionState,
    /// Why it broke down, as it said last.
    pub cause: Option<String>,
    /// Records in its log, in its state, and committed, as it knows. Of a region of another process
    /// only what the write region has heard of it.
    pub kept: Option<u64>,
    pub applied: Option<u64>,
    pub committed: Option<u64>,
    /// Records and milliseconds behind the write region, as it knows itself.
    pub own_lag: Option<(u64, u64)>,
    /// Records that were acknowledged here and are not part of the history.
    pub false_progress: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionState {
    /// Takes the writes, or is the hub.
    Write,
    Read,
    /// Is being copied and not listed yet.
    Joining,
    /// Writes no more, and is removed when the others have agreed what it wrote.
    Leaving,
    /// Was taken down.
    Down,
    /// Takes no more records, because something failed.
    Broken,
    /// Is no member (any more).
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReport {
    pub from: String,
    pub to: String,
    pub delay: Duration,
    pub is_paused: bool,
    pub is_cut: bool,
    /// What `to` lacks of what `from` wrote, as `from` knows; none if it does not write.
    pub behind: Option<Behind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behind {
    pub records: u64,
    pub bytes: u64,
    pub millis: u64,
}

/// Why an order is not carried out.
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
