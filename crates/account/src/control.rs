//! What operators order and what they are told.

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
    Remove { region: String },
    /// A region stops answering and hears of nothing, as if its data centre were gone.
    TakeDown { region: String },
    /// It comes back.
    BringUp { region: String },
    /// In one direction.
    Link {
        from: String,
        to: String,
        order: LinkOrder,
    },
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
    pub epoch: String,
    pub regions: Vec<RegionReport>,
    pub links: Vec<LinkReport>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionReport {
    pub name: String,
    pub endpoint: Option<String>,
    pub state: RegionState,
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
    /// Was taken down.
    Down,
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
