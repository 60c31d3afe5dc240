//! The log of a store that is alone, in files of its disk.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::commit_log::{AppendError, Appended, CommitLog, CommitStatus, RecordBatch};
use crate::deferred_sync::SyncRequests;
use crate::{Durability, Error, Log, Position};

pub struct LocalLog {
    log: Log,
    /// Set if copies of other nodes' records become durable after their append.
    deferred: Option<SyncRequests>,
    /// The time of the last tick. The owner ticks before every append, so that this log needs no
    /// clock.
    now: Option<Instant>,
    /// The time since which the log has a record that no sync covers.
    unsynced_since: Option<Instant>,
}

impl LocalLog {
    pub fn new(log: Log) -> LocalLog {
        LocalLog {
            log,
            deferred: None,
            now: None,
            unsynced_since: None,
        }
    }

    /// A log that leaves the syncs of copies to another thread.
    #[must_use]
    pub fn with_deferred_syncs(self, requests: SyncRequests) -> LocalLog {
        LocalLog {
            deferred: Some(requests),
            ..self
        }
    }

    fn commit(&mut self) -> Result<Position, Error> {
        self.take_deferred();
        let last = self.log.commit()?;
        if self.log.durable() < last {
            self.unsynced_since = self.unsynced_since.or(self.now);
        }
        Ok(last)
    }

    /// Marks the records as durable that the thread of deferred syncs has synced.
    fn take_deferred(&mut self) {
        if let Some(deferred) = &self.deferred {
            self.log.mark_synced(deferred.synced());
        }
    }
}

impl CommitLog for LocalLog {
    fn last(&self) -> Position {
        self.log.last()
    }

    fn durable(&self) -> Position {
        let deferred = self.deferred.as_ref().map(SyncRequests::synced);
        let durable = self.log.durable();
        deferred.map_or(durable, |synced| synced.max(durable).min(self.log.last()))
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        self.log.preallocate(bytes)
    }

    fn append(&mut self, records: &dyn RecordBatch) -> Result<Appended, AppendError> {
        if !records.is_empty() {
            for index in 0..records.len() {
                self.log.append_with(|buffer| records.encode(index, buffer));
            }
            self.commit()?;
        }
        Ok(Appended {
            last: self.log.last(),
            ..Appended::default()
        })
    }

    fn append_copies(&mut self, records: &[Bytes]) -> Result<Position, Error> {
        for record in records {
            self.log.append(record);
        }
        let Some(deferred) = &mut self.deferred else {
            return self.commit();
        };
        let last = self.log.write()?;
        deferred.request(self.log.current_segment_path(), last);
        Ok(last)
    }

    /// Without other nodes no log repair can remove a record, so every appended record is committed.
    fn commit_status(&mut self, _upto: Position) -> CommitStatus {
        CommitStatus::Committed
    }

    fn sync(&mut self) -> Result<(), Error> {
        self.unsynced_since = None;
        self.log.sync()
    }

    fn tick(&mut self, now: Instant) -> Result<Option<Duration>, Error> {
        self.now = Some(now);
        self.take_deferred();
        let Durability::Interval(interval) = self.log.durability() else {
            return Ok(None);
        };
        if self.log.durable() >= self.log.last() {
            self.unsynced_since = None;
            return Ok(None);
        }
        let since = *self.unsynced_since.get_or_insert(now);
        let left = interval.saturating_sub(now.saturating_duration_since(since));
        if !left.is_zero() {
            return Ok(Some(left));
        }
        self.sync()?;
        Ok(None)
    }

    fn retry_reserve(&mut self) -> Result<(), Error> {
        self.log.retry_preallocate()
    }

    fn sealed(&self) -> Option<Position> {
        self.log.sealed()
    }

    fn bytes_since(&self, position: Position) -> u64 {
        self.log.bytes_since(position)
    }

    fn trim(&mut self, upto: Position) -> Result<(), Error> {
        self.log.trim(upto)
    }

    fn close(self: Box<Self>) -> Result<Position, Error> {
        let LocalLog { log, .. } = *self;
        let last = log.last();
        log.close()?;
        Ok(last)
    }
}
