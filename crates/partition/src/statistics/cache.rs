//! The committer's cache of index statistics.
//!
//! Only one thread writes, so the cache always equals the stored rows and reads no row twice. The
//! cache is bounded: when it has too many pages, it is cleared and reads the needed pages again.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use orrery_index::IndexHash;
use orrery_storage::Batch;

use super::page::{StatisticsPage, next_key, page_key, page_of, read_slot, slot_key, write_slot};
use super::{ENTRY_PREFIX_BYTES, EntryChange};
use crate::Error;
use crate::document_key::CONTAINER_BYTES;
use crate::keyspaces::STATISTICS;
use crate::overlay::Base;

/// Maximum number of cached pages. A page has about 3 KB.
const PAGES_MAX: usize = 2_048;

/// The newest statistics of the containers that are written to.
#[derive(Debug, Default)]
pub(crate) struct StatisticsCache {
    containers: HashMap<u32, ContainerStatistics>,
}

/// The cached statistics of one container.
#[derive(Debug, Default)]
struct ContainerStatistics {
    slots: HashMap<IndexHash, u32>,
    pages: HashMap<u32, StatisticsPage>,
    /// The next free slot, once it has been read.
    next: Option<u32>,
    /// Indexes that received a slot in this batch.
    new: Vec<IndexHash>,
    changed: BTreeSet<u32>,
}

impl StatisticsCache {
    /// Adds the changed statistics to the batch. The batch must be written before the next call; if
    /// this call or the write fails, the cache must not be used again.
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
            let cached = self.containers.entry(container).or_default();
            let slot = cached.slot(state, container, index)?;
            let page = cached.page(state, container, page_of(slot))?;
            let statistics = page.statistics(slot, index);
            let end = change.key.len() - change.key_position_bytes;
            let value = &change.key[ENTRY_PREFIX_BYTES..end];
            if change.is_put {
                statistics.add(value);
            } else {
                statistics.remove(value);
            }
            if cached.changed.insert(page_of(slot)) {
                changed.insert(container);
            }
        }
        for container in changed {
            if let Some(cached) = self.containers.get_mut(&container) {
                cached.write(container, batch);
            }
        }
        let pages = self
            .containers
            .values()
            .map(|cached| 1 + cached.pages.len());
        if pages.sum::<usize>() > PAGES_MAX {
            self.containers.clear();
        }
        Ok(())
    }

    /// Drops the cached statistics of a container whose rows were changed outside this cache.
    pub(crate) fn forget(&mut self, container: u32) {
        self.containers.remove(&container);
    }
}

impl ContainerStatistics {
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

    fn page(
        &mut self,
        state: &Base<'_>,
        container: u32,
        page: u32,
    ) -> Result<&mut StatisticsPage, Error> {
        if !self.pages.contains_key(&page) {
            let row = state.get(STATISTICS, &page_key(container, page))?;
            let read = row.map_or(Ok(StatisticsPage::default()), |row| {
                StatisticsPage::decode(&row)
            })?;
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

/// The container and the index of an index entry.
fn index_of(entry: &[u8]) -> Option<(u32, IndexHash)> {
    let (container, rest) = entry.split_first_chunk::<CONTAINER_BYTES>()?;
    let index = IndexHash(u64::from_be_bytes(*rest.first_chunk()?));
    Some((u32::from_be_bytes(*container), index))
}

#[cfg(test)]
mod tests {
    use orrery_storage::Storage;

    use super::super::{StatisticsReader, entry_prefix};
    use super::*;
    use crate::keyspaces::NAMES;

    fn change(container: u32, index: u64, value: u8, is_put: bool) -> EntryChange {
        let prefix = entry_prefix(container, IndexHash(index));
        EntryChange {
            key: [&prefix[..], &[value]].concat().into(),
            key_position_bytes: 0,
            is_put,
        }
    }

    fn apply(storage: &Storage, statistics: &mut StatisticsCache, changes: &[EntryChange]) {
        let mut batch = Batch::default();
        statistics
            .update(&Base::State(storage), changes, &mut batch)
            .unwrap();
        storage.write(batch).unwrap();
    }

    fn count(storage: &Storage, container: u32, index: u64) -> u64 {
        let mut pages = StatisticsReader::default();
        let read = pages.of_index(&storage.snapshot(), container, IndexHash(index));
        read.unwrap().entries
    }

    fn rows(storage: &Storage) -> usize {
        storage.snapshot().range(STATISTICS, &[], None).count()
    }

    #[test]
    fn cached_and_reread_statistics_agree() {
        let (kept, forgotten) = (Storage::in_memory(&NAMES), Storage::in_memory(&NAMES));
        let mut statistics = StatisticsCache::default();
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
            apply(&kept, &mut statistics, changes);
            apply(&forgotten, &mut StatisticsCache::default(), changes);
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
        let mut statistics = StatisticsCache::default();
        let all = |is_put| {
            (0..100)
                .map(|index| change(1, index, 1, is_put))
                .collect::<Vec<_>>()
        };
        apply(&storage, &mut statistics, &all(true));
        assert_eq!(rows(&storage), 100 + 4 + 1);
        apply(&storage, &mut statistics, &all(false));
        assert_eq!(rows(&storage), 1);
        apply(&storage, &mut statistics, &[change(1, 5, 1, true)]);
        assert_eq!(count(&storage, 1, 5), 1);
        let slot = storage.get(STATISTICS, &slot_key(1, IndexHash(5))).unwrap();
        assert_eq!(read_slot(&slot.unwrap()).unwrap(), 100);
    }

    #[test]
    fn the_cache_is_bounded() {
        let storage = Storage::in_memory(&NAMES);
        let mut statistics = StatisticsCache::default();
        for container in 0..3_000 {
            apply(&storage, &mut statistics, &[change(container, 1, 1, true)]);
            assert!(statistics.containers.len() <= PAGES_MAX);
        }
        apply(&storage, &mut statistics, &[change(0, 1, 2, true)]);
        assert_eq!(count(&storage, 0, 1), 2);
    }
}
