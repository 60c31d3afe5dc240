//! Messages of the account stream.

use bytes::Bytes;
use orrery_regions::{
    ElectionCause, Epoch, Heartbeat, Lineage, Millis, Pull, PullRefusal, ReadIndexRefusal,
    RecordPage, RecordPageHeader, ReplicaMessage, ReplicaPosition, RequestVote, Sequence, StreamId,
    VoteOutcome,
};

use super::parts::read_records;
use super::reader::Decode;
use super::writer::Encode;

const HEARTBEAT: u8 = 1;
const APPEND_RESPONSE: u8 = 2;
const PULL: u8 = 3;
const PAGE: u8 = 4;
const TRIMMED: u8 = 5;
const DIVERGED: u8 = 6;
const REQUEST_VOTE: u8 = 7;
const VOTE: u8 = 8;
const TAKE_OVER: u8 = 9;
const READ_INDEX: u8 = 10;
const READ_INDEX_RESPONSE: u8 = 11;
const READ_INDEX_REFUSED: u8 = 12;

impl Encode for ReplicaMessage {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            ReplicaMessage::Heartbeat(beat) => {
                HEARTBEAT.write(out);
                beat.write(out);
            }
            ReplicaMessage::AppendResponse { round, position } => {
                (APPEND_RESPONSE, *round).write(out);
                position.write(out);
            }
            ReplicaMessage::Pull(pull) => {
                PULL.write(out);
                pull.write(out);
            }
            ReplicaMessage::Page(page) => {
                PAGE.write(out);
                page.head.write(out);
                page.records.write(out);
            }
            ReplicaMessage::Trimmed(refused) => {
                TRIMMED.write(out);
                refused.write(out);
            }
            ReplicaMessage::Diverged(refused) => {
                DIVERGED.write(out);
                refused.write(out);
            }
            ReplicaMessage::RequestVote(request) => {
                REQUEST_VOTE.write(out);
                request.write(out);
            }
            ReplicaMessage::Vote {
                epoch,
                is_pre_vote,
                outcome,
            } => {
                (VOTE, *epoch).write(out);
                is_pre_vote.write(out);
                outcome.write(out);
            }
            ReplicaMessage::TakeOver { epoch, position } => {
                (TAKE_OVER, *epoch).write(out);
                position.write(out);
            }
            ReplicaMessage::ReadIndex { read, position } => {
                (READ_INDEX, *read).write(out);
                position.write(out);
            }
            ReplicaMessage::ReadIndexResponse {
                read,
                epoch,
                commit,
            } => {
                (READ_INDEX_RESPONSE, *read).write(out);
                (*epoch, *commit).write(out);
            }
            ReplicaMessage::ReadIndexRefused { read, why } => {
                (READ_INDEX_REFUSED, *read).write(out);
                why.write(out);
            }
        }
    }
}

impl Decode for ReplicaMessage {
    const BYTES_MIN: usize = 9;

    fn read(input: &mut Bytes) -> Option<ReplicaMessage> {
        Some(match u8::read(input)? {
            HEARTBEAT => ReplicaMessage::Heartbeat(Heartbeat::read(input)?),
            APPEND_RESPONSE => ReplicaMessage::AppendResponse {
                round: u64::read(input)?,
                position: ReplicaPosition::read(input)?,
            },
            PULL => ReplicaMessage::Pull(Pull::read(input)?),
            PAGE => {
                let head = RecordPageHeader::read(input)?;
                let records = read_records(input, StreamId::Account, head.after)?;
                ReplicaMessage::Page(RecordPage { head, records })
            }
            TRIMMED => ReplicaMessage::Trimmed(PullRefusal::read(input)?),
            DIVERGED => ReplicaMessage::Diverged(PullRefusal::read(input)?),
            REQUEST_VOTE => ReplicaMessage::RequestVote(RequestVote::read(input)?),
            VOTE => ReplicaMessage::Vote {
                epoch: Epoch::read(input)?,
                is_pre_vote: bool::read(input)?,
                outcome: VoteOutcome::read(input)?,
            },
            TAKE_OVER => ReplicaMessage::TakeOver {
                epoch: Epoch::read(input)?,
                position: <(Epoch, Sequence)>::read(input)?,
            },
            READ_INDEX => ReplicaMessage::ReadIndex {
                read: u64::read(input)?,
                position: ReplicaPosition::read(input)?,
            },
            READ_INDEX_RESPONSE => ReplicaMessage::ReadIndexResponse {
                read: u64::read(input)?,
                epoch: Epoch::read(input)?,
                commit: Sequence::read(input)?,
            },
            READ_INDEX_REFUSED => ReplicaMessage::ReadIndexRefused {
                read: u64::read(input)?,
                why: ReadIndexRefusal::read(input)?,
            },
            _ => return None,
        })
    }
}

