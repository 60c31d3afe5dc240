//! The plan of a run and its timing: the values of the product, except for fewer heartbeats and
//! ticks, so that a run is short.

use orrery_engine::KeyRange;
use orrery_regions::{Consistency, MultiWriteSettings, ReplicaSettings};

pub(super) const TICK_MS: u64 = 100;
/// A question for records that has no answer is answered after so long.
pub(super) const HELD_MS: u64 = 300;
/// How long trouble is made.
pub(super) const TROUBLE_MS: u64 = 12_000;
/// How long, in a rough world, everything then stays as it is, broken or not.
pub(super) const STEADY_MS: u64 = 14_000;
pub(super) const REST_MS_MAX: u64 = 60_000;

pub(super) const SETTINGS: ReplicaSettings = ReplicaSettings {
    level: Consistency::Strong,
    heartbeat_ms: 300,
    retry_ms: 800,
    silence_ms: 3_000,
    rank_delay_ms: 500,
    unresponsive_ms: 2_000,
    page_bytes_max: 300,
    promotes: true,
};

pub(super) const MULTI_WRITE_SETTINGS: MultiWriteSettings = MultiWriteSettings {
    retry_ms: 800,
    heartbeat_ms: 300,
    unresponsive_ms: 2_000,
    page_bytes_max: 3_000,
    waiting_bytes_max: 12_000,
};

/// A mistake built in, to see that a checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// A new owner does not wait for earlier owners.
    WaitForNobody,
    /// An old owner reports a record as applied before it has closed the keys that the record
    /// moves.
    SayBeforeClosing,
    /// A returned region takes writes at once.
    SureAtOnce,
    /// A new owner waits for the last one only.
    ForgetEarlierOwners,
    /// The write region never moves partitions back.
    KeepAway,
    /// Some records reach other regions without their payload.
    LoseRecords,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultPlan {
    /// Messages are lost, doubled, late and out of order; operators move and change the write region as planned;
    /// partitions go down and up; states are copied.
    Calm,
    /// Regions crash, stop and are taken down, links are cut, and operators use force as well.
    Rough,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) faults: FaultPlan,
    pub(super) bug: Option<Bug>,
}

impl Plan {
    pub(super) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    pub(super) fn healed_ms(&self) -> u64 {
        match self.faults {
            FaultPlan::Calm => TROUBLE_MS,
            FaultPlan::Rough => TROUBLE_MS + STEADY_MS,
        }
    }
}

/// The simulated keys; the last key is in no range that moves.
pub(super) const KEYS: usize = 5;
const CONTAINER: u32 = 7;

pub(super) type Key = usize;

/// Where a key stands in the container.
pub(super) fn place(key: Key) -> (u32, [u8; 1]) {
    let place = 0x10 * (key + 1) + 5;
    (CONTAINER, [u8::try_from(place).unwrap()])
}

/// Ranges that are moved and go down: of one key, of two, of four, as splits and merges leave them.
pub(super) fn ranges() -> Vec<KeyRange> {
    let bounds = [(1, 2), (2, 3), (3, 4), (4, 5), (1, 3), (3, 5), (1, 5)];
    let range = |(min, max): (u8, u8)| KeyRange {
        container: CONTAINER,
        min: vec![0x10 * min].into(),
        max: vec![0x10 * max].into(),
    };
    bounds.map(range).into()
}

pub(super) fn has(range: &KeyRange, key: Key) -> bool {
    let (container, place) = place(key);
    range.contains(container, &place)
}
