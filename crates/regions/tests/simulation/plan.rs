//! What a run is like: chosen from its seed and from what is being tested.

use orrery_regions::{Bound, Level, Settings};

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
    /// What a region has too much when it rejoins is thrown away.
    DropFalseProgress,
    /// Records leave a region before they are durable.
    ShipUnsynced,
    /// After a restart the log is applied to the state once more.
    ApplyTwice,
    /// Now and then a record is left out.
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
    pub(crate) level: Level,
    pub(crate) bug: Option<Bug>,
    pub(crate) failovers: Failovers,
    pub(crate) membership: bool,
}

pub(crate) const BOUND: Bound = Bound {
    versions: 12,
    millis: 900,
};

impl Plan {
    pub(crate) fn new(seed: u64, level: Level) -> Plan {
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

    /// Whether records of other regions are seen before they are durable: what is lost with the power is
    /// asked for again.
    pub(crate) fn sees_written(&self) -> bool {
        self.level.strength() < Level::Bounded(BOUND).strength()
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            level: self.level,
            beat_ms: 60,
            retry_ms: 150,
            silence_ms: 500,
            rank_delay_ms: 120,
            unresponsive_ms: 300,
            page_bytes_max: 300,
            promotes: self.failovers == Failovers::All,
        }
    }
}
