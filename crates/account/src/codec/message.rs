//! Messages of the account stream.

use bytes::Bytes;
use orrery_regions::{
    Ballot, Beat, Canvass, Cause, Epoch, Lineage, Message, Millis, Page, PageHead, Place, Pull,
    Refused, Sequence, StreamId, Unconfirmed,
};

use super::parts::read_records;
use super::reader::Read;
use super::writer::Write;

const BEAT: u8 = 1;
const ECHO: u8 = 2;
const PULL: u8 = 3;
const PAGE: u8 = 4;
const TRIMMED: u8 = 5;
const DIVERGED: u8 = 6;
const CANVASS: u8 = 7;
const VOTE: u8 = 8;
const TAKE_OVER: u8 = 9;
const CONFIRM: u8 = 10;
const CONFIRMED: u8 = 11;
const NOT_CONFIRMED: u8 = 12;

impl Write for Message {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Message::Beat(beat) => {
                BEAT.write(out);
                beat.write(out);
            }
            Message::Echo { round, place } => {
                (ECHO, *round).write(out);
                place.write(out);
            }
            Message::Pull(pull) => {
                PULL.write(out);
                pull.write(out);
            }
            Message::Page(page) => {
                PAGE.write(out);
                page.head.write(out);
                page.records.write(out);
            }
            Message::Trimmed(refused) => {
                TRIMMED.write(out);
                refused.write(out);
            }
            Message::Diverged(refused) => {
                DIVERGED.write(out);
                refused.write(out);
            }
            Message::Canvass(canvass) => {
                CANVASS.write(out);
                canvass.write(out);
            }
            Message::Vote {
                epoch,
                is_sounding,
                verdict,
            } => {
                (VOTE, *epoch).write(out);
                is_sounding.write(out);
                verdict.write(out);
            }
            Message::TakeOver { epoch, position } => {
                (TAKE_OVER, *epoch).write(out);
                position.write(out);
            }
            Message::Confirm { read, place } => {
                (CONFIRM, *read).write(out);
                place.write(out);
            }
            Message::Confirmed {
                read,
                epoch,
                commit,
            } => {
                (CONFIRMED, *read).write(out);
                (*epoch, *commit).write(out);
            }
            Message::NotConfirmed { read, why } => {
                (NOT_CONFIRMED, *read).write(out);
                why.write(out);
            }
        }
    }
}

impl Read for Message {
    const BYTES_MIN: usize = 9;

    fn read(input: &mut Bytes) -> Option<Message> {
        Some(match u8::read(input)? {
            BEAT => Message::Beat(Beat::read(input)?),
            ECHO => Message::Echo {
                round: u64::read(input)?,
                place: Place::read(input)?,
            },
            PULL => Message::Pull(Pull::read(input)?),
            PAGE => {
                let head = PageHead::read(input)?;
                let records = read_records(input, StreamId::Account, head.after)?;
                Message::Page(Page { head, records })
            }
            TRIMMED => Message::Trimmed(Refused::read(input)?),
            DIVERGED => Message::Diverged(Refused::read(input)?),
            CANVASS => Message::Canvass(Canvass::read(input)?),
            VOTE => Message::Vote {
                epoch: Epoch::read(input)?,
                is_sounding: bool::read(input)?,
                verdict: Ballot::read(input)?,
            },
            TAKE_OVER => Message::TakeOver {
                epoch: Epoch::read(input)?,
                position: <(Epoch, Sequence)>::read(input)?,
            },
            CONFIRM => Message::Confirm {
                read: u64::read(input)?,
                place: Place::read(input)?,
            },
            CONFIRMED => Message::Confirmed {
                read: u64::read(input)?,
                epoch: Epoch::read(input)?,
                commit: Sequence::read(input)?,
            },
            NOT_CONFIRMED => Message::NotConfirmed {
                read: u64::read(input)?,
                why: Unconfirmed::read(input)?,
            },
            _ => return None,
        })
    }
}

/// Structs whose fields are written one after the other.
macro_rules! fields {
    ($type:ident { $($field:ident: $kind:ty),* $(,)? }) => {
        impl Write for $type {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }
        }

        impl Read for $type {
            const BYTES_MIN: usize = 0 $(+ <$kind as Read>::BYTES_MIN)*;

            fn read(input: &mut Bytes) -> Option<$type> {
                Some($type { $($field: <$kind>::read(input)?,)* })
            }
        }
    };
}

fields!(Beat {
    epoch: Epoch,
    round: u64,
    commit: Sequence,
    held: Sequence,
});

fields!(Place {
    promised: Epoch,
    kept: Sequence,
    kept_epoch: Epoch,
    applied: Sequence,
});

fields!(Pull {
    place: Place,
    after: Sequence,
    after_epoch: Epoch,
    asked: Millis,
    bytes_max: u64,
});

fields!(PageHead {
    epoch: Epoch,
    after: Sequence,
    after_epoch: Epoch,
    commit: Sequence,
    held: Sequence,
    last: Option<Sequence>,
    confirmed_age_ms: Option<u64>,
    asked: Millis,
});

fields!(Refused {
    epoch: Epoch,
    lineage: Lineage,
    last: Sequence,
    asked: Millis,
});

fields!(Canvass {
    epoch: Epoch,
    position: (Epoch, Sequence),
    cause: Cause,
    is_sounding: bool,
});

/// Choices without anything in them, by their bytes.
macro_rules! choice {
    ($type:ident { $($variant:ident = $byte:literal),* $(,)? }) => {
        impl Write for $type {
            fn write(&self, out: &mut Vec<u8>) {
                let byte: u8 = match self { $($type::$variant => $byte,)* };
                byte.write(out);
            }
        }

        impl Read for $type {
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

choice!(Cause {
    Silence = 0,
    HandOver = 1,
    Forced = 2,
});

choice!(Unconfirmed {
    NotTheWriteRegion = 0,
    OutsideTheReadQuorum = 1,
});

const GRANTED: u8 = 0;
const PROMISED: u8 = 1;
const BEHIND: u8 = 2;
const WRITER_ALIVE: u8 = 3;
const NOT_ENTITLED: u8 = 4;

impl Write for Ballot {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Ballot::Granted => GRANTED.write(out),
            Ballot::Promised(epoch) => (PROMISED, *epoch).write(out),
            Ballot::Behind => BEHIND.write(out),
            Ballot::WriterAlive => WRITER_ALIVE.write(out),
            Ballot::NotEntitled => NOT_ENTITLED.write(out),
        }
    }
}

impl Read for Ballot {
    const BYTES_MIN: usize = 1;

    fn read(input: &mut Bytes) -> Option<Ballot> {
        Some(match u8::read(input)? {
            GRANTED => Ballot::Granted,
            PROMISED => Ballot::Promised(Epoch::read(input)?),
            BEHIND => Ballot::Behind,
            WRITER_ALIVE => Ballot::WriterAlive,
            NOT_ENTITLED => Ballot::NotEntitled,
            _ => return None,
        })
    }
}
