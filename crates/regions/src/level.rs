//! The five levels and the numbers that an account is run with.

/// What reads promise, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Reads see what was last acknowledged anywhere.
    Strong,
    /// Reads miss fewer than so many versions, and nothing older than so long.
    Bounded(Bound),
    /// Reads see what their session has seen and written.
    Session,
    /// Reads see some beginning of the history.
    ConsistentPrefix,
    /// Reads see something that was written.
    Eventual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub versions: u64,
    pub millis: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub level: Level,
    /// How often the write region says that it is there.
    pub beat_ms: u64,
    /// After so long without an answer a question is asked again.
    pub retry_ms: u64,
    /// After so long without the write region, regions may promote another by themselves.
    pub silence_ms: u64,
    /// How much longer each lower priority waits before it offers itself.
    pub rank_delay_ms: u64,
    /// After so long without a region, strong writes stop waiting for it if a majority is left.
    pub unresponsive_ms: u64,
    /// Bytes of records in one answer; with one question under way this is the window.
    pub page_bytes_max: u64,
    /// Whether regions promote another when the write region is silent.
    pub promotes: bool,
}

impl Settings {
    pub fn new(level: Level) -> Settings {
        Settings {
            level,
            beat_ms: 100,
            retry_ms: 400,
            silence_ms: 3_000,
            rank_delay_ms: 500,
            unresponsive_ms: 2_000,
            page_bytes_max: 4 * 1024 * 1024,
            promotes: true,
        }
    }
}

impl Level {
    /// Whether a promotion must keep what was acknowledged, or all but so much of it: it needs votes.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Level::Strong | Level::Bounded(_))
    }

    /// Orders levels by strength; two bounds are alike.
    pub fn strength(self) -> u8 {
        match self {
            Level::Strong => 4,
            Level::Bounded(_) => 3,
            Level::Session => 2,
            Level::ConsistentPrefix => 1,
            Level::Eventual => 0,
        }
    }
}
