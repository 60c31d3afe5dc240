//! What a state machine asks of its driver. Effects are carried out in their order: whatever is to
//! be kept is kept before anything after it leaves the region.

use crate::{Epoch, Message, PageHead, RegionId, Sequence, StreamRecord};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Make durable before the next effect.
    Save(Saved),
    /// Append to the log, in order. When it is durable, say so with [`crate::Replica::kept`].
    Append(Vec<StreamRecord>),
    Send {
        to: RegionId,
        message: Message,
    },
    /// Read records after `head.after` from the log, no further than what is durable, at least one
    /// and otherwise at most so many bytes, and send them. An empty page may be held back for a
    /// while in the hope of records.
    SendPage {
        to: RegionId,
        head: PageHead,
        bytes_max: u64,
    },
    /// Unless one is on its way already: fetch the state of this region with its [`crate::Head`],
    /// make it durable in place of the own one if [`crate::Replica::accepts`] it, and then call
    /// [`crate::Replica::installed`].
    FetchSnapshot {
        from: RegionId,
    },
    Rejoin(Rejoin),
    /// A strong read may be answered now, or not at all.
    Read {
        read: u64,
        outcome: ReadOutcome,
    },
}

/// What a region must remember across restarts besides its log and its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The newest epoch that it promised to follow.
    pub promised: Epoch,
    /// How many times it was started.
    pub incarnation: u64,
}

/// The log has records of an old epoch that the history does not have.
///
/// In this order: records after `diverged_from` are kept as false progress, durably; then, if
/// `rewinds`, the state goes back by installing the snapshot that is fetched next; otherwise the
/// log is cut and [`crate::Replica::cut`] called. After a crash in between the same is found again.
/// If it is not complete, the log was trimmed beyond where the histories part, and the state as a
/// whole is what is kept as false progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejoin {
    pub diverged_from: Sequence,
    pub last: Sequence,
    /// Whether readers have seen some of it.
    pub rewinds: bool,
    /// Whether the log has every record after `diverged_from`.
    pub is_complete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Answer from the state as it is now.
    Ready,
    NotTheWriteRegion,
    OutsideTheReadQuorum,
}
