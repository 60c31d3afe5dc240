//! What a run is like, and the numbers that it is run with: those of the product, but for beats and ticks, which
//! are fewer, so that a run is short.

use orrery_engine::KeyRange;
use orrery_regions::{Level, MeshSettings, Settings};

pub(super) const TICK_MS: u64 = 100;
/// A question for records that has no answer is answered after so long.
pub(super) const HELD_MS: u64 = 300;
/// How long trouble is made.
pub(super) const TROUBLE_MS: u64 = 12_000;
/// How long, in a rough world, everything then stays as it is, broken or not.
pub(super) const STEADY_MS: u64 = 14_000;
pub(super) const REST_MS_MAX: u64 = 60_000;

pub(super) const SETTINGS: Settings = Settings {
    level: Level::Strong,
    beat_ms: 300,
    retry_ms: 800,
    silence_ms: 3_000,
    rank_delay_ms: 500,
    unresponsive_ms: 2_000,
    page_bytes_max: 300,
    promotes: true,
};

pub(super) const MESH: MeshSettings = MeshSettings {
    retry_ms: 800,
    beat_ms: 300,
    unresponsive_ms: 2_000,
    page_bytes_max: 3_000,
    waiting_bytes_max: 12_000,
};

/// A mistake built in, to see that a checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// A new owner does not wait for those before it.
    WaitForNobody,
    /// An old owner says that it has applied a record before it has closed what that takes from it.
    SayBeforeClosing,
    /// A region that comes back takes writes at once.
    SureAtOnce,
    /// A new owner waits for the last one only.
    ForgetEarlierOwners,
    /// The write region never takes back what it has moved.
    KeepAway,
    /// Some records come to others without what they are about.
    LoseRecords,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weather {
    /// Messages are lost, doubled, late and out of order; operators move and change the write region as planned;
    /// partitions go down and up; states are copied.
    Calm,
    /// Regions crash, stop and are taken down, links are cut, and operators use force as well.
    Rough,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) weather: Weather,
    pub(super) bug: Option<Bug>,
}

impl Plan {
    pub(super) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    pub(super) fn healed_ms(&self) -> u64 {
        match self.weather {
            Weather::Calm => TROUBLE_MS,
            Weather::Rough => TROUBLE_MS + STEADY_MS,
        }
    }
}

/// Keys are a few; the last is in no range that is ever moved.
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
