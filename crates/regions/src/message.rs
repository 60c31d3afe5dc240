//! The messages of regions about the account stream. The link may lose, duplicate, delay or reorder
//! any of them; the receiver judges each by the epochs in it.

use crate::{Epoch, Lineage, Millis, Sequence, StreamRecord};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaMessage {
    /// The write region is alive. Also the answer to a region that speaks for an older epoch.
    Heartbeat(Heartbeat),
    /// The answer to a heartbeat, with the position of the follower.
    AppendResponse {
        round: u64,
        position: ReplicaPosition,
    },
    /// Asks for the records after a sequence; the position in it tells the receiver which records
    /// the follower has made durable.
    Pull(Pull),
    /// Records in order, from the sequence that a pull named.
    Page(RecordPage),
    /// The log no longer has the requested records: the follower needs a snapshot.
    Trimmed(PullRefusal),
    /// The follower's history and the answering region's history diverge.
    Diverged(PullRefusal),
    /// Requests a vote for an epoch.
    RequestVote(RequestVote),
    Vote {
        epoch: Epoch,
        is_pre_vote: bool,
        outcome: VoteOutcome,
    },
    /// The write region has stopped at this position; the receiver writes in this epoch next.
    TakeOver {
        epoch: Epoch,
        position: (Epoch, Sequence),
    },
    /// Asks for the commit index, for a strong read. The position proves which epoch the follower
    /// has promised after the read began.
    ReadIndex {
        read: u64,
        position: ReplicaPosition,
    },
    /// The commit index, read after the question arrived.
    ReadIndexResponse {
        read: u64,
        epoch: Epoch,
        commit: Sequence,
    },
    /// The asking region is outside the read quorum, or the receiver is not the write region.
    ReadIndexRefused { read: u64, why: ReadIndexRefusal },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    pub epoch: Epoch,
    pub round: u64,
    pub commit: Sequence,
    /// Every member has made the records up to this sequence durable.
    pub stable_prefix: Sequence,
}

/// How far a region is with the account stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaPosition {
    /// The newest epoch that it has promised to follow.
    pub promised: Epoch,
    /// The last durable record of its log, and the epoch of that record.
    pub durable: Sequence,
    pub durable_epoch: Epoch,
    /// The last record that its state has applied, so that its readers see it.
    pub applied: Sequence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    pub position: ReplicaPosition,
    /// The last record of the follower's log, durable or not: the page begins after this record.
    pub after: Sequence,
    pub after_epoch: Epoch,
    /// When the follower asked, by its own clock; the answer carries this time back.
    pub asked: Millis,
    pub bytes_max: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPage {
    pub head: RecordPageHeader,
    pub records: Vec<StreamRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPageHeader {
    pub epoch: Epoch,
    pub after: Sequence,
    pub after_epoch: Epoch,
    pub commit: Sequence,
    pub stable_prefix: Sequence,
    /// The last record of the stream when this was answered, if the write region answered.
    pub last: Option<Sequence>,
    /// How long ago a majority confirmed that the answering region is the write region.
    pub confirmed_age_ms: Option<u64>,
    pub asked: Millis,
}

/// The refusal of a pull: the answering region sends its lineage in place of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRefusal {
    pub epoch: Epoch,
    pub lineage: Lineage,
    pub last: Sequence,
    pub asked: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestVote {
    pub epoch: Epoch,
    /// Epoch and sequence of the last record of the candidate.
    pub position: (Epoch, Sequence),
    pub cause: ElectionCause,
    /// A pre-vote: the voter answers how it would vote and promises nothing.
    pub is_pre_vote: bool,
}

/// Why a region wants to become the write region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionCause {
    /// The members have not heard the write region for the silence time.
    Silence,
    /// The write region hands over to the candidate.
    HandOver,
    /// An operator promotes the candidate.
    Forced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoteOutcome {
    Granted,
    /// The voter has promised another epoch.
    Promised(Epoch),
    /// The voter has records that the candidate lacks.
    Behind,
    /// The voter hears the write region's heartbeats.
    WriterAlive,
    /// The voter has no history, repairs its log or cannot write to its disk; or the candidate is
    /// no member as far as the voter knows.
    NotEntitled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadIndexRefusal {
    NotTheWriteRegion,
    /// Strong writes do not wait for the asking region until it has caught up.
    OutsideTheReadQuorum,
}
