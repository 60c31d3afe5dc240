//! What regions of a multi-write account say to each other, and what a driver has to do for one.

use crate::{Millis, Progress, RegionId, Sequence, StreamId, StreamRecord};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshSettings {
    pub retry_ms: u64,
    /// How often a region says what it has although nobody asks.
    pub beat_ms: u64,
    /// After so long without the author of a stream, others are asked for it.
    pub unresponsive_ms: u64,
    pub page_bytes_max: u64,
    /// Bytes of one stream that may wait for what they depend on.
    pub waiting_bytes_max: u64,
}

impl Default for MeshSettings {
    fn default() -> MeshSettings {
        MeshSettings {
            retry_ms: 400,
            beat_ms: 100,
            unresponsive_ms: 2_000,
            page_bytes_max: 4 * 1024 * 1024,
            waiting_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// What regions say to each other; each carries what its sender has, durably.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshMessage {
    Have(Progress),
    Pull {
        have: Progress,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        bytes_max: u64,
    },
    Page {
        have: Progress,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        records: Vec<StreamRecord>,
    },
    /// The records asked for are not in the log any more.
    Trimmed {
        have: Progress,
        stream: StreamId,
        after: Sequence,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshEffect {
    Send {
        to: RegionId,
        message: MeshMessage,
    },
    /// Read records of the stream after `after` from the log, durable ones, and send them as a
    /// page; an empty one may be held back for a while.
    SendPage {
        to: RegionId,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        bytes_max: u64,
    },
    /// Fetch the state of this region with its progress; see [`Mesh::accepts`].
    FetchSnapshot {
        from: RegionId,
    },
}
