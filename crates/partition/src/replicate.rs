//! A following store: its committer appends records of another store and decides no transactions.
//!
//! The follower appends the payloads unchanged, so a position names the same record in both logs:
//! the log of a follower is a prefix of the log of its leader. The replay functions apply the
//! records. Records that arrive together share one sync and one batch. The engine above the store
//! did not decide these records, so a [`CommitObserver`] reports their changes to the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::RangeId;
use orrery_regions::Sequence;
use orrery_storage::{Snapshot, Storage};

use crate::committer::Committer;
use crate::counters::counters_key;
use crate::index_state::IndexStateCache;
use crate::keyspaces::{CATALOGUE, META};
use crate::log_tail::LogRecord;
use crate::multi_write::{CHANGED_KEY, last_changed};
use crate::overlay::Overlay;
use crate::record::Record;
use crate::replay::{apply_record, put_applied, remove_container, removed_by};
use crate::{Counters, Error, Partition};

/// The owner of the counters and the catalogue in memory. The owner updates both after replicated
/// records have changed the state.
pub trait CommitObserver: Send + Sync {
    /// The commit thread calls this after it has applied the records and before it sends any reply.
    /// So a caller that gets the reply finds the new counters and the new catalogue.
    fn on_applied(&self, applied: &AppliedRecords);
}

/// The changes of a batch of replicated records.
pub struct AppliedRecords {
    /// Whether the records changed the catalogue or split or merged partitions of a container.
    pub is_catalogue_changed: bool,
    counters: BTreeMap<(u32, RangeId), Counters>,
    /// The growth in bytes by document key. `None` after a replay of whole records, which does not
    /// measure the growth.
    grown: Option<Vec<(Bytes, i64)>>,
    state: CatalogueState,
}

/// A snapshot of the catalogue and the counters.
pub struct CatalogueState {
    snapshot: Snapshot,
}

/// The reasons for which a store rejects records of another store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicationError {
    #[error("records from {first} on do not continue a log that ends at {last}")]
    Gap { last: Position, first: Position },
    #[error("the store makes records of its own and follows no other")]
    NotFollowing,
    /// The payload does not decode, or the record contradicts the state, as after a different history.
    #[error("record {position} cannot be applied: {cause}")]
    Refused { position: Position, cause: String },
    #[error("the store takes no more records after an earlier failure: {0}")]
    ReadOnly(String),
}

impl AppliedRecords {
    /// The changes of merged records of other regions.
    pub(crate) fn of_merged(
        is_catalogue_changed: bool,
        counters: BTreeMap<(u32, RangeId), Counters>,
        grown: Vec<(Bytes, i64)>,
        snapshot: Snapshot,
    ) -> AppliedRecords {
        AppliedRecords {
            is_catalogue_changed,
            counters,
            grown: Some(grown),
            state: CatalogueState::new(snapshot),
        }
    }

    pub fn state(&self) -> &CatalogueState {
        &self.state
    }

    /// The partitions with changed counters, by container and range.
    pub fn partitions(&self) -> impl Iterator<Item = (u32, RangeId)> {
        self.counters.keys().copied()
    }

    /// Marks a partition as superseded by its child partitions.
    pub fn supersede(&self, partition: &Partition, children: Vec<Arc<Partition>>) {
        if partition.is_superseded() {
            return;
        }
        if self.grown.is_none() {
            // The replay of these records has not updated the byte counts of oversized partitions, so
            // the counts are wrong and the children must not inherit them.
            partition.oversized.clear();
        }
        partition.supersede(children);
    }

    /// Publishes the changed counters of a partition to readers.
    pub fn publish(&self, container: u32, partition: &Partition) {
        if let Some(counters) = self.counters.get(&(container, partition.id)) {
            match &self.grown {
                None => partition.publish_followed(*counters),
                Some(grown) => partition.publish_merged(*counters, grown),
            }
        }
    }
}

impl CatalogueState {
    pub(crate) fn new(snapshot: Snapshot) -> CatalogueState {
        CatalogueState { snapshot }
    }

    /// Every entry of the catalogue whose key begins with `prefix`, in key order.
    pub fn catalogue(&self, prefix: u8) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let (from, to) = ([prefix], prefix.checked_add(1).map(|end| [end]));
        let to = to.as_ref().map(|to| &to[..]);
        let entries = self.snapshot.range(CATALOGUE, &from, to);
        entries.map(|entry| Ok(entry?)).collect()
    }

    /// The sequence of the last account record that changed the catalogue, in multi-write accounts.
    pub fn account_sequence(&self) -> Result<Sequence, Error> {
        Ok(last_changed(self.snapshot.get(META, CHANGED_KEY)?))
    }

    /// The counters of a partition in this snapshot.
    pub fn counters(&self, container: u32, range: RangeId) -> Result<Counters, Error> {
        let bytes = self.snapshot.get(META, &counters_key(container, range))?;
        bytes.map_or(Ok(Counters::default()), |bytes| Counters::decode(&bytes))
    }
}

/// Decoded records that share a sync, with their payloads.
#[derive(Default)]
pub(crate) struct ReplicatedBatch {
    records: Vec<(Position, Record)>,
    payloads: Vec<Bytes>,
}

impl ReplicatedBatch {
    pub(crate) fn push(&mut self, position: Position, record: Record, payload: Bytes) {
        self.records.push((position, record));
        self.payloads.push(payload);
    }
}

