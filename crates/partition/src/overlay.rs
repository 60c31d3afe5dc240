//! Changes that are decided but not yet in the state, readable as if they were.
//!
//! A group of transactions runs over one overlay, so that a later one sees an earlier one; a
//! transaction that fails takes its changes back to its savepoint. Index entries are many and are
//! never read here, so they are only listed. A script has an overlay of its own over a snapshot.
//! Between the state and the overlay of a group may lie what groups before it have changed that wait
//! for other regions ([`Beneath`]).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use orrery_storage::{Batch, Snapshot, Space, Storage};

use crate::Error;
use crate::beneath::Beneath;
use crate::multi::{Multi, Rows};
use crate::spaces::{DOCUMENTS, INDEX, VERSIONS};
use crate::statistics::{EntryChange, Tallies};

/// Room in a batch for rows of statistics.
const ROWS_BESIDE: usize = 8;

/// What an overlay hides.
pub(crate) enum Base<'a> {
    /// The newest state; only the committer may rely on it.
    State(&'a Storage),
    Snapshot(Arc<Snapshot>),
}

impl Base<'_> {
    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(match self {
            Base::State(storage) => storage.get(space, key)?,
            Base::Snapshot(snapshot) => snapshot.get(space, key)?,
        })
    }
}

pub(crate) struct Overlay<'a> {
    base: Base<'a>,
    pub(crate) beneath: Beneath,
    /// The document of the base that was read last: a write reads it once to decide and once more to
    /// apply what it decided.
    last_read: RefCell<Option<(Bytes, Option<Bytes>)>>,
    pending: HashMap<(Space, Bytes), Option<Bytes>>,
    /// Every change in order, with what it hid, so that it can be taken back.
    history: Vec<Step>,
    /// Index entries that come and go, in order.
    entries: Vec<EntryChange>,
    /// Logical partitions and unique entries whose holders changed while others claim the same.
    contested: Vec<(Bytes, Bytes)>,
    /// In multi-write stores: which documents may have hidden versions.
    rows: Option<Arc<Rows>>,
    /// Whether a document was changed twice, so that an entry may be listed twice.
    repeated: bool,
}

struct Step {
    place: (Space, Bytes),
    #[expect(
        clippy::option_option,
        reason = "nothing was pending, or a removal was"
    )]
    hidden: Option<Option<Bytes>>,
}

/// What an overlay has come to, without what it hides.
pub(crate) struct Decided {
    pending: HashMap<(Space, Bytes), Option<Bytes>>,
    history: Vec<Step>,
    entries: Vec<EntryChange>,
    repeated: bool,
}

