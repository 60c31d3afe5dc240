//! The committer takes records of other regions, and of the account stream.
//!
//! They are decided by others, so nothing is refused but what does not continue what is here. Like
//! the records of a store that is followed they share one sync and one batch, and what stands above
//! the store hears of them as a [`Witness`].

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};
use orrery_regions::{Body, Progress, Sequence, Stamp, StreamId, StreamRecord};
use orrery_storage::Storage;

use super::codec::decode_body;
use super::merge::{Effect, next_lsn};
use super::{
    AccountChange, AccountOutcome, Merged, Multi, Stamped, apply_account, apply_merged,
    put_progress,
};
use crate::committer::Committer;
use crate::overlay::Overlay;
use crate::record::{Change, Moment, Record, decode_items};
use crate::replay::{remove_container, removed_by};
use crate::replicate::Applied;
use crate::{Counters, Error, Witness};

/// Why records of other regions were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("the store is no region of a multi-write account")]
    NotMultiWrite,
    #[error("record {sequence} of {stream} does not continue what is applied here")]
    Gap {
        stream: StreamId,
        sequence: Sequence,
    },
    /// It is no record, or one of another history.
    #[error("record {sequence} of {stream} cannot be applied: {cause}")]
    Refused {
        stream: StreamId,
        sequence: Sequence,
        cause: String,
    },
    #[error("the store takes no more records after an earlier failure: {0}")]
    ReadOnly(String),
}

/// What is decided and goes into the log together.
struct Merging<'a> {
    overlay: Overlay<'a>,
    progress: Progress,
    records: Vec<Record>,
    counters: BTreeMap<(u32, RangeId), Counters>,
    grown: Vec<(Bytes, i64)>,
    is_catalogue_changed: bool,
}

impl<'a> Merging<'a> {
    fn new(storage: &'a Storage, multi: &Arc<Multi>) -> Merging<'a> {
        Merging {
            overlay: Overlay::new(storage).with_rows(Some(multi)),
            progress: multi.progress(),
            records: Vec::new(),
            counters: BTreeMap::new(),
            grown: Vec::new(),
            is_catalogue_changed: false,
        }
    }
}

impl Committer {
    /// Merges records of region streams, in causal order; gives what is applied then. Those that
    /// are already here are skipped.
    pub(crate) fn merge(
        &mut self,
        records: Vec<StreamRecord>,
        witness: &dyn Witness,
    ) -> Result<Progress, MergeError> {
        let multi = self.multi.clone().ok_or(MergeError::NotMultiWrite)?;
        let storage = Arc::clone(&self.storage);
        let mut merging = Merging::new(&storage, &multi);
        let mut end = Ok(());
        for record in records {
            if merging.progress.has(record.stream, record.sequence) {
                continue;
            }
            end = self.merge_one(&mut merging, &multi, &record);
            if end.is_err() {
                break;
            }
        }
        self.finish_merging(&multi, merging, witness)?;
        end.map(|()| multi.progress())
    }

    fn merge_one(
        &mut self,
        merging: &mut Merging<'_>,
        multi: &Multi,
        record: &StreamRecord,
    ) -> Result<(), MergeError> {
        let (stream, sequence) = (record.stream, record.sequence);
        let refused = |cause: String| MergeError::Refused {
            stream,
            sequence,
            cause,
        };
        let is_next = merging.progress.of(stream).next() == sequence;
        if !is_next || !merging.progress.covers(&record.deps) {
            return Err(MergeError::Gap { stream, sequence });
        }
        let merged = decode(record, multi).ok_or_else(|| refused("it does not decode".into()))?;
        let savepoint = merging.overlay.savepoint();
        let overlay = &mut merging.overlay;
        let apply = || -> Result<(Merged, Option<Effect>), Error> {
            let mut merged = merged;
            merged.lsn = next_lsn(overlay, &mut self.states, &merged)?;
            let effect = apply_merged(overlay, &mut self.states, &merged)?;
            Ok((merged, effect))
        };
        match apply() {
            Ok((merged, effect)) => {
                if let Some(Effect { counters, grown }) = effect {
                    merging.counters.extend(counters);
                    merging.grown.extend(grown);
                }
                merging.records.push(Record::Merged(Box::new(merged)));
                merging.progress.advance(stream, sequence);
                Ok(())
            }
            Err(error) => {
                merging.overlay.roll_back(savepoint);
                self.states = crate::index_state::IndexStates::default();
                Err(refused(error.chain()))
            }
        }
    }