/// Structs whose fields are written one after the other.
macro_rules! fields {
    ($type:ident { $($field:ident: $kind:ty),* $(,)? }) => {
        impl Encode for $type {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }
        }

        impl Decode for $type {
            const BYTES_MIN: usize = 0 $(+ <$kind as Decode>::BYTES_MIN)*;

            fn read(input: &mut Bytes) -> Option<$type> {
                Some($type { $($field: <$kind>::read(input)?,)* })
            }
        }
    };
}

fields!(Heartbeat {
    epoch: Epoch,
    round: u64,
    commit: Sequence,
    stable_prefix: Sequence,
});

fields!(ReplicaPosition {
    promised: Epoch,
    durable: Sequence,
    durable_epoch: Epoch,
    applied: Sequence,
});

fields!(Pull {
    position: ReplicaPosition,
    after: Sequence,
    after_epoch: Epoch,
    asked: Millis,
    bytes_max: u64,
});

fields!(RecordPageHeader {
    epoch: Epoch,
    after: Sequence,
    after_epoch: Epoch,
    commit: Sequence,
    stable_prefix: Sequence,
    last: Option<Sequence>,
    confirmed_age_ms: Option<u64>,
    asked: Millis,
});

fields!(PullRefusal {
    epoch: Epoch,
    lineage: Lineage,
    last: Sequence,
    asked: Millis,
});

fields!(RequestVote {
    epoch: Epoch,
    position: (Epoch, Sequence),
    cause: ElectionCause,
    is_pre_vote: bool,
});

/// Enumerations without payload, each variant as one byte.
macro_rules! choice {
    ($type:ident { $($variant:ident = $byte:literal),* $(,)? }) => {
        impl Encode for $type {
            fn write(&self, out: &mut Vec<u8>) {
                let byte: u8 = match self { $($type::$variant => $byte,)* };
                byte.write(out);
            }
        }

        impl Decode for $type {
            const BYTES_MIN: usize = 1;

            fn read(input: &mut Bytes) -> Option<$type> {
                match u8::read(input)? {
                    $($byte => Some($type::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

choice!(ElectionCause {
    Silence = 0,
    HandOver = 1,
    Forced = 2,
});

choice!(ReadIndexRefusal {
    NotTheWriteRegion = 0,
    OutsideTheReadQuorum = 1,
});

const GRANTED: u8 = 0;
const PROMISED: u8 = 1;
const BEHIND: u8 = 2;
const WRITER_ALIVE: u8 = 3;
const NOT_ENTITLED: u8 = 4;

impl Encode for VoteOutcome {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            VoteOutcome::Granted => GRANTED.write(out),
            VoteOutcome::Promised(epoch) => (PROMISED, *epoch).write(out),
            VoteOutcome::Behind => BEHIND.write(out),
            VoteOutcome::WriterAlive => WRITER_ALIVE.write(out),
            VoteOutcome::NotEntitled => NOT_ENTITLED.write(out),
        }
    }
}

impl Decode for VoteOutcome {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<VoteOutcome> {
        Some(match u8::read(input)? {
            GRANTED => VoteOutcome::Granted,
            PROMISED => VoteOutcome::Promised(Epoch::read(input)?),
            BEHIND => VoteOutcome::Behind,
            WRITER_ALIVE => VoteOutcome::WriterAlive,
            NOT_ENTITLED => VoteOutcome::NotEntitled,
            _ => return None,
        })
    }
}
