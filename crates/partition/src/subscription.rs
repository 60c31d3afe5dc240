//! A subscription: the leader's side of one follower.

use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Cursor, Position};

use crate::log_tail::{LogRecord, LogTail, ReplicationSlot, TailRead};
use crate::{Error, Reply};

/// Reads the committed records of a store. As long as the subscription exists, the store retains
/// unacknowledged records up to a byte limit.
pub struct Subscription {
    log_tail: Arc<LogTail>,
    /// `None` if the store has no log.
    cursor: Option<Cursor>,
    number: u64,
}

/// The result of reading records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubscriptionRead {
    /// Records in order, without gaps; empty if there are no new records.
    Records(Vec<LogRecord>),
    /// The store no longer has these records. Their effect is in the state.
    Trimmed,
}

impl Subscription {
    pub(crate) fn new(
        log_tail: Arc<LogTail>,
        cursor: Option<Cursor>,
        acknowledged: Position,
        bytes_max: u64,
    ) -> Subscription {
        let number = log_tail.add(ReplicationSlot {
            acknowledged,
            bytes_max,
            pinned: None,
        });
        Subscription {
            log_tail,
            cursor,
            number,
        }
    }

    /// Reads the records after a position: at least one if one exists, and no further record once
    /// the records have `bytes_max` bytes. Reads the disk if the records are no longer in memory.
    /// Fails with [`orrery_log::Error::Ahead`] if the store never had the record at `after`.
    pub fn records_after(
        &mut self,
        after: Position,
        bytes_max: usize,
    ) -> Result<SubscriptionRead, Error> {
        let upto = match self.log_tail.after(after, bytes_max) {
            TailRead::Records(records) => return Ok(SubscriptionRead::Records(records)),
            TailRead::Older(last) => last,
            TailRead::Ahead(last) => return Err(orrery_log::Error::Ahead { after, last }.into()),
        };
        let Some(cursor) = &mut self.cursor else {
            return Ok(SubscriptionRead::Trimmed);
        };
        match cursor.read(after, upto, bytes_max) {
            Ok(records) => {
                let records = records.into_iter();
                let records = records.map(|(position, payload)| (position, Bytes::from(payload)));
                Ok(SubscriptionRead::Records(records.collect()))
            }
            Err(orrery_log::Error::Trimmed { .. }) => Ok(SubscriptionRead::Trimmed),
            Err(error) => Err(error.into()),
        }
    }

    /// The position before the first record that the store still has.
    pub fn begins_after(&mut self) -> Position {
        let last = self.log_tail.last();
        let Some(cursor) = &mut self.cursor else {
            return self.log_tail.tail_after();
        };
        match cursor.read(Position::ZERO, last, 1) {
            Err(orrery_log::Error::Trimmed { first, .. }) if first <= last => Position(first.0 - 1),
            Err(_) => last,
            Ok(_) => Position::ZERO,
        }
    }

    /// Reports that the follower has all records up to `position` durably.
    pub fn acknowledge(&self, position: Position) {
        self.log_tail.acknowledge(self.number, position);
    }

    /// Retains the records after a position without a byte limit, until the pin is moved or
    /// removed.
    pub(crate) fn pin(&self, position: Option<Position>) {
        self.log_tail.pin(self.number, position);
    }

    /// Calls `reply` with the last position as soon as a record after `after` exists: immediately,
    /// or on the committer's thread, where the callback must not block.
    pub fn when_committed(&self, after: Position, reply: Reply<Position>) {
        self.log_tail.when_after(after, reply);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.log_tail.remove(self.number);
    }
}
