//! What a state machine asks of its driver. The driver carries effects out in their order: it makes
//! every record and hard state durable before it sends a message that follows in the list.

use crate::{Epoch, RecordPageHeader, RegionId, ReplicaMessage, Sequence, StreamRecord};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaEffect {
    /// The driver makes this durable before it carries out the next effect.
    SaveHardState(HardState),
    /// Append these records to the log, in order. When they are durable, the driver calls
    /// [`crate::Replica::mark_durable`].
    Append(Vec<StreamRecord>),
    Send {
        to: RegionId,
        message: ReplicaMessage,
    },
    /// Read records after `head.after` from the log and send them as a page: only durable records,
    /// at least one, and otherwise at most `bytes_max` bytes. The driver may delay an empty page
    /// for a while to wait for records.
    SendPage {
        to: RegionId,
        head: RecordPageHeader,
        bytes_max: u64,
    },
    /// Fetch the state of this region together with its
    /// [`SnapshotMetadata`](crate::SnapshotMetadata), unless a fetch is in flight. If
    /// [`crate::Replica::accepts`] the metadata, make the state durable in place of the local one,
    /// and then call [`crate::Replica::installed`].
    FetchSnapshot {
        from: RegionId,
    },
    RepairLog(LogRepair),
    /// The driver may now answer a strong read from the state, or must refuse it.
    AnswerRead {
        read: u64,
        outcome: ReadOutcome,
    },
}

/// What a region saves across restarts besides its log and its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    /// The newest epoch that the region promised to follow.
    pub promised: Epoch,
    /// How many times the region was started.
    pub incarnation: u64,
}

/// The log has a diverged suffix: records of an old epoch that the write region's history lacks.
///
/// The driver repairs the log in this order. It makes the records after `diverged_from` durable as
/// false progress. Then it either installs the snapshot that it fetches next, or, if the repair
/// does not rewind, may cut the log and call [`crate::Replica::cut`] instead. After a crash between
/// two steps the replica finds the same divergence again. If the suffix is not complete, the log
/// was trimmed beyond the point where the histories diverge, and the whole state is to be saved as
/// false progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRepair {
    pub diverged_from: Sequence,
    pub last: Sequence,
    /// Whether the state has applied records of the diverged suffix, so that readers may have seen
    /// them.
    pub rewinds: bool,
    /// Whether the log has every record after `diverged_from`.
    pub is_complete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Answer the read from the current state.
    Ready,
    NotTheWriteRegion,
    OutsideTheReadQuorum,
}
