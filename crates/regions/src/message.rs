//! What regions say to each other about the account stream. Any of it may be lost, doubled, late or
//! out of order; whoever receives it judges it by the epochs it carries.

use crate::{Epoch, Lineage, Millis, Sequence, StreamRecord};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The write region is there. Also the answer to a region that speaks for an older epoch.
    Beat(Beat),
    /// The answer to a beat, and how far the region is.
    Echo { round: u64, place: Place },
    /// Asks for the records after a place, and says with it that everything up to there is kept.
    Pull(Pull),
    /// Records, in order, following the place that was asked for.
    Page(Page),
    /// The records asked for are not in the log any more: a snapshot is needed.
    Trimmed(Refused),
    /// The history asked for is another one.
    Diverged(Refused),
    /// Asks for a vote for this epoch.
    Canvass(Canvass),
    Vote {
        epoch: Epoch,
        is_sounding: bool,
        verdict: Ballot,
    },
    /// The write region has stopped at this position; the receiver is to write in this epoch.
    TakeOver {
        epoch: Epoch,
        position: (Epoch, Sequence),
    },
    /// Asks what is committed, for a strong read. It says what the region has promised after the read began.
    Confirm { read: u64, place: Place },
    /// What was committed after the question came.
    Confirmed {
        read: u64,
        epoch: Epoch,
        commit: Sequence,
    },
    /// The region is not among those that writes wait for, or does not ask the write region.
    NotConfirmed { read: u64, why: Unconfirmed },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    pub epoch: Epoch,
    pub round: u64,
    pub commit: Sequence,
    /// Every member keeps the records up to here.
    pub held: Sequence,
}

/// How far a region is with the account stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The newest epoch that it has promised to follow.
    pub promised: Epoch,
    /// The last record that its log is sure to keep, and the epoch of that record.
    pub kept: Sequence,
    pub kept_epoch: Epoch,
    /// The last record that its readers see.
    pub applied: Sequence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    pub place: Place,
    /// The records wanted come after this one, which may not be kept yet.
    pub after: Sequence,
    pub after_epoch: Epoch,
    /// When it was asked, by the clock of whoever asks; comes back with the answer.
    pub asked: Millis,
    pub bytes_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub head: PageHead,
    pub records: Vec<StreamRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHead {
    pub epoch: Epoch,
    pub after: Sequence,
    pub after_epoch: Epoch,
    pub commit: Sequence,
    pub held: Sequence,
    /// The last record of the stream when this was answered, if the write region answered.
    pub last: Option<Sequence>,
    /// How long ago a majority agreed that it is the write region.
    pub confirmed_age_ms: Option<u64>,
    pub asked: Millis,
}

/// Why a pull is not answered with records: the history of whoever refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub epoch: Epoch,
    pub lineage: Lineage,
    pub last: Sequence,
    pub asked: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvass {
    pub epoch: Epoch,
    /// Epoch and sequence of the last record of whoever asks.
    pub position: (Epoch, Sequence),
    pub cause: Cause,
    /// Only asks how the vote would be; nothing is promised.
    pub is_sounding: bool,
}

/// Why a region wants to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nobody heard of the write region.
    Silence,
    /// The write region asked for it.
    HandOver,
    /// An operator asked for it.
    Forced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ballot {
    Granted,
    /// Another epoch has the promise.
    Promised(Epoch),
    /// The voter has records that the candidate lacks.
    Behind,
    /// The voter hears of the write region.
    WriterAlive,
    /// The voter has no history or is putting it in order, or the candidate is no member as far as it knows.
    NotEntitled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    NotTheWriteRegion,
    /// Writes do not wait for this region until it has caught up.
    OutsideTheReadQuorum,
}
