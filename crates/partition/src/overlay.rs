//! The overlay: changes that are decided but not yet in the state, readable like the state.
//!
//! A group of transactions runs over one overlay, so that a later transaction sees the changes of
//! an earlier one. A failed transaction rolls back to its savepoint. Index entries are numerous and
//! never read through the overlay, so they are only listed. A script has its own overlay over a
//! snapshot. Between the state and the overlay of a group are the changes of earlier groups that
//! wait for other regions ([`InFlightOverlay`]).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use orrery_storage::{Batch, KeyspaceId, Snapshot, Storage};

use crate::Error;
use crate::in_flight_overlay::InFlightOverlay;
use crate::keyspaces::{DOCUMENTS, INDEX, VERSIONS};
use crate::multi_write::{MultiWriteRegion, VersionsFilter};
use crate::statistics::{EntryChange, StatisticsCache};

/// Extra capacity of a batch for statistics rows.
const ROWS_BESIDE: usize = 8;

/// The state below an overlay.
pub(crate) enum Base<'a> {
    /// The newest state. Only the committer may use it, because only the committer changes it.
    State(&'a Storage),
    Snapshot(Arc<Snapshot>),
}

impl Base<'_> {
    pub(crate) fn get(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(match self {
            Base::State(storage) => storage.get(space, key)?,
            Base::Snapshot(snapshot) => snapshot.get(space, key)?,
        })
    }
}

pub(crate) struct Overlay<'a> {
    base: Base<'a>,
    pub(crate) in_flight: InFlightOverlay,
    /// The last document read from the base: a write reads it once to decide and again to apply the
    /// decision.
    last_read: RefCell<Option<(Bytes, Option<Bytes>)>>,
    pending: HashMap<(KeyspaceId, Bytes), Option<Bytes>>,
    /// Every change in order, with the value that it replaced, for rollback.
    undo_log: Vec<UndoEntry>,
    /// Added and removed index entries, in order.
    entries: Vec<EntryChange>,
    /// Logical partitions and unique entries whose holder changed while other documents claim the
    /// value.
    contested: Vec<(Bytes, Bytes)>,
    /// In multi-write stores: the documents that may have hidden versions.
    versions_filter: Option<Arc<VersionsFilter>>,
    /// Whether a document changed twice, so that an index entry may be listed twice.
    repeated: bool,
}

struct UndoEntry {
    key: (KeyspaceId, Bytes),
    #[expect(
        clippy::option_option,
        reason = "nothing was pending, or a removal was"
    )]
    hidden: Option<Option<Bytes>>,
}

/// The changes of an overlay, detached from its base.
pub(crate) struct OverlayChanges {
    pending: HashMap<(KeyspaceId, Bytes), Option<Bytes>>,
    undo_log: Vec<UndoEntry>,
    entries: Vec<EntryChange>,
    repeated: bool,
}

/// A position in the change log of an overlay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Savepoint {
    history: usize,
    entries: usize,
}

