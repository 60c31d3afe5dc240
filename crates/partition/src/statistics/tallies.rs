//! Statistics as the writer keeps them.
//!
//! Only one thread writes, so what it has written is what is stored, and nothing is read twice. What
//! it keeps is bounded: when it has too many pages it forgets them all and reads again what it needs.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use orrery_index::IndexHash;
use orrery_storage::Batch;

use super::page::{Page, next_key, page_key, page_of, read_slot, slot_key, write_slot};
use super::{ENTRY_PREFIX_BYTES, EntryChange};
use crate::Error;
use crate::document_key::CONTAINER_BYTES;
use crate::overlay::Base;
use crate::spaces::STATISTICS;

/// A page has some 3 KB.
const PAGES_MAX: usize = 2_048;

/// The newest statistics of the containers that are written to.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    containers: HashMap<u32, Tally>,
}

/// Of one container.
#[derive(Debug, Default)]
struct Tally {
    slots: HashMap<IndexHash, u32>,
    pages: HashMap<u32, Page>,
    /// The slot that is given next, once it is known.
    next: Option<u32>,
    /// Indexes that got a slot in this batch.
    new: Vec<IndexHash>,
    changed: BTreeSet<u32>,
}

impl Tallies {
    /// Adds to the batch what the changes do to the statistics. The batch must be written before the
    /// next one is made; if it is not, or this fails, the tallies must not be used again.
    pub(crate) fn update(
        &mut self,
        state: &Base<'_>,
        changes: &[EntryChange],
        batch: &mut Batch,
    ) -> Result<(), Error> {
        let mut changed = BTreeSet::new();
        for change in changes {
            let Some((container, index)) = index_of(&change.key) else {
                continue;
            };
            let tally = self.containers.entry(container).or_default();
            let slot = tally.slot(state, container, index)?;
            let page = tally.page(state, container, page_of(slot))?;
            let statistics = page.statistics(slot, index);
            let end = change.key.len() - change.place_bytes;
            let value = &change.key[ENTRY_PREFIX_BYTES..end];
            if change.is_put {
                statistics.add(value);
            } else {
                statistics.remove(value);
            }
            if tally.changed.insert(page_of(slot)) {
                changed.insert(container);
            }
        }
        for container in changed {
            if let Some(tally) = self.containers.get_mut(&container) {
                tally.write(container, batch);
            }
        }
        let pages = self.containers.values().map(|tally| 1 + tally.pages.len());
        if pages.sum::<usize>() > PAGES_MAX {
            self.containers.clear();
        }
        Ok(())
    }

    /// Forgets what is known of a container whose rows were changed by somebody else.
    pub(crate) fn forget(&mut self, container: u32) {
        self.containers.remove(&container);
    }
}

impl Tally {
    fn slot(&mut self, state: &Base<'_>, container: u32, index: IndexHash) -> Result<u32, Error> {
        if let Some(slot) = self.slots.get(&index) {
            return Ok(*slot);
        }
        let slot = match state.get(STATISTICS, &slot_key(container, index))? {
            Some(row) => read_slot(&row)?,
            None => {
                let next = match self.next {
                    Some(next) => next,
                    None => match state.get(STATISTICS, &next_key(container))? {
                        Some(row) => read_slot(&row)?,
                        None => 0,
                    },
                };
                self.next = Some(next + 1);
                self.new.push(index);
                next
            }
        };
        self.slots.insert(index, slot);
        Ok(slot)
    }

    fn page(&mut self, state: &Base<'_>, container: u32, page: u32) -> Result<&mut Page, Error> {
        if !self.pages.contains_key(&page) {
            let row = state.get(STATISTICS, &page_key(container, page))?;
            let read = row.map_or(Ok(Page::default()), |row| Page::decode(&row))?;
            self.slots.extend(read.indexes(page));
            self.pages.insert(page, read);
        }
        Ok(self.pages.entry(page).or_default())
    }

    fn write(&mut self, container: u32, batch: &mut Batch) {
        for number in std::mem::take(&mut self.changed) {
            let Some(page) = self.pages.get_mut(&number) else {
                continue;
            };
            for index in page.release() {
                self.slots.remove(&index);
                let key = slot_key(container, index);
                batch.delete(STATISTICS, Bytes::copy_from_slice(&key));
            }
            let key = Bytes::copy_from_slice(&page_key(container, number));
            match page.encode() {
                Some(row) => batch.put(STATISTICS, key, row),
                None => {
                    self.pages.remove(&number);
                    batch.delete(STATISTICS, key);
                }
            }
        }
        if self.new.is_empty() {
            return;
        }
        for index in std::mem::take(&mut self.new) {
            if let Some(slot) = self.slots.get(&index) {
                let key = Bytes::copy_from_slice(&slot_key(container, index));
                batch.put(STATISTICS, key, write_slot(*slot));
            }
        }
        if let Some(next) = self.next {
            let key = Bytes::copy_from_slice(&next_key(container));
            batch.put(STATISTICS, key, write_slot(next));
        }
    }
}

