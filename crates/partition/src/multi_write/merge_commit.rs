//! The committer's side of merging: appends and applies records of other regions and of the account
//! stream.
//!
//! Records from another region were validated there; this region rejects only a record that does
//! not follow the last one it has. Like the records of a follower, merged records share one sync
//! and one batch, and a [`CommitObserver`] is told when they are applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};
use orrery_regions::{RecordBody, Sequence, StreamId, StreamRecord, VersionId, VersionVector};
use orrery_storage::Storage;

use super::codec::decode_body;
use super::merge::{MergeEffect, next_lsn};
use super::{
    AccountChange, AccountOutcome, MergedRecord, MultiWriteRegion, StreamHeader, apply_account,
    apply_merged, put_progress,
};
use crate::committer::Committer;
use crate::overlay::Overlay;
use crate::record::{KeyChange, Record, RecordHeader, decode_items};
use crate::replay::{remove_container, removed_by};
use crate::replicate::AppliedRecords;
use crate::{CommitObserver, Counters, Error};

/// The reasons for which records of other regions are rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("the store is no region of a multi-write account")]
    NotMultiWrite,
    #[error("record {sequence} of {stream} does not continue what is applied here")]
    Gap {
        stream: StreamId,
        sequence: Sequence,
    },
    /// The record does not decode, or it belongs to another history.
    #[error("record {sequence} of {stream} cannot be applied: {cause}")]
    Refused {
        stream: StreamId,
        sequence: Sequence,
        cause: String,
    },
    #[error("the store takes no more records after an earlier failure: {0}")]
    ReadOnly(String),
}

/// Records that share one overlay and one append to the log.
struct MergeBatch<'a> {
    overlay: Overlay<'a>,
    progress: VersionVector,
    records: Vec<Record>,
    counters: BTreeMap<(u32, RangeId), Counters>,
    grown: Vec<(Bytes, i64)>,
    is_catalogue_changed: bool,
}

impl<'a> MergeBatch<'a> {
    fn new(storage: &'a Storage, multi: &Arc<MultiWriteRegion>) -> MergeBatch<'a> {
        MergeBatch {
            overlay: Overlay::new(storage).with_versions_filter(Some(multi)),
            progress: multi.progress(),
            records: Vec::new(),
            counters: BTreeMap::new(),
            grown: Vec::new(),
            is_catalogue_changed: false,
        }
    }
}

impl Committer {
    /// Merges records of region streams, in causal order, and returns the version vector
    /// afterwards. Records that were applied before are skipped.
    pub(crate) fn merge(
        &mut self,
        records: Vec<StreamRecord>,
        observer: &dyn CommitObserver,
    ) -> Result<VersionVector, MergeError> {
        let multi = self.multi.clone().ok_or(MergeError::NotMultiWrite)?;
        let storage = Arc::clone(&self.storage);
        let mut merging = MergeBatch::new(&storage, &multi);
        let mut end = Ok(());
        for record in records {
            if merging.progress.includes(record.stream, record.sequence) {
                continue;
            }
            end = self.merge_one(&mut merging, &multi, &record);
            if end.is_err() {
                break;
            }
        }
        // Records before the failed one are valid and are committed.
        self.finish_merging(&multi, merging, observer)?;
        end.map(|()| multi.progress())
    }

    fn merge_one(
        &mut self,
        merging: &mut MergeBatch<'_>,
        multi: &MultiWriteRegion,
        record: &StreamRecord,
    ) -> Result<(), MergeError> {
        let (stream, sequence) = (record.stream, record.sequence);
        let refused = |cause: String| MergeError::Refused {
            stream,
            sequence,
            cause,
        };
        // Gapless streams and covered dependencies together guarantee causal order: a record is
        // applied only after every record that its origin had seen.
        let is_next = merging.progress.of(stream).next() == sequence;
        if !is_next || !merging.progress.includes_all(&record.deps) {
            return Err(MergeError::Gap { stream, sequence });
        }
        let merged = decode(record, multi).ok_or_else(|| refused("it does not decode".into()))?;
        let savepoint = merging.overlay.savepoint();
        let overlay = &mut merging.overlay;
        let apply = || -> Result<(MergedRecord, Option<MergeEffect>), Error> {
            let mut merged = merged;
            merged.lsn = next_lsn(overlay, &mut self.states, &merged)?;
            let effect = apply_merged(overlay, &mut self.states, &merged)?;
            Ok((merged, effect))
        };
        match apply() {
            Ok((merged, effect)) => {
                if let Some(MergeEffect { counters, grown }) = effect {
                    merging.counters.extend(counters);
                    merging.grown.extend(grown);
                }
                merging.records.push(Record::Merged(Box::new(merged)));
                merging.progress.advance(stream, sequence);
                Ok(())
            }
            Err(error) => {
                // The failed record may have changed cached index states, so the cache is read
                // again from the state.
                merging.overlay.roll_back(savepoint);
                self.states = crate::index_state::IndexStateCache::default();
                Err(refused(error.chain()))
            }
        }
    }