impl<'a> Overlay<'a> {
    pub(crate) fn new(storage: &'a Storage) -> Overlay<'a> {
        Overlay::over(Base::State(storage))
    }

    pub(crate) fn over(base: Base<'a>) -> Overlay<'a> {
        Overlay {
            base,
            in_flight: InFlightOverlay::default(),
            last_read: RefCell::default(),
            pending: HashMap::new(),
            undo_log: Vec::new(),
            entries: Vec::new(),
            contested: Vec::new(),
            versions_filter: None,
            repeated: false,
        }
    }

    pub(crate) fn get(&self, space: KeyspaceId, key: &Bytes) -> Result<Option<Bytes>, Error> {
        if !self.pending.is_empty()
            && let Some(value) = self.pending.get(&(space, key.clone()))
        {
            return Ok(value.clone());
        }
        if let Some(value) = self.in_flight.get(space, key) {
            return Ok(value);
        }
        if space != DOCUMENTS {
            if space == VERSIONS
                && self
                    .versions_filter
                    .as_ref()
                    .is_some_and(|rows| !rows.may_have(key))
            {
                return Ok(None);
            }
            return self.base.get(space, key);
        }
        let mut last = self.last_read.borrow_mut();
        if let Some((at, value)) = &*last
            && at == key
        {
            return Ok(value.clone());
        }
        let value = self.base.get(space, key)?;
        *last = Some((key.clone(), value.clone()));
        Ok(value)
    }

    /// Whether index changes are listed. An overlay over a snapshot never becomes a batch and lists
    /// none.
    pub(crate) fn lists_entries(&self) -> bool {
        matches!(self.base, Base::State(_))
    }

    /// The changed documents, by key.
    pub(crate) fn pending_documents(&self) -> BTreeMap<Bytes, Option<Bytes>> {
        let documents = self.pending.iter();
        documents
            .filter(|((space, _), _)| *space == DOCUMENTS)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect()
    }

    /// The same overlay with the filter of hidden versions.
    #[must_use]
    pub(crate) fn with_versions_filter(self, multi: Option<&Arc<MultiWriteRegion>>) -> Overlay<'a> {
        let rows = multi.map(|multi| Arc::clone(&multi.versions_filter));
        Overlay {
            versions_filter: rows,
            ..self
        }
    }

    pub(crate) fn put(&mut self, space: KeyspaceId, key: Bytes, value: Bytes) {
        // The filter learns of the row before the row exists, so that no reader of the filter
        // misses it. A rollback leaves a superfluous document in the filter, which is harmless.
        if space == VERSIONS
            && let Some(rows) = &self.versions_filter
        {
            rows.add(&key);
        }
        self.change(space, key, Some(value));
    }

    pub(crate) fn delete(&mut self, space: KeyspaceId, key: Bytes) {
        self.change(space, key, None);
    }

    fn change(&mut self, space: KeyspaceId, key: Bytes, value: Option<Bytes>) {
        let row_key = (space, key);
        let hidden = self.pending.insert(row_key.clone(), value);
        self.repeated |= space == DOCUMENTS && hidden.is_some();
        self.undo_log.push(UndoEntry {
            key: row_key,
            hidden,
        });
    }

    /// Adds an index entry. `key_position_bytes` is the length of the document's key position at its
    /// end.
    pub(crate) fn put_entry(&mut self, key: Bytes, key_position_bytes: usize) {
        self.entries.push(EntryChange {
            key,
            key_position_bytes,
            is_put: true,
        });
    }

    /// Removes an existing index entry.
    pub(crate) fn delete_entry(&mut self, key: Bytes, key_position_bytes: usize) {
        self.entries.push(EntryChange {
            key,
            key_position_bytes,
            is_put: false,
        });
    }

    /// Notes a unique value for which the end of the record has to decide which document is
    /// visible.
    pub(crate) fn note_contested(&mut self, prefix: Bytes, entry: Bytes) {
        self.contested.push((prefix, entry));
    }

    pub(crate) fn take_contested(&mut self) -> Vec<(Bytes, Bytes)> {
        std::mem::take(&mut self.contested)
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            history: self.undo_log.len(),
            entries: self.entries.len(),
        }
    }

    pub(crate) fn roll_back(&mut self, to: Savepoint) {
        self.entries.truncate(to.entries);
        while self.undo_log.len() > to.history {
            let step = self.undo_log.pop().expect("longer than the savepoint");
            match step.hidden {
                Some(value) => self.pending.insert(step.key, value),
                None => self.pending.remove(&step.key),
            };
        }
    }

    /// The final value of every changed row, with the statistics of the changed indexes.
    pub(crate) fn into_batch(self, statistics: &mut StatisticsCache) -> Result<Batch, Error> {
        let (base, _, changes) = self.into_parts();
        changes.into_batch(&base, statistics)
    }

    /// Splits the overlay into the in-flight changes below it and the changes of the group.
    pub(crate) fn detach(self) -> (InFlightOverlay, OverlayChanges) {
        let (_, in_flight, changes) = self.into_parts();
        (in_flight, changes)
    }

    fn into_parts(self) -> (Base<'a>, InFlightOverlay, OverlayChanges) {
        let changes = OverlayChanges {
            pending: self.pending,
            undo_log: self.undo_log,
            entries: self.entries,
            repeated: self.repeated,
        };
        (self.base, self.in_flight, changes)
    }
}

