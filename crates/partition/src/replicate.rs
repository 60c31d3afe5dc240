//! A store that follows another one: its committer takes records instead of transactions.
//!
//! The payloads go into its own log as they are, so that a position means the same in both: the log
//! of a follower is a beginning of the log that it follows. They are applied by the functions that
//! replay a log, share one sync and one batch, and become visible like any other group. What stands
//! above the store hears of them as a [`Witness`], because it did not bring them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::RangeId;
use orrery_regions::Sequence;
use orrery_storage::{Snapshot, Storage};

use crate::committed::CommittedRecord;
use crate::committer::Committer;
use crate::counters::counters_key;
use crate::index_state::IndexStates;
use crate::multi::{CHANGED_KEY, last_changed};
use crate::overlay::Overlay;
use crate::record::Record;
use crate::replay::{apply_record, put_applied, remove_container, removed_by};
use crate::spaces::{CATALOGUE, META};
use crate::{Counters, Error, Partition};

/// Who holds what a store counts and what its catalogue says, and must follow when records of
/// another store change it.
pub trait Witness: Send + Sync {
    /// Called on the committer's thread, when the state has the records and before anybody is told.
    fn applied(&self, applied: &Applied);
}

/// What some records have changed.
pub struct Applied {
    /// Whether the catalogue, or the cut of a container, is another one.
    pub is_catalogue_changed: bool,
    counters: BTreeMap<(u32, RangeId), Counters>,
    /// By how many bytes documents have grown, if somebody has counted that.
    grown: Option<Vec<(Bytes, i64)>>,
    state: CatalogueState,
}

/// The catalogue and the counters at one moment.
pub struct CatalogueState {
    snapshot: Snapshot,
}

/// Why records of another store were not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicationError {
    #[error("records from {first} on do not continue a log that ends at {last}")]
    Gap { last: Position, first: Position },
    #[error("the store makes records of its own and follows no other")]
    NotFollowing,
    /// It is not a record, or one of another history.
    #[error("record {position} cannot be applied: {cause}")]
    Refused { position: Position, cause: String },
    #[error("the store takes no more records after an earlier failure: {0}")]
    ReadOnly(String),
}

impl Applied {
    /// Of records of other regions.
    pub(crate) fn of_merged(
        is_catalogue_changed: bool,
        counters: BTreeMap<(u32, RangeId), Counters>,
        grown: Vec<(Bytes, i64)>,
        snapshot: Snapshot,
    ) -> Applied {
        Applied {
            is_catalogue_changed,
            counters,
            grown: Some(grown),
            state: CatalogueState::new(snapshot),
        }
    }

    pub fn state(&self) -> &CatalogueState {
        &self.state
    }

    /// The partitions that count something else now, by container and range.
    pub fn partitions(&self) -> impl Iterator<Item = (u32, RangeId)> {
        self.counters.keys().copied()
    }

    /// Lets a partition retire in favour of others.
    pub fn hand_over(&self, partition: &Partition, heirs: Vec<Arc<Partition>>) {
        if partition.is_retired() {
            return;
        }
        if self.grown.is_none() {
            // Nobody has kept the bytes of logical partitions along with these records.
            partition.crowds.clear();
        }
        partition.retire(heirs);
    }

    /// Shows in a partition what it counts now.
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

    /// In multi-write accounts: the record of the account stream that changed the catalogue last.
    pub fn account_sequence(&self) -> Result<Sequence, Error> {
        Ok(last_changed(self.snapshot.get(META, CHANGED_KEY)?))
    }

    /// What a partition counted when it was last changed.
    pub fn counters(&self, container: u32, range: RangeId) -> Result<Counters, Error> {
        let bytes = self.snapshot.get(META, &counters_key(container, range))?;
        bytes.map_or(Ok(Counters::default()), |bytes| Counters::decode(&bytes))
    }
}

/// Decoded records that share a sync, with the payloads they came as.
#[derive(Default)]
pub(crate) struct Followed {
    records: Vec<(Position, Record)>,
    payloads: Vec<Bytes>,
}

impl Followed {
    pub(crate) fn push(&mut self, position: Position, record: Record, payload: Bytes) {
        self.records.push((position, record));
        self.payloads.push(payload);
    }
}

