//! Statistics for readers: a few indexes from one snapshot.

use bytes::Bytes;
use orrery_index::{IndexHash, PathStatistics};
use orrery_storage::Snapshot;

use super::page::{Slots, page_key, page_of, read_slot, slot_key};
use crate::Error;
use crate::keyspaces::STATISTICS;

/// The pages of a container that a reader has loaded from one snapshot.
#[derive(Debug, Default)]
pub(crate) struct StatisticsReader {
    pages: Vec<(u32, Option<Bytes>)>,
}

impl StatisticsReader {
    /// The statistics of one index of the container.
    pub(crate) fn of_index(
        &mut self,
        snapshot: &Snapshot,
        container: u32,
        index: IndexHash,
    ) -> Result<PathStatistics, Error> {
        // Most indexes are on the first page, whose key is known without a lookup of the slot.
        if let Some(found) = self.find(snapshot, container, 0, index)? {
            return Ok(found);
        }
        let Some(slot) = snapshot.get(STATISTICS, &slot_key(container, index))? else {
            return Ok(PathStatistics::default());
        };
        let page = page_of(read_slot(&slot)?);
        let found = self.find(snapshot, container, page, index)?;
        Ok(found.unwrap_or_default())
    }

    fn find(
        &mut self,
        snapshot: &Snapshot,
        container: u32,
        page: u32,
        index: IndexHash,
    ) -> Result<Option<PathStatistics>, Error> {
        let pages = &mut self.pages;
        let position = match pages.iter().position(|(number, _)| *number == page) {
            Some(position) => position,
            None => {
                let row = snapshot.get(STATISTICS, &page_key(container, page))?;
                // The copy keeps the cache from pinning the whole block that the engine returned.
                pages.push((page, row.map(|row| Bytes::copy_from_slice(&row))));
                pages.len() - 1
            }
        };
        match &pages[position].1 {
            Some(row) => Ok(Slots::of(row)?.find(index)),
            None => Ok(None),
        }
    }
}
