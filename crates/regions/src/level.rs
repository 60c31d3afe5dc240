//! The five consistency levels and the settings of a replica.

/// What a level promises to reads, strongest level first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Reads see the last acknowledged write of any region.
    Strong,
    /// Reads miss fewer than `versions` writes, and no write older than `millis`.
    Bounded(StalenessBound),
    /// Reads see every write that their session has read or made.
    Session,
    /// Reads see a prefix of the history.
    ConsistentPrefix,
    /// Reads see some write of the history.
    Eventual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StalenessBound {
    pub versions: u64,
    pub millis: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSettings {
    pub level: Consistency,
    /// How often the write region sends heartbeats.
    pub heartbeat_ms: u64,
    /// A request without an answer for this long is sent again.
    pub retry_ms: u64,
    /// After this long without a heartbeat, members may promote another write region by themselves.
    pub silence_ms: u64,
    /// How much longer each member of lower priority waits before it becomes a candidate.
    pub rank_delay_ms: u64,
    /// A region that is silent for this long leaves the read quorum if a majority remains, so that
    /// strong writes stop waiting for it.
    pub unresponsive_ms: u64,
    /// Bytes of records in one page. A follower has one pull in flight, so this is the window.
    pub page_bytes_max: u64,
    /// Whether members promote another region when the write region is silent.
    pub promotes: bool,
}

impl ReplicaSettings {
    pub fn new(level: Consistency) -> ReplicaSettings {
        ReplicaSettings {
            level,
            heartbeat_ms: 100,
            retry_ms: 400,
            silence_ms: 3_000,
            rank_delay_ms: 500,
            unresponsive_ms: 2_000,
            page_bytes_max: 4 * 1024 * 1024,
            promotes: true,
        }
    }
}

impl Consistency {
    /// Whether a promotion must preserve acknowledged writes, all of them or all but the bound:
    /// then it needs votes.
    pub(crate) fn needs_quorum(self) -> bool {
        matches!(self, Consistency::Strong | Consistency::Bounded(_))
    }

    /// Orders levels by strength; any two staleness bounds have the same strength.
    pub fn strength(self) -> u8 {
        match self {
            Consistency::Strong => 4,
            Consistency::Bounded(_) => 3,
            Consistency::Session => 2,
            Consistency::ConsistentPrefix => 1,
            Consistency::Eventual => 0,
        }
    }
}
