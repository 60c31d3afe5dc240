//! The replicated log: a quorum of nodes must have a record before readers see it.
//!
//! ```text
//!   append:  reserve room -> assign positions -> write and sync here
//!   then:    followers can read the records -> tell the replication
//!   later:   commit_status asks the replication whether a quorum has the records
//! ```
//!
//! The log reserves room before the replication assigns positions, because the replication cannot
//! take back positions that it has given.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::commit_log::{
    AppendError, Appended, CommitLog, CommitStatus, EncodedRecords, RecordBatch,
};
use crate::{Error, Position, frame_bytes};

/// Room for the notes that the replication may put before records.
const NOTES_BYTES: usize = 64 << 10;

/// The agreement with other nodes on the positions of records and on their commit. No call waits
/// for another node.
pub trait Replication: Send {
    /// Assigns the positions after `last` to records. Returns notes that come before them.
    fn assign_positions(
        &mut self,
        last: Position,
        records: &[Bytes],
    ) -> Result<Vec<Note>, AppendError>;

    /// Whether notes wait for a position.
    fn has_notes(&self) -> bool;

    /// Called when the records up to `upto` are durable here and followers can read them. While their
    /// status is pending, the implementer lets the store ask again as soon as the status changes.
    fn on_durable(&mut self, upto: Position);

    fn commit_status(&mut self, upto: Position) -> CommitStatus;

    fn on_applied(&mut self, upto: Position);

    fn on_abandoned(&mut self);
}

/// A record of the replication itself.
pub struct Note {
    pub text: Bytes,
    /// The record of the log that holds the text.
    pub record: Bytes,
}

/// A log of this node whose records take part in a replication.
pub struct ReplicatedLog<R> {
    local: Box<dyn CommitLog>,
    replication: R,
}

impl<R: Replication> ReplicatedLog<R> {
    pub fn new(local: Box<dyn CommitLog>, replication: R) -> ReplicatedLog<R> {
        ReplicatedLog { local, replication }
    }
}

impl<R: Replication> CommitLog for ReplicatedLog<R> {
    fn last(&self) -> Position {
        self.local.last()
    }

    fn durable(&self) -> Position {
        self.local.durable()
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        self.local.reserve(bytes)
    }

    fn append(&mut self, records: &dyn RecordBatch) -> Result<Appended, AppendError> {
        let last = self.local.last();
        if records.is_empty() && !self.replication.has_notes() {
            return Ok(Appended {
                last,
                ..Appended::default()
            });
        }
        let payloads = (0..records.len()).map(|index| records.payload(index));
        let mut payloads: Vec<Bytes> = payloads.collect();
        let frames = payloads.iter().map(|payload| frame_bytes(payload.len()));
        self.local.reserve(frames.sum::<usize>() + NOTES_BYTES)?;
        let notes = self.replication.assign_positions(last, &payloads)?;
        let note = notes.last().map(|note| note.text.clone());
        payloads.splice(0..0, notes.into_iter().map(|note| note.record));
        if payloads.is_empty() {
            return Ok(Appended {
                last,
                ..Appended::default()
            });
        }
        let appended = self.local.append(&EncodedRecords(&payloads))?;
        Ok(Appended {
            last: appended.last,
            payloads: Some(payloads),
            note,
        })
    }

    fn append_copies(&mut self, records: &[Bytes]) -> Result<Position, Error> {
        self.local.append_copies(records)
    }

    fn has_notes(&self) -> bool {
        self.replication.has_notes()
    }

    fn commit_status(&mut self, upto: Position) -> CommitStatus {
        self.replication.commit_status(upto)
    }

    fn on_readable(&mut self, upto: Position) {
        self.replication.on_durable(upto);
    }

    fn on_applied(&mut self, upto: Position) {
        self.replication.on_applied(upto);
    }

    fn on_abandoned(&mut self) {
        self.replication.on_abandoned();
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.local.sync()
    }

    fn tick(&mut self, now: Instant) -> Result<Option<Duration>, Error> {
        self.local.tick(now)
    }

    fn retry_reserve(&mut self) -> Result<(), Error> {
        self.local.retry_reserve()
    }

    fn sealed(&self) -> Option<Position> {
        self.local.sealed()
    }

    fn bytes_since(&self, position: Position) -> u64 {
        self.local.bytes_since(position)
    }

    fn trim(&mut self, upto: Position) -> Result<(), Error> {
        self.local.trim(upto)
    }

    fn close(self: Box<Self>) -> Result<Position, Error> {
        self.local.close()
    }
}
