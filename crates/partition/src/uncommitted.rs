//! Uncommitted records: durable in this log and absent from the state. A majority of regions may not
//! have these records yet, so log repair may still remove them.
//!
//! A store with [`crate::ApplyAfter::Committed`] also leaves such records unapplied when it opens. It
//! waits until the replication names the committed position. Until the state contains every
//! uncommitted record, the committer refuses transactions, because it would decide them over an
//! outdated state.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Log, Position};
use orrery_storage::Storage;

use crate::committer::Committer;
use crate::log_tail::LogRecord;
use crate::record::Record;
use crate::replay::removed_by;
use crate::replicate::{ReplicatedBatch, refused};
use crate::{CommitObserver, Error, ReplicationError};

/// Bytes of records that are applied with one batch.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The last appended and the last applied position of a following store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorePositions {
    /// The last appended record; see [`crate::Store::appended`].
    pub appended: Position,
    /// The last record in the state.
    pub applied: Position,
}

/// The records of the log after the applied position.
pub(crate) fn uncommitted_records(
    log: &Log,
    applied: Position,
) -> Result<VecDeque<LogRecord>, Error> {
    let mut pending = VecDeque::new();
    log.replay(applied, &mut |position, payload| {
        pending.push_back((position, Bytes::copy_from_slice(payload)));
        Ok(())
    })?;
    Ok(pending)
}

impl Committer {
    /// Appends records of another store, and applies the log to the state up to `apply_upto`.
    pub(crate) fn replicate(
        &mut self,
        records: Vec<LogRecord>,
        apply_upto: Position,
        observer: &dyn CommitObserver,
    ) -> Result<StorePositions, ReplicationError> {
        if !self.is_following {
            return Err(ReplicationError::NotFollowing);
        }
        // Records that are committed on arrival share one decode, one sync and one batch.
        let is_all = records.last().is_none_or(|(last, _)| *last <= apply_upto);
        if self.uncommitted.is_empty() && is_all {
            self.append_and_apply(records, observer)?;
        } else {
            self.append_uncommitted(records)?;
            self.apply_committed(apply_upto, observer)?;
        }
        Ok(StorePositions {
            appended: self.last(),
            applied: self.log_tail.applied(),
        })
    }

    fn append_uncommitted(&mut self, records: Vec<LogRecord>) -> Result<(), ReplicationError> {
        let mut last = self.last();
        let mut payloads = Vec::new();
        for (position, payload) in records {
            if position <= last {
                continue;
            }
            if position.0 != last.0 + 1 {
                let first = position;
                return Err(ReplicationError::Gap { last, first });
            }
            // A record that does not decode must not enter the log: the follower could never apply it.
            Record::decode(&payload).map_err(|error| refused(position, &error))?;
            payloads.push(payload);
            last = position;
        }
        if !payloads.is_empty() {
            self.append_copies(&payloads)
                .map_err(|error| self.stopped(&error))?;
            self.push_uncommitted(payloads);
        }
        Ok(())
    }

    /// Queues appended records that are not committed yet.
    pub(crate) fn push_uncommitted(&mut self, payloads: Vec<Bytes>) {
        let first = self.log_tail.applied().0 + 1 + self.uncommitted.len() as u64;
        self.uncommitted
            .extend((first..).map(Position).zip(payloads.iter().cloned()));
        let last = self.uncommitted.back().map(|(last, _)| *last);
        if let Some(last) = last {
            self.log_tail.append(last, payloads);
        }
    }

    fn next_uncommitted(&mut self, upto: Position) -> Option<LogRecord> {
        let is_next = self
            .uncommitted
            .front()
            .is_some_and(|(next, _)| *next <= upto);
        is_next.then(|| self.uncommitted.pop_front()).flatten()
    }

    /// Applies uncommitted records up to `upto`, in batches of limited size.
    fn apply_committed(
        &mut self,
        upto: Position,
        observer: &dyn CommitObserver,
    ) -> Result<(), ReplicationError> {
        let storage: Arc<Storage> = Arc::clone(&self.storage);
        let mut followed = ReplicatedBatch::default();
        let mut bytes = 0;
        while let Some((position, payload)) = self.next_uncommitted(upto) {
            let record = Record::decode(&payload).map_err(|error| self.stopped(&error))?;
            // The removal changes the state directly, so the records before it are applied first.
            for container in removed_by(&record) {
                self.apply_durable(&storage, std::mem::take(&mut followed), observer)?;
                self.remove(&storage, container)?;
            }
            bytes += payload.len();
            followed.push(position, record, payload);
            if bytes >= BATCH_BYTES {
                self.apply_durable(&storage, std::mem::take(&mut followed), observer)?;
                bytes = 0;
            }
        }
        self.apply_durable(&storage, followed, observer)
    }
}