impl Committer {
    /// Appends and applies records of another store and returns the last position afterwards. Records
    /// at or below the present last position are skipped, because a leader repeats records after a
    /// lost reply.
    pub(crate) fn append_and_apply(
        &mut self,
        records: Vec<LogRecord>,
        observer: &dyn CommitObserver,
    ) -> Result<Position, ReplicationError> {
        if !self.is_following {
            return Err(ReplicationError::NotFollowing);
        }
        let storage = Arc::clone(&self.storage);
        let mut last = self.last();
        let mut followed = ReplicatedBatch::default();
        for (position, payload) in records {
            if position <= last {
                continue;
            }
            if position.0 != last.0 + 1 {
                // The records before the gap are valid, so the follower keeps them.
                self.commit_batch(&storage, followed, observer)?;
                return Err(ReplicationError::Gap {
                    last,
                    first: position,
                });
            }
            let record = Record::decode(&payload).map_err(|error| refused(position, &error))?;
            // The record ends the purge of a container. The removal of the remaining rows changes the
            // state directly, so the records before it are applied first.
            for container in removed_by(&record) {
                self.commit_batch(&storage, std::mem::take(&mut followed), observer)?;
                self.remove(&storage, container)?;
            }
            followed.push(position, record, payload);
            last = position;
        }
        self.commit_batch(&storage, followed, observer)?;
        Ok(self.last())
    }

    /// Appends records to the log and applies them to the state.
    fn commit_batch(
        &mut self,
        storage: &Storage,
        followed: ReplicatedBatch,
        observer: &dyn CommitObserver,
    ) -> Result<(), ReplicationError> {
        self.apply_batch(storage, followed, observer, Committer::commit_overlay)
    }

    /// Applies records that are durable in the log already.
    pub(crate) fn apply_durable(
        &mut self,
        storage: &Storage,
        followed: ReplicatedBatch,
        observer: &dyn CommitObserver,
    ) -> Result<(), ReplicationError> {
        let last = followed.records.last().map(|(last, _)| *last);
        self.apply_batch(storage, followed, observer, |committer, overlay, _| {
            last.map_or(Ok(()), |last| committer.apply_overlay(overlay, last))
        })
    }

    fn apply_batch(
        &mut self,
        storage: &Storage,
        followed: ReplicatedBatch,
        observer: &dyn CommitObserver,
        write: impl FnOnce(&mut Committer, Overlay<'_>, Vec<Bytes>) -> Result<(), Error>,
    ) -> Result<(), ReplicationError> {
        let ReplicatedBatch { records, payloads } = followed;
        if records.is_empty() {
            return Ok(());
        }
        let mut overlay = Overlay::new(storage).with_versions_filter(self.multi.as_ref());
        let mut counters = BTreeMap::new();
        let mut is_catalogue_changed = false;
        for (position, record) in &records {
            match apply_record(&mut overlay, &mut self.states, record) {
                Ok(counted) => counters.extend(counted),
                Err(error) => {
                    // The cache contains the effects of earlier records of this batch, which the
                    // error discards.
                    self.states = IndexStateCache::default();
                    return Err(refused(*position, &error));
                }
            }
            is_catalogue_changed |= !matches!(
                record,
                Record::Items { .. } | Record::Merged(_) | Record::Note { .. }
            );
        }
        // The order matters: log, state, version vector, then observer and watches. An observer that
        // runs earlier would publish counters that the state does not have.
        write(self, overlay, payloads).map_err(|error| self.stopped(&error))?;
        let multi = self.multi.as_ref();
        multi
            .map_or(Ok(()), |multi| multi.reload(storage))
            .map_err(|error| self.stopped(&error))?;
        observer.on_applied(&AppliedRecords {
            is_catalogue_changed,
            counters,
            grown: None,
            state: CatalogueState::new(storage.snapshot()),
        });
        for (_, record) in &records {
            self.watches.mark(record.item_changes());
        }
        self.ask_for_checkpoint();
        Ok(())
    }

    /// Appends payloads to the log and writes the overlay to the state.
    pub(crate) fn commit_overlay(
        &mut self,
        overlay: Overlay<'_>,
        payloads: Vec<Bytes>,
    ) -> Result<(), Error> {
        let last = self.append_copies(&payloads)?;
        self.log_tail.append(last, payloads);
        self.apply_overlay(overlay, last)
    }

    /// Writes the changes of the durable records up to `last` to the state.
    pub(crate) fn apply_overlay(
        &mut self,
        mut overlay: Overlay<'_>,
        last: Position,
    ) -> Result<(), Error> {
        put_applied(&mut overlay, last);
        let batch = overlay.into_batch(&mut self.statistics)?;
        self.batches.write(|| self.storage.write(batch))?;
        self.log_tail.apply(last);
        Ok(())
    }

    /// Removes the remaining rows of a container. The leader has finished its purge of this container,
    /// and a purge writes no records that a follower could apply.
    pub(crate) fn remove(
        &mut self,
        storage: &Storage,
        container: u32,
    ) -> Result<(), ReplicationError> {
        let batches = Arc::clone(&self.batches);
        let write = |batch| Ok(batches.write(|| storage.write(batch))?);
        let removed = remove_container(storage, container, write);
        self.states.forget(container);
        self.statistics.forget(container);
        self.purge_cursors.remove(&container);
        removed.map_err(|error| self.stopped(&error))
    }

    /// Makes the store read-only after a failed append or batch, and returns the error for the leader.
    pub(crate) fn stopped(&mut self, error: &Error) -> ReplicationError {
        self.enter_read_only(error);
        ReplicationError::ReadOnly(self.read_only_cause.clone().unwrap_or_default())
    }
}

pub(crate) fn refused(position: Position, error: &Error) -> ReplicationError {
    ReplicationError::Refused {
        position,
        cause: error.chain(),
    }
}
