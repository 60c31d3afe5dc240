//! The log of a store in memory: it assigns positions to records and stores no record.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::commit_log::{AppendError, Appended, CommitLog, CommitStatus, RecordBatch};
use crate::{Error, Position};

#[derive(Debug, Default)]
pub struct MemoryLog {
    last: Position,
}

impl MemoryLog {
    /// A log whose last record was at `last`.
    pub fn after(last: Position) -> MemoryLog {
        MemoryLog { last }
    }

    fn advance(&mut self, records: usize) -> Position {
        self.last = Position(self.last.0 + records as u64);
        self.last
    }
}

impl CommitLog for MemoryLog {
    fn last(&self) -> Position {
        self.last
    }

    fn durable(&self) -> Position {
        self.last
    }

    fn reserve(&mut self, _bytes: usize) -> Result<(), Error> {
        Ok(())
    }

    fn append(&mut self, records: &dyn RecordBatch) -> Result<Appended, AppendError> {
        Ok(Appended {
            last: self.advance(records.len()),
            ..Appended::default()
        })
    }

    fn append_copies(&mut self, records: &[Bytes]) -> Result<Position, Error> {
        Ok(self.advance(records.len()))
    }

    fn commit_status(&mut self, _upto: Position) -> CommitStatus {
        CommitStatus::Committed
    }

    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn tick(&mut self, _now: Instant) -> Result<Option<Duration>, Error> {
        Ok(None)
    }

    fn retry_reserve(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn sealed(&self) -> Option<Position> {
        None
    }

    fn bytes_since(&self, _position: Position) -> u64 {
        0
    }

    fn trim(&mut self, _upto: Position) -> Result<(), Error> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<Position, Error> {
        Ok(self.last)
    }
}
