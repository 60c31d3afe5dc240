//! The messages between regions of a multi-write account, and the effects for a driver.

use crate::{Millis, RegionId, Sequence, StreamId, StreamRecord, VersionVector};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiWriteSettings {
    pub retry_ms: u64,
    /// How often a region sends its progress without a pull.
    pub heartbeat_ms: u64,
    /// When the author of a stream is silent for this long, other members are asked for the stream.
    pub unresponsive_ms: u64,
    pub page_bytes_max: u64,
    /// Bytes of one stream that may wait for their dependencies.
    pub waiting_bytes_max: u64,
}

impl Default for MultiWriteSettings {
    fn default() -> MultiWriteSettings {
        MultiWriteSettings {
            retry_ms: 400,
            heartbeat_ms: 100,
            unresponsive_ms: 2_000,
            page_bytes_max: 4 * 1024 * 1024,
            waiting_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// Messages between regions; each carries the durable progress of its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiWriteMessage {
    Have(VersionVector),
    Pull {
        have: VersionVector,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        bytes_max: u64,
    },
    Page {
        have: VersionVector,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        records: Vec<StreamRecord>,
    },
    /// The log no longer has the requested records.
    Trimmed {
        have: VersionVector,
        stream: StreamId,
        after: Sequence,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultiWriteEffect {
    Send {
        to: RegionId,
        message: MultiWriteMessage,
    },
    /// Read durable records of the stream after `after` from the log and send them as a page; the
    /// driver may delay an empty page for a while.
    SendPage {
        to: RegionId,
        stream: StreamId,
        after: Sequence,
        asked: Millis,
        bytes_max: u64,
    },
    /// Fetch the state of this region with its progress; see
    /// [`MultiWriteReplica::accepts`](super::MultiWriteReplica::accepts).
    FetchSnapshot { from: RegionId },
}
