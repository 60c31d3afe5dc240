//! The rows that store statistics.
//!
//! ```text
//! container (4) | p | page (4)           -> version (1), then for each slot that is taken:
//!                                           slot in the page (1), hash of the index (8), statistics
//! container (4) | s | hash of an index (8) -> slot (4)
//! container (4) | z                        -> the slot that is given next (4)
//! ```
//!
//! An index gets a slot with its first entry, and a slot is never reused for another index.
//! Integers are big-endian.

use std::ops::Range;

use bytes::Bytes;
use orrery_index::{IndexHash, PathStatistics};

use crate::Error;
use crate::document_key::CONTAINER_BYTES;

const VERSION: u8 = 1;
/// Number of slots in one page. The indexes of most containers fit into the first page.
const PAGE_SLOTS: u32 = 32;
const SLOT_BYTES: usize = 1 + 8 + PathStatistics::BYTES;

const PAGE: u8 = b'p';
const SLOT: u8 = b's';
const NEXT: u8 = b'z';

pub(super) fn page_of(slot: u32) -> u32 {
    slot / PAGE_SLOTS
}

pub(super) fn page_key(container: u32, page: u32) -> [u8; 9] {
    let mut key = [PAGE; 9];
    key[..CONTAINER_BYTES].copy_from_slice(&container.to_be_bytes());
    key[CONTAINER_BYTES + 1..].copy_from_slice(&page.to_be_bytes());
    key
}

/// The key of the row with the slot number of an index.
pub(crate) fn slot_key(container: u32, index: IndexHash) -> [u8; 13] {
    let mut key = [SLOT; 13];
    key[..CONTAINER_BYTES].copy_from_slice(&container.to_be_bytes());
    key[CONTAINER_BYTES + 1..].copy_from_slice(&index.0.to_be_bytes());
    key
}

pub(super) fn next_key(container: u32) -> [u8; 5] {
    let mut key = [NEXT; 5];
    key[..CONTAINER_BYTES].copy_from_slice(&container.to_be_bytes());
    key
}

pub(super) fn write_slot(slot: u32) -> Bytes {
    Bytes::copy_from_slice(&slot.to_be_bytes())
}

pub(super) fn read_slot(row: &[u8]) -> Result<u32, Error> {
    let slot = row.try_into().map(u32::from_be_bytes);
    slot.map_err(|_| damaged())
}

/// The kinds of statistics rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StatisticsRow {
    Page,
    Slot(IndexHash, u32),
    Next,
}

impl StatisticsRow {
    pub(crate) fn of(key: &[u8], value: &[u8]) -> Result<StatisticsRow, Error> {
        let (kind, rest) = key
            .get(CONTAINER_BYTES..)
            .and_then(<[u8]>::split_first)
            .ok_or_else(damaged)?;
        match (*kind, rest.len()) {
            (PAGE, 4) => Ok(StatisticsRow::Page),
            (SLOT, 8) => {
                let hash = rest.try_into().map_err(|_| damaged())?;
                let index = IndexHash(u64::from_be_bytes(hash));
                Ok(StatisticsRow::Slot(index, read_slot(value)?))
            }
            (NEXT, 0) => read_slot(value).map(|_| StatisticsRow::Next),
            _ => Err(damaged()),
        }
    }
}

/// The occupied slots of a stored page.
pub(crate) struct Slots<'a>(&'a [u8]);

impl<'a> Slots<'a> {
    pub(crate) fn of(row: &'a [u8]) -> Result<Slots<'a>, Error> {
        match row.split_first() {
            Some((&VERSION, slots)) if slots.len().is_multiple_of(SLOT_BYTES) => Ok(Slots(slots)),
            _ => Err(damaged()),
        }
    }

    pub(crate) fn find(&self, index: IndexHash) -> Option<PathStatistics> {
        let hash = index.0.to_be_bytes();
        let mut slots = self.0.chunks_exact(SLOT_BYTES);
        let slot = slots.find(|slot| slot[1..9] == hash)?;
        PathStatistics::read(&slot[9..])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u8, IndexHash, PathStatistics)> + use<'a> {
        self.0.chunks_exact(SLOT_BYTES).filter_map(|slot| {
            let (number, rest) = slot.split_first()?;
            let (hash, statistics) = rest.split_first_chunk()?;
            let index = IndexHash(u64::from_be_bytes(*hash));
            Some((*number, index, PathStatistics::read(statistics)?))
        })
    }
}