    /// Applies a record of the account stream.
    pub(crate) fn account(
        &mut self,
        account: &AccountChange,
        observer: &dyn CommitObserver,
    ) -> Result<AccountOutcome, MergeError> {
        let multi = self.multi.clone().ok_or(MergeError::NotMultiWrite)?;
        let (stream, sequence) = (StreamId::Account, account.sequence);
        if multi.progress().includes(stream, sequence) {
            return Ok(AccountOutcome::AlreadyApplied);
        }
        let storage = Arc::clone(&self.storage);
        // Rows of a deleted container are removed before the record is applied. The removal is
        // idempotent: after a crash in between, the record arrives again.
        let record = Record::Account(account.clone());
        for container in removed_by(&record) {
            let batches = Arc::clone(&self.batches);
            let write = |batch| Ok(batches.write(|| storage.write(batch))?);
            let removed = remove_container(&storage, container, write);
            self.states.forget(container);
            self.statistics.forget(container);
            removed.map_err(|error| self.stopped_merging(&error))?;
        }
        let mut merging = MergeBatch::new(&storage, &multi);
        let applied = apply_account(&mut merging.overlay, &mut self.states, account);
        merging.is_catalogue_changed = applied.map_err(|error| {
            self.states = crate::index_state::IndexStateCache::default();
            MergeError::Refused {
                stream,
                sequence,
                cause: error.chain(),
            }
        })?;
        let outcome = if merging.is_catalogue_changed {
            AccountOutcome::Applied
        } else {
            AccountOutcome::Stale
        };
        merging.progress.advance(stream, sequence);
        merging.records.push(record);
        self.finish_merging(&multi, merging, observer)?;
        Ok(outcome)
    }

    /// Makes records durable and then visible.
    fn finish_merging(
        &mut self,
        multi: &MultiWriteRegion,
        merging: MergeBatch<'_>,
        observer: &dyn CommitObserver,
    ) -> Result<(), MergeError> {
        let MergeBatch {
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
        // The version vector is part of the same batch as the changes, so after a crash the state
        // never counts a record whose changes it lacks.
        put_progress(&mut overlay, &progress);
        let payloads = records.iter().map(|record| {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            Bytes::from(bytes)
        });
        let payloads = payloads.collect();
        self.commit_overlay(overlay, payloads)
            .map_err(|error| self.stopped_merging(&error))?;
        // The new version vector becomes public after the batch: a reader of the vector also finds
        // the changes.
        multi.publish(progress);
        let storage = Arc::clone(&self.storage);
        observer.on_applied(&AppliedRecords::of_merged(
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
        self.enter_read_only(error);
        MergeError::ReadOnly(self.read_only_cause.clone().unwrap_or_default())
    }
}

/// The header and the changes of a stream record.
pub(crate) fn items_of(record: &StreamRecord) -> Option<(RecordHeader, Vec<KeyChange>)> {
    let RecordBody::Data(data) = &record.body else {
        return None;
    };
    let mut bytes = &data[..];
    decode_body(&mut bytes)?;
    decode_items(bytes)
}

/// Decodes a stream record into the form of this region's log.
fn decode(record: &StreamRecord, multi: &MultiWriteRegion) -> Option<MergedRecord> {
    let (StreamId::Region(origin), RecordBody::Data(data)) = (record.stream, &record.body) else {
        return None;
    };
    let (deciding_epoch, expired) = decode_body(&mut &data[..])?;
    let (header, changes) = items_of(record)?;
    Some(MergedRecord {
        lsn: Lsn(0),
        is_own: origin == multi.region,
        stream_header: StreamHeader {
            version_id: VersionId {
                origin,
                sequence: record.sequence,
            },
            epoch: record.epoch,
            deps: record.deps.clone(),
            deciding_epoch,
            expired,
        },
        header,
        changes,
    })
}