impl OverlayChanges {
    /// Adds a row that no operation has read or changed.
    pub(crate) fn put(&mut self, space: KeyspaceId, key: Bytes, value: Bytes) {
        let key = (space, key);
        let hidden = self.pending.insert(key.clone(), Some(value));
        self.undo_log.push(UndoEntry { key, hidden });
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&(KeyspaceId, Bytes), &Option<Bytes>)> {
        self.pending.iter()
    }

    /// The final value of every changed row, in the order of first change, with the statistics of
    /// the changed indexes.
    pub(crate) fn into_batch(
        mut self,
        base: &Base<'_>,
        statistics: &mut StatisticsCache,
    ) -> Result<Batch, Error> {
        if self.repeated {
            keep_net_changes(&mut self.entries);
        }
        let mut batch =
            Batch::with_capacity(self.undo_log.len() + self.entries.len() + ROWS_BESIDE);
        statistics.update(base, &self.entries, &mut batch)?;
        for step in self.undo_log {
            let Some(((space, key), value)) = self.pending.remove_entry(&step.key) else {
                continue;
            };
            match value {
                Some(value) => batch.put(space, key, value),
                None => batch.delete(space, key),
            }
        }
        self.entries.retain(|entry| !entry.is_only_counted());
        // Sorted neighbours are faster for the storage engine.
        self.entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        for entry in self.entries {
            if entry.is_put {
                batch.put(INDEX, entry.key, Bytes::new());
            } else {
                batch.delete(INDEX, entry.key);
            }
        }
        Ok(batch)
    }
}

/// Reduces the list to net changes: additions and removals of one entry alternate, so an even
/// number of changes cancels out, and of an odd number the last one remains.
fn keep_net_changes(entries: &mut Vec<EntryChange>) {
    let mut counts: HashMap<Bytes, (usize, usize)> = HashMap::with_capacity(entries.len());
    for entry in entries.iter() {
        counts.entry(entry.key.clone()).or_default().0 += 1;
    }
    entries.retain(|entry| {
        counts.get_mut(&entry.key).is_some_and(|(all, seen)| {
            *seen += 1;
            *all % 2 == 1 && all == seen
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::keyspaces::{NAMES, UNIQUE};

    const A: KeyspaceId = UNIQUE;

    #[test]
    fn changes_are_read_and_taken_back() {
        let storage = Storage::in_memory(&NAMES);
        let mut seed = Batch::default();
        seed.put(A, "x", "0");
        storage.write(seed).unwrap();

        let mut overlay = Overlay::new(&storage);
        let read = |overlay: &Overlay<'_>, key: &'static str| {
            overlay
                .get(A, &Bytes::from(key))
                .unwrap()
                .map(|value| value.to_vec())
        };
        overlay.put(A, "x".into(), "1".into());
        let savepoint = overlay.savepoint();
        overlay.delete(A, "x".into());
        overlay.put(A, "y".into(), "2".into());
        assert_eq!(
            (read(&overlay, "x"), read(&overlay, "y")),
            (None, Some(b"2".to_vec()))
        );
        overlay.roll_back(savepoint);
        assert_eq!(
            (read(&overlay, "x"), read(&overlay, "y")),
            (Some(b"1".to_vec()), None)
        );
        let batch = overlay.into_batch(&mut StatisticsCache::default());
        storage.write(batch.unwrap()).unwrap();
        assert_eq!(storage.get(A, b"x").unwrap().unwrap(), "1");
    }

    #[test]
    fn only_the_net_change_of_an_index_entry_is_written() {
        let entry = |key: &'static str, is_put| EntryChange {
            key: key.into(),
            key_position_bytes: 0,
            is_put,
        };
        let mut entries = vec![
            entry("a", true),
            entry("b", false),
            entry("a", false),
            entry("c", true),
            entry("b", true),
            entry("c", false),
            entry("c", true),
        ];
        keep_net_changes(&mut entries);
        let left: Vec<_> = entries
            .iter()
            .map(|entry| (&entry.key[..], entry.is_put))
            .collect();
        assert_eq!(left, [(&b"c"[..], true)]);
    }
}