/// The container and the index of an entry.
fn index_of(entry: &[u8]) -> Option<(u32, IndexHash)> {
    let (container, rest) = entry.split_first_chunk::<CONTAINER_BYTES>()?;
    let index = IndexHash(u64::from_be_bytes(*rest.first_chunk()?));
    Some((u32::from_be_bytes(*container), index))
}

#[cfg(test)]
mod tests {
    use orrery_storage::Storage;

    use super::super::{PagesRead, entry_prefix};
    use super::*;
    use crate::spaces::NAMES;

    fn change(container: u32, index: u64, value: u8, is_put: bool) -> EntryChange {
        let prefix = entry_prefix(container, IndexHash(index));
        EntryChange {
            key: [&prefix[..], &[value]].concat().into(),
            place_bytes: 0,
            is_put,
        }
    }

    fn apply(storage: &Storage, tallies: &mut Tallies, changes: &[EntryChange]) {
        let mut batch = Batch::default();
        tallies
            .update(&Base::State(storage), changes, &mut batch)
            .unwrap();
        storage.write(batch).unwrap();
    }

    fn count(storage: &Storage, container: u32, index: u64) -> u64 {
        let mut pages = PagesRead::default();
        let read = pages.of_index(&storage.snapshot(), container, IndexHash(index));
        read.unwrap().entries
    }

    fn rows(storage: &Storage) -> usize {
        storage.snapshot().range(STATISTICS, &[], None).count()
    }

    #[test]
    fn what_is_kept_and_what_is_read_again_are_the_same() {
        let (kept, forgotten) = (Storage::in_memory(&NAMES), Storage::in_memory(&NAMES));
        let mut tallies = Tallies::default();
        let steps: Vec<Vec<EntryChange>> = (0..50_u64)
            .map(|step| {
                let puts = (0..40).map(|index| change(1, index * (1 + step % 3), 7, true));
                let removal = (step > 0).then(|| change(1, 0, 7, false));
                puts.chain([change(2, step, 1, true)])
                    .chain(removal)
                    .collect()
            })
            .collect();
        for changes in &steps {
            apply(&kept, &mut tallies, changes);
            apply(&forgotten, &mut Tallies::default(), changes);
        }
        let all = |storage: &Storage| -> Vec<_> {
            let rows = storage.snapshot().range(STATISTICS, &[], None);
            rows.map(Result::unwrap).collect()
        };
        assert_eq!(all(&kept), all(&forgotten));
        assert_eq!(count(&kept, 1, 0), 1);
        assert_eq!(count(&kept, 1, 1), 17);
        assert_eq!(count(&kept, 1, 6), 50);
        assert_eq!(count(&kept, 2, 49), 1);
        assert_eq!(count(&kept, 2, 50), 0);
    }

    #[test]
    fn indexes_without_entries_leave_no_rows_but_the_next_slot() {
        let storage = Storage::in_memory(&NAMES);
        let mut tallies = Tallies::default();
        let all = |is_put| {
            (0..100)
                .map(|index| change(1, index, 1, is_put))
                .collect::<Vec<_>>()
        };
        apply(&storage, &mut tallies, &all(true));
        assert_eq!(rows(&storage), 100 + 4 + 1);
        apply(&storage, &mut tallies, &all(false));
        assert_eq!(rows(&storage), 1);
        apply(&storage, &mut tallies, &[change(1, 5, 1, true)]);
        assert_eq!(count(&storage, 1, 5), 1);
        let slot = storage.get(STATISTICS, &slot_key(1, IndexHash(5))).unwrap();
        assert_eq!(read_slot(&slot.unwrap()).unwrap(), 100);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let storage = Storage::in_memory(&NAMES);
        let mut tallies = Tallies::default();
        for container in 0..3_000 {
            apply(&storage, &mut tallies, &[change(container, 1, 1, true)]);
            assert!(tallies.containers.len() <= PAGES_MAX);
        }
        apply(&storage, &mut tallies, &[change(0, 1, 2, true)]);
        assert_eq!(count(&storage, 0, 1), 2);
    }
}
