//! One follower as the store that it follows knows it.

use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Cursor, Position};

use crate::committed::{Committed, CommittedRecord, Kept, Needs};
use crate::{Error, Reply};

/// Gives out the committed records of a store. For as long as it lives, the store keeps the records
/// that were not acknowledged, up to so many bytes.
pub struct Subscription {
    committed: Arc<Committed>,
    /// None if the store keeps no log.
    cursor: Option<Cursor>,
    number: u64,
}

/// An answer to the question for more records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// In order and without a gap; none if there is nothing new.
    Records(Vec<CommittedRecord>),
    /// The store does not have them any more. A copy of its state has what they did.
    Trimmed,
}

impl Subscription {
    pub(crate) fn new(
        committed: Arc<Committed>,
        cursor: Option<Cursor>,
        acknowledged: Position,
        bytes_max: u64,
    ) -> Subscription {
        let number = committed.add(Needs {
            acknowledged,
            bytes_max,
            pinned: None,
        });
        Subscription {
            committed,
            cursor,
            number,
        }
    }

    /// The records after a position: at least one if there is one, and no further one once there are
    /// `bytes_max` bytes. Reads the disk when they are too old for memory. Fails with
    /// [`orrery_log::Error::Ahead`] if the store never had the record at `after`.
    pub fn records_after(&mut self, after: Position, bytes_max: usize) -> Result<Piece, Error> {
        let upto = match self.committed.after(after, bytes_max) {
            Kept::Records(records) => return Ok(Piece::Records(records)),
            Kept::Older(last) => last,
            Kept::Ahead(last) => return Err(orrery_log::Error::Ahead { after, last }.into()),
        };
        let Some(cursor) = &mut self.cursor else {
            return Ok(Piece::Trimmed);
        };
        match cursor.read(after, upto, bytes_max) {
            Ok(records) => {
                let records = records.into_iter();
                let records = records.map(|(position, payload)| (position, Bytes::from(payload)));
                Ok(Piece::Records(records.collect()))
            }
            Err(orrery_log::Error::Trimmed { .. }) => Ok(Piece::Trimmed),
            Err(error) => Err(error.into()),
        }
    }

    /// Where the records begin that the store still has: after this position.
    pub(crate) fn begins_after(&mut self) -> Position {
        let last = self.committed.last();
        let Some(cursor) = &mut self.cursor else {
            return self.committed.tail_after();
        };
        match cursor.read(Position::ZERO, last, 1) {
            Err(orrery_log::Error::Trimmed { first, .. }) if first <= last => Position(first.0 - 1),
            Err(_) => last,
            Ok(_) => Position::ZERO,
        }
    }

    /// The follower has everything up to here for good.
    pub fn acknowledge(&self, position: Position) {
        self.committed.acknowledge(self.number, position);
    }

    /// Keeps what comes after a position however much that is, until another one is said or none.
    pub(crate) fn pin(&self, position: Option<Position>) {
        self.committed.pin(self.number, position);
    }

    /// Calls `reply` with the last position as soon as there is a record after `after`: at once, or
    /// on the committer's thread, where it must not block.
    pub fn when_committed(&self, after: Position, reply: Reply<Position>) {
        self.committed.when_after(after, reply);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.committed.remove(self.number);
    }
}