    /// Applies a record of the account stream.
    pub(crate) fn account(
        &mut self,
        account: &AccountChange,
        witness: &dyn Witness,
    ) -> Result<AccountOutcome, MergeError> {
        let multi = self.multi.clone().ok_or(MergeError::NotMultiWrite)?;
        let (stream, sequence) = (StreamId::Account, account.sequence);
        if multi.progress().has(stream, sequence) {
            return Ok(AccountOutcome::Known);
        }
        let storage = Arc::clone(&self.storage);
        let record = Record::Account(account.clone());
        for container in removed_by(&record) {
            let batches = Arc::clone(&self.batches);
            let write = |batch| Ok(batches.write(|| storage.write(batch))?);
            let removed = remove_container(&storage, container, write);
            self.states.forget(container);
            self.tallies.forget(container);
            removed.map_err(|error| self.stopped_merging(&error))?;
        }
        let mut merging = Merging::new(&storage, &multi);
        let applied = apply_account(&mut merging.overlay, &mut self.states, account);
        merging.is_catalogue_changed = applied.map_err(|error| {
            self.states = crate::index_state::IndexStates::default();
            MergeError::Refused {
                stream,
                sequence,
                cause: error.chain(),
            }
        })?;
        let outcome = if merging.is_catalogue_changed {
            AccountOutcome::Applied
        } else {
            AccountOutcome::Void
        };
        merging.progress.advance(stream, sequence);
        merging.records.push(record);
        self.finish_merging(&multi, merging, witness)?;
        Ok(outcome)
    }

    /// Makes records durable, then visible.
    fn finish_merging(
        &mut self,
        multi: &Multi,
        merging: Merging<'_>,
        witness: &dyn Witness,
    ) -> Result<(), MergeError> {
        let Merging {
            mut overlay,
            progress,
            records,
            counters,
            grown,
            is_catalogue_changed,
        } = merging;
        if records.is_empty() {
            return Ok(());
        }
        put_progress(&mut overlay, &progress);
        let payloads = records.iter().map(|record| {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            Bytes::from(bytes)
        });
        let payloads = payloads.collect();
        self.keep(overlay, payloads)
            .map_err(|error| self.stopped_merging(&error))?;
        multi.publish(progress);
        let storage = Arc::clone(&self.storage);
        witness.applied(&Applied::of_merged(
            is_catalogue_changed,
            counters,
            grown,
            storage.snapshot(),
        ));
        for record in &records {
            if let Record::Merged(merged) = record {
                self.watches.mark(&merged.changes);
            }
        }
        self.ask_for_checkpoint();
        Ok(())
    }

    fn stopped_merging(&mut self, error: &Error) -> MergeError {
        self.break_down(error);
        MergeError::ReadOnly(self.broken.clone().unwrap_or_default())
    }
}

/// What a stream record changes.
pub(crate) fn items_of(record: &StreamRecord) -> Option<(Moment, Vec<Change>)> {
    let Body::Data(data) = &record.body else {
        return None;
    };
    let mut bytes = &data[..];
    decode_body(&mut bytes)?;
    decode_items(bytes)
}

/// A stream record as it is to stand in the log here.
fn decode(record: &StreamRecord, multi: &Multi) -> Option<Merged> {
    let (StreamId::Region(origin), Body::Data(data)) = (record.stream, &record.body) else {
        return None;
    };
    let (decided, expired) = decode_body(&mut &data[..])?;
    let (moment, changes) = items_of(record)?;
    Some(Merged {
        lsn: Lsn(0),
        is_own: origin == multi.region,
        stamped: Stamped {
            stamp: Stamp {
                origin,
                sequence: record.sequence,
            },
            epoch: record.epoch,
            deps: record.deps.clone(),
            decided,
            expired,
        },
        moment,
        changes,
    })
}
