//! What a run is like: chosen from its seed and from what is being tested.

use orrery_regions::{Consistency, ReplicaSettings, StalenessBound};

/// A mistake built into the driver, to see that a checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Writes are acknowledged when the write region has them, whatever the level.
    AcknowledgeAlone,
    /// The state follows the log instead of the commit index.
    ApplyUncommitted,
    /// Strong reads are answered without asking.
    ReadUnconfirmed,
    /// Session tokens are not looked at.
    IgnoreTokens,
    /// Writes begin although a region falls out of the bound.
    IgnoreWriteBound,
    /// Reads are answered although nothing was heard for longer than the bound.
    IgnoreReadBound,
    /// A region that rejoins throws its diverged suffix away instead of saving it.
    DropFalseProgress,
    /// Records leave a region before they are durable.
    ShipUnsynced,
    /// After a restart the log is applied to the state once more.
    ApplyTwice,
    /// The state skips a record now and then.
    SkipRecords,
    /// Of two records the second is applied first.
    ApplyOutOfOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failovers {
    Planned,
    All,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) level: Consistency,
    pub(crate) bug: Option<Bug>,
    pub(crate) failovers: Failovers,
    pub(crate) membership: bool,
}

pub(crate) const BOUND: StalenessBound = StalenessBound {
    versions: 12,
    millis: 900,
};

impl Plan {
    pub(crate) fn new(seed: u64, level: Consistency) -> Plan {
        Plan {
            seed,
            level,
            bug: None,
            failovers: Failovers::All,
            membership: true,
        }
    }

    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether readers see replicated records before those are durable: a region pulls again the
    /// records that a power failure took.
    pub(crate) fn sees_written(&self) -> bool {
        self.level.strength() < Consistency::Bounded(BOUND).strength()
    }

    pub(crate) fn settings(&self) -> ReplicaSettings {
        ReplicaSettings {
            level: self.level,
            heartbeat_ms: 60,
            retry_ms: 150,
            silence_ms: 500,
            rank_delay_ms: 120,
            unresponsive_ms: 300,
            page_bytes_max: 300,
            promotes: self.failovers == Failovers::All,
        }
    }
}
