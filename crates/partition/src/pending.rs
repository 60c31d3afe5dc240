//! Records that are durable and not in the state: what a majority of regions may not have yet, so that
//! it could still be taken back.
//!
//! A store that holds records back does not apply what its log has beyond the state when it is opened
//! either: it waits to be told. Until the state has caught up, it makes no records of its own, since
//! they would be decided over an old state.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::{Log, Position};
use orrery_storage::Storage;

use crate::committed::CommittedRecord;
use crate::committer::Committer;
use crate::record::Record;
use crate::replay::removed_by;
use crate::replicate::{Followed, refused};
use crate::{Error, ReplicationError, Witness};

/// Bytes of records that are applied with one batch.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// How far a store is that follows another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// The last record that is kept; see [`crate::Store::kept`].
    pub kept: Position,
    /// The last one that the state has.
    pub applied: Position,
}

/// The records of the log that the state does not have.
pub(crate) fn pending_of(log: &Log, applied: Position) -> Result<VecDeque<CommittedRecord>, Error> {
    let mut pending = VecDeque::new();
    log.replay(applied, &mut |position, payload| {
        pending.push_back((position, Bytes::copy_from_slice(payload)));
        Ok(())
    })?;
    Ok(pending)
}

impl Committer {
    /// Makes records of another store durable, and lets the state follow up to a position.
    pub(crate) fn keep_back(
        &mut self,
        records: Vec<CommittedRecord>,
        apply_upto: Position,
        witness: &dyn Witness,
    ) -> Result<Reached, ReplicationError> {
        if !self.is_following {
            return Err(ReplicationError::NotFollowing);
        }
        let is_all = records.last().is_none_or(|(last, _)| *last <= apply_upto);
        if self.pending.is_empty() && is_all {
            self.replicate(records, witness)?;
        } else {
            self.keep_records(records)?;
            self.apply_pending(apply_upto, witness)?;
        }
        Ok(Reached {
            kept: self.last(),
            applied: self.committed.applied(),
        })
    }

    fn keep_records(&mut self, records: Vec<CommittedRecord>) -> Result<(), ReplicationError> {
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
            Record::decode(&payload).map_err(|error| refused(position, &error))?;
            payloads.push(payload);
            last = position;
        }
        if !payloads.is_empty() {
            self.wait_for_room(&payloads)
                .and_then(|()| self.append_payloads(&payloads))
                .map_err(|error| self.stopped(&error))?;
            self.hold_back(payloads);
        }
        Ok(())
    }

    /// Remembers records that were appended and are not to be applied yet.
    pub(crate) fn hold_back(&mut self, payloads: Vec<Bytes>) {
        let first = self.committed.applied().0 + 1 + self.pending.len() as u64;
        self.pending
            .extend((first..).map(Position).zip(payloads.iter().cloned()));
        let last = self.pending.back().map(|(last, _)| *last);
        if let Some(last) = last {
            self.committed.keep(last, payloads);
        }
    }

    fn next_pending(&mut self, upto: Position) -> Option<CommittedRecord> {
        let is_next = self.pending.front().is_some_and(|(next, _)| *next <= upto);
        is_next.then(|| self.pending.pop_front()).flatten()
    }

    /// Lets the state follow.
    fn apply_pending(
        &mut self,
        upto: Position,
        witness: &dyn Witness,
    ) -> Result<(), ReplicationError> {
        let storage: Arc<Storage> = Arc::clone(&self.storage);
        let mut followed = Followed::default();
        let mut bytes = 0;
        while let Some((position, payload)) = self.next_pending(upto) {
            let record = Record::decode(&payload).map_err(|error| self.stopped(&error))?;
            for container in removed_by(&record) {
                self.apply_kept(&storage, std::mem::take(&mut followed), witness)?;
                self.remove(&storage, container)?;
            }
            bytes += payload.len();
            followed.push(position, record, payload);
            if bytes >= BATCH_BYTES {
                self.apply_kept(&storage, std::mem::take(&mut followed), witness)?;
                bytes = 0;
            }
        }
        self.apply_kept(&storage, followed, witness)
    }
}