/// The statistics of consecutive slots.
#[derive(Debug, Default)]
pub(super) struct StatisticsPage {
    slots: Vec<Option<(IndexHash, PathStatistics)>>,
}

impl StatisticsPage {
    pub(super) fn decode(row: &[u8]) -> Result<StatisticsPage, Error> {
        let mut page = StatisticsPage::default();
        for (number, index, statistics) in Slots::of(row)?.iter() {
            *page.at(u32::from(number)) = Some((index, statistics));
        }
        Ok(page)
    }

    /// `None` when every slot is free.
    pub(super) fn encode(&self) -> Option<Bytes> {
        let taken = self.slots.iter().flatten().count();
        let mut row = Vec::with_capacity(1 + taken * SLOT_BYTES);
        row.push(VERSION);
        for (number, slot) in (0..).zip(&self.slots) {
            if let Some((index, statistics)) = slot {
                row.push(number);
                row.extend_from_slice(&index.0.to_be_bytes());
                statistics.write(&mut row);
            }
        }
        (taken > 0).then(|| row.into())
    }

    pub(super) fn statistics(&mut self, slot: u32, index: IndexHash) -> &mut PathStatistics {
        let slot = self.at(slot % PAGE_SLOTS);
        let (_, statistics) = slot.get_or_insert_with(|| (index, PathStatistics::default()));
        statistics
    }

    /// Frees the slots of indexes without entries, and returns these indexes.
    pub(super) fn release(&mut self) -> Vec<IndexHash> {
        let mut released = Vec::new();
        for slot in &mut self.slots {
            if let Some((index, _)) = slot.take_if(|(_, statistics)| statistics.entries == 0) {
                released.push(index);
            }
        }
        released
    }

    /// The indexes of this page with their slots, for the page with this number.
    pub(super) fn indexes(&self, page: u32) -> impl Iterator<Item = (IndexHash, u32)> {
        let slots: Range<u32> = page * PAGE_SLOTS..(page + 1) * PAGE_SLOTS;
        let taken = slots.zip(&self.slots);
        taken.filter_map(|(slot, held)| Some((held.as_ref()?.0, slot)))
    }

    fn at(&mut self, number: u32) -> &mut Option<(IndexHash, PathStatistics)> {
        let number = number as usize;
        if self.slots.len() <= number {
            self.slots.resize_with(number + 1, || None);
        }
        &mut self.slots[number]
    }
}

fn damaged() -> Error {
    Error::Damaged("the statistics of a container do not decode".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_survive_encoding() {
        let mut page = StatisticsPage::default();
        assert_eq!(page.encode(), None);
        for (slot, value) in [(65, b"a"), (70, b"b"), (95, b"c")] {
            page.statistics(slot, IndexHash(u64::from(slot))).add(value);
        }
        let row = page.encode().unwrap();
        let mut page = StatisticsPage::decode(&row).unwrap();
        let held: Vec<_> = page
            .indexes(2)
            .map(|(index, slot)| (index.0, slot))
            .collect();
        assert_eq!(held, [(65, 65), (70, 70), (95, 95)]);
        let slots = Slots::of(&row).unwrap();
        assert_eq!(slots.find(IndexHash(70)).unwrap().entries, 1);
        assert_eq!(slots.find(IndexHash(71)), None);
        for cut in [0, 1, row.len() - 1] {
            let is_page = StatisticsPage::decode(&row[..cut]).is_ok();
            assert_eq!(is_page, cut == 1, "{cut}");
        }

        page.statistics(70, IndexHash(70)).remove(b"b");
        assert_eq!(page.release(), [IndexHash(70)]);
        let row = page.encode().unwrap();
        assert_eq!(Slots::of(&row).unwrap().iter().count(), 2);
    }

    #[test]
    fn rows_are_told_apart() {
        let of = |key: &[u8], value: &[u8]| StatisticsRow::of(key, value).ok();
        let index = IndexHash(7);
        let slot = write_slot(9);
        assert_eq!(of(&page_key(1, 2), b""), Some(StatisticsRow::Page));
        assert_eq!(
            of(&slot_key(1, index), &slot),
            Some(StatisticsRow::Slot(index, 9))
        );
        assert_eq!(of(&next_key(1), &slot), Some(StatisticsRow::Next));
        for (key, value) in [
            (&next_key(1)[..], &b""[..]),
            (&slot_key(1, index), b"1"),
            (&page_key(1, 2)[..6], b""),
            (b"0000", b""),
            (b"0000x", &slot),
        ] {
            assert_eq!(of(key, value), None);
        }
    }
}