impl Committer {
    /// Appends and applies records of another store; gives the last position there is then. Those
    /// that are already here are skipped.
    pub(crate) fn replicate(
        &mut self,
        records: Vec<CommittedRecord>,
        witness: &dyn Witness,
    ) -> Result<Position, ReplicationError> {
        if !self.is_following {
            return Err(ReplicationError::NotFollowing);
        }
        let storage = Arc::clone(&self.storage);
        let mut last = self.last();
        let mut followed = Followed::default();
        for (position, payload) in records {
            if position <= last {
                continue;
            }
            if position.0 != last.0 + 1 {
                self.take(&storage, followed, witness)?;
                return Err(ReplicationError::Gap {
                    last,
                    first: position,
                });
            }
            let record = Record::decode(&payload).map_err(|error| refused(position, &error))?;
            for container in removed_by(&record) {
                self.take(&storage, std::mem::take(&mut followed), witness)?;
                self.remove(&storage, container)?;
            }
            followed.push(position, record, payload);
            last = position;
        }
        self.take(&storage, followed, witness)?;
        Ok(self.last())
    }

    /// Makes records durable, then visible.
    fn take(
        &mut self,
        storage: &Storage,
        followed: Followed,
        witness: &dyn Witness,
    ) -> Result<(), ReplicationError> {
        self.apply_followed(storage, followed, witness, Committer::keep)
    }

    /// Makes records visible that are durable.
    pub(crate) fn apply_kept(
        &mut self,
        storage: &Storage,
        followed: Followed,
        witness: &dyn Witness,
    ) -> Result<(), ReplicationError> {
        let last = followed.records.last().map(|(last, _)| *last);
        self.apply_followed(storage, followed, witness, |committer, overlay, _| {
            last.map_or(Ok(()), |last| committer.apply_overlay(overlay, last))
        })
    }

    fn apply_followed(
        &mut self,
        storage: &Storage,
        followed: Followed,
        witness: &dyn Witness,
        write: impl FnOnce(&mut Committer, Overlay<'_>, Vec<Bytes>) -> Result<(), Error>,
    ) -> Result<(), ReplicationError> {
        let Followed { records, payloads } = followed;
        if records.is_empty() {
            return Ok(());
        }
        let mut overlay = Overlay::new(storage).with_rows(self.multi.as_ref());
        let mut counters = BTreeMap::new();
        let mut is_catalogue_changed = false;
        for (position, record) in &records {
            match apply_record(&mut overlay, &mut self.states, record) {
                Ok(counted) => counters.extend(counted),
                Err(error) => {
                    // It holds what the records before this one would have done.
                    self.states = IndexStates::default();
                    return Err(refused(*position, &error));
                }
            }
            is_catalogue_changed |= !matches!(
                record,
                Record::Items { .. } | Record::Merged(_) | Record::Note { .. }
            );
        }
        write(self, overlay, payloads).map_err(|error| self.stopped(&error))?;
        let multi = self.multi.as_ref();
        multi
            .map_or(Ok(()), |multi| multi.reload(storage))
            .map_err(|error| self.stopped(&error))?;
        witness.applied(&Applied {
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

    pub(crate) fn keep(&mut self, overlay: Overlay<'_>, payloads: Vec<Bytes>) -> Result<(), Error> {
        let last = self.append_foreign(&payloads)?;
        self.committed.keep(last, payloads);
        self.apply_overlay(overlay, last)
    }

    pub(crate) fn append_payloads(&mut self, payloads: &[Bytes]) -> Result<Position, Error> {
        let writers = payloads.iter();
        self.append(writers.map(|payload| |buffer: &mut Vec<u8>| buffer.extend_from_slice(payload)))
    }

    /// Writes what records up to `last` have changed, which are durable.
    pub(crate) fn apply_overlay(
        &mut self,
        mut overlay: Overlay<'_>,
        last: Position,
    ) -> Result<(), Error> {
        put_applied(&mut overlay, last);
        let batch = overlay.into_batch(&mut self.tallies)?;
        self.batches.write(|| self.storage.write(batch))?;
        self.committed.apply(last);
        Ok(())
    }

    /// Removes what is left of a container whose removal has ended where the records come from.
    pub(crate) fn remove(
        &mut self,
        storage: &Storage,
        container: u32,
    ) -> Result<(), ReplicationError> {
        let batches = Arc::clone(&self.batches);
        let write = |batch| Ok(batches.write(|| storage.write(batch))?);
        let removed = remove_container(storage, container, write);
        self.states.forget(container);
        self.tallies.forget(container);
        self.purged.remove(&container);
        removed.map_err(|error| self.stopped(&error))
    }

    pub(crate) fn stopped(&mut self, error: &Error) -> ReplicationError {
        self.break_down(error);
        ReplicationError::ReadOnly(self.broken.clone().unwrap_or_default())
    }
}

pub(crate) fn refused(position: Position, error: &Error) -> ReplicationError {
    ReplicationError::Refused {
        position,
        cause: error.chain(),
    }
}