/// A moment in the history of an overlay.
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
            beneath: Beneath::default(),
            last_read: RefCell::default(),
            pending: HashMap::new(),
            history: Vec::new(),
            entries: Vec::new(),
            contested: Vec::new(),
            rows: None,
            repeated: false,
        }
    }

    pub(crate) fn get(&self, space: Space, key: &Bytes) -> Result<Option<Bytes>, Error> {
        if !self.pending.is_empty()
            && let Some(value) = self.pending.get(&(space, key.clone()))
        {
            return Ok(value.clone());
        }
        if let Some(value) = self.beneath.get(space, key) {
            return Ok(value);
        }
        if space != DOCUMENTS {
            if space == VERSIONS && self.rows.as_ref().is_some_and(|rows| !rows.may_have(key)) {
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

    /// Whether changes of the index are listed: what is over a snapshot becomes no batch.
    pub(crate) fn lists_entries(&self) -> bool {
        matches!(self.base, Base::State(_))
    }

    /// The documents that changed, by key.
    pub(crate) fn pending_documents(&self) -> BTreeMap<Bytes, Option<Bytes>> {
        let documents = self.pending.iter();
        documents
            .filter(|((space, _), _)| *space == DOCUMENTS)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect()
    }

    /// The same, of a store that knows which documents may have hidden versions.
    #[must_use]
    pub(crate) fn with_rows(self, multi: Option<&Arc<Multi>>) -> Overlay<'a> {
        let rows = multi.map(|multi| Arc::clone(&multi.rows));
        Overlay { rows, ..self }
    }

    pub(crate) fn put(&mut self, space: Space, key: Bytes, value: Bytes) {
        if space == VERSIONS
            && let Some(rows) = &self.rows
        {
            rows.add(&key);
        }
        self.change(space, key, Some(value));
    }

    pub(crate) fn delete(&mut self, space: Space, key: Bytes) {
        self.change(space, key, None);
    }

    fn change(&mut self, space: Space, key: Bytes, value: Option<Bytes>) {
        let place = (space, key);
        let hidden = self.pending.insert(place.clone(), value);
        self.repeated |= space == DOCUMENTS && hidden.is_some();
        self.history.push(Step { place, hidden });
    }

    /// Adds an index entry that is not there, of a document whose place has so many bytes.
    pub(crate) fn put_entry(&mut self, key: Bytes, place_bytes: usize) {
        self.entries.push(EntryChange {
            key,
            place_bytes,
            is_put: true,
        });
    }

    /// Removes an index entry that is there.
    pub(crate) fn delete_entry(&mut self, key: Bytes, place_bytes: usize) {
        self.entries.push(EntryChange {
            key,
            place_bytes,
            is_put: false,
        });
    }

    /// Notes that somebody may have to be shown or hidden, for the end of the record.
    pub(crate) fn note_contested(&mut self, prefix: Bytes, entry: Bytes) {
        self.contested.push((prefix, entry));
    }

    pub(crate) fn take_contested(&mut self) -> Vec<(Bytes, Bytes)> {
        std::mem::take(&mut self.contested)
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint {
            history: self.history.len(),
            entries: self.entries.len(),
        }
    }

    pub(crate) fn roll_back(&mut self, to: Savepoint) {
        self.entries.truncate(to.entries);
        while self.history.len() > to.history {
            let step = self.history.pop().expect("longer than the savepoint");
            match step.hidden {
                Some(value) => self.pending.insert(step.place, value),
                None => self.pending.remove(&step.place),
            };
        }
    }

    /// The final value of every place that changed, with the statistics of the indexes that changed.
    pub(crate) fn into_batch(self, tallies: &mut Tallies) -> Result<Batch, Error> {
        let (base, _, decided) = self.into_parts();
        decided.into_batch(&base, tallies)
    }

    /// Gives back what lay beneath, and what became of the group.
    pub(crate) fn detach(self) -> (Beneath, Decided) {
        let (_, beneath, decided) = self.into_parts();
        (beneath, decided)
    }

    fn into_parts(self) -> (Base<'a>, Beneath, Decided) {
        let decided = Decided {
            pending: self.pending,
            history: self.history,
            entries: self.entries,
            repeated: self.repeated,
        };
        (self.base, self.beneath, decided)
    }
}

impl Decided {
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&(Space, Bytes), &Option<Bytes>)> {
        self.pending.iter()
    }

    /// The final value of every place that changed, in the order of first change, with the
    /// statistics of the indexes that changed.
    pub(crate) fn into_batch(
        mut self,
        base: &Base<'_>,
        tallies: &mut Tallies,
    ) -> Result<Batch, Error> {
        if self.repeated {
            keep_net_changes(&mut self.entries);
        }
        let mut batch = Batch::with_capacity(self.history.len() + self.entries.len() + ROWS_BESIDE);
        tallies.update(base, &self.entries, &mut batch)?;
        for step in self.history {
            let Some((place, value)) = self.pending.remove_entry(&step.place) else {
                continue;
            };
            match value {
                Some(value) => batch.put(place.0, place.1, value),
                None => batch.delete(place.0, place.1),
            }
        }
        self.entries.retain(|entry| !entry.is_only_counted());
        // The engine finds the places of neighbours faster.
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

/// Leaves of each entry what all its changes come to: an entry comes and goes by turns, so of an
/// even number of changes nothing is left, and of an odd number the last.
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

    use crate::spaces::{NAMES, UNIQUE};

    const A: Space = UNIQUE;

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
        let batch = overlay.into_batch(&mut Tallies::default());
        storage.write(batch.unwrap()).unwrap();
        assert_eq!(storage.get(A, b"x").unwrap().unwrap(), "1");
    }

    #[test]
    fn of_an_entry_that_comes_and_goes_the_last_counts() {
        let entry = |key: &'static str, is_put| EntryChange {
            key: key.into(),
            place_bytes: 0,
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
