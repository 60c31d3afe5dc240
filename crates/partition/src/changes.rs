//! The change feed of a physical partition: its changes after a position, in order.
//!
//! A position is an LSN. A reader merges the feed entries of a partition and of its ancestors by
//! LSN, and skips entries outside its scope. So a position taken before a split or a merge stays
//! valid after it.

use std::iter::Peekable;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, Lsn, RangeId};
use orrery_storage::{KeyspaceId, Range, Snapshot};

use crate::committer::internal;
use crate::counters::counters_key;
use crate::history::HistoryEntry;
use crate::keyspaces::{DOCUMENTS, FEED, HISTORY, META};
use crate::retention::trimmed_lsn;
use crate::scan::{ScanRange, Visit};
use crate::stored_item::StoredItem;
use crate::{ChangeKind, Container, Counters, Error, LogicalPartition, Partition, feed_entry};

/// Maximum number of skipped entries in one page. A page without results reports the position it
/// reached.
const PASSED_MAX: usize = 100_000;

/// Maximum number of documents of a logical partition that are sorted instead of filtered from the
/// whole feed.
const SORTED_MAX: usize = 1_000;

/// Maximum seconds by which request clocks may deviate from the order of their records.
const CLOCK_SLACK: u32 = 10;

/// A change of an item.
#[derive(Debug)]
pub struct ItemChange {
    pub lsn: Lsn,
    /// Time of the change.
    pub seconds: u32,
    pub kind: ChangeKind,
    /// The text of the item after the change; `None` for a removal.
    pub current: Option<Bytes>,
    /// The text before the change, if the container keeps its history.
    pub previous: Option<Bytes>,
    pub previous_lsn: Lsn,
    /// The id of the item.
    pub id: Bytes,
}

/// The changes that a reader receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeMode {
    /// The newest version of each item that changed.
    LatestVersion,
    /// Every change, including removals.
    AllVersionsAndDeletes,
}

/// A snapshot of the feeds of a container.
pub struct ChangeReader {
    snapshot: Snapshot,
    container: Arc<Container>,
}

impl ChangeReader {
    pub(crate) fn new(snapshot: Snapshot, container: &Arc<Container>) -> ChangeReader {
        ChangeReader {
            snapshot,
            container: Arc::clone(container),
        }
    }

    /// The LSN of a partition in this snapshot.
    pub fn lsn(&self, partition: &Partition) -> Result<Lsn, Failure> {
        let key = counters_key(self.number(), partition.id);
        let read = || -> Result<Lsn, Error> {
            let row = self.snapshot.get(META, &key)?;
            let row = row.map(|row| Counters::decode(&row)).transpose()?;
            Ok(row.map_or(Lsn(0), |counters| counters.lsn))
        };
        read().map_err(|error| internal(&error))
    }

    /// Visits the changes in a scope of a partition after a position, in order. Returns the
    /// position up to which all changes were visited.
    pub fn changes(
        &self,
        mode: ChangeMode,
        partition: &Partition,
        scope: &ScanRange,
        after: Lsn,
        visit: &mut dyn FnMut(ItemChange) -> Visit,
    ) -> Result<Lsn, Failure> {
        // The last visited position when the page became full; `None` when every change was
        // visited.
        let mut read = || -> Result<Option<Lsn>, Error> {
            let space = space_of(mode);
            let mut runs = self.runs(space, partition, after);
            let mut passed = 0;
            while let Some((key, value)) = next_of(&mut runs)? {
                let lsn = lsn_of(&key)?;
                passed += 1;
                let change = match mode {
                    ChangeMode::LatestVersion => self.latest(lsn, &value, scope)?,
                    ChangeMode::AllVersionsAndDeletes => self.event(lsn, &value, scope)?,
                };
                let is_full = match change {
                    Some(change) => visit(change) == Visit::Full,
                    None => passed > PASSED_MAX,
                };
                if is_full {
                    // A record may have several changes, so the page ends before this record and
                    // repeats it next time.
                    return Ok(Some(Lsn(lsn.0 - 1)));
                }
            }
            Ok(None)
        };
        let reached = match read().map_err(|error| internal(&error))? {
            Some(reached) => reached,
            None => self.lsn(partition)?,
        };
        Ok(reached.max(after))
    }

    /// [`ChangeReader::changes`] for one logical partition in the latest mode. A small logical
    /// partition is sorted, at a cost that does not depend on the size of its physical partition.
    pub fn changes_of_key(
        &self,
        partition: &Partition,
        logical: &LogicalPartition,
        after: Lsn,
        visit: &mut dyn FnMut(ItemChange) -> Visit,
    ) -> Result<Lsn, Failure> {
        let scope = ScanRange::of_logical_partition(logical);
        let small = self.small(&scope, after);
        let Some(items) = small.map_err(|error| internal(&error))? else {
            return self.changes(ChangeMode::LatestVersion, partition, &scope, after, visit);
        };
        for (key, item) in items {
            let lsn = item.lsn();
            if visit(newest(&key, &item)) == Visit::Full {
                return Ok(Lsn(lsn.0 - 1).max(after));
            }
        }
        Ok(self.lsn(partition)?.max(after))
    }

    /// The documents of a scope after a position, in feed order. `None` if there are too many.
    fn small(
        &self,
        scope: &ScanRange,
        after: Lsn,
    ) -> Result<Option<Vec<(Bytes, StoredItem)>>, Error> {
        let (from, to) = scope.bounds();
        let mut items = Vec::new();
        for (number, entry) in self.snapshot.range(DOCUMENTS, from, to).enumerate() {
            if number == SORTED_MAX {
                return Ok(None);
            }
            let (key, value) = entry?;
            let item = StoredItem::decode(value)?;
            if item.lsn() > after {
                items.push((key, item));
            }
        }
        items.sort_by_key(|(_, item)| (item.lsn(), item.header.ordinal));
        Ok(Some(items))
    }

    /// The next document of a scope in the feed after a position.
    pub(crate) fn first_after_position(
        &self,
        partition: &Partition,
        scope: &ScanRange,
        after: Lsn,
    ) -> Result<Option<(Lsn, Bytes, StoredItem)>, Error> {
        let mut runs = self.runs(FEED, partition, after);
        while let Some((key, value)) = next_of(&mut runs)? {
            let (_, key_position) = decode_value(&value)?;
            if let Some(document) = self.key_in(scope, &key_position)
                && let Some(bytes) = self.snapshot.get(DOCUMENTS, &document)?
            {
                let item = StoredItem::decode(bytes)?;
                return Ok(Some((lsn_of(&key)?, document, item)));
            }
        }
        Ok(None)
    }

    /// The greatest position before all changes that are later than `seconds`.
    pub fn position_at(&self, partition: &Partition, seconds: u32) -> Result<Lsn, Failure> {
        let find = || -> Result<Lsn, Error> {
            let early = seconds.saturating_sub(CLOCK_SLACK);
            let mut position = None;
            for range in lineage(partition) {
                let first = self.first_after(range, early)?;
                position = match (position, first) {
                    (Some(one), Some(other)) => Some(Lsn::min(one, other)),
                    (one, other) => one.or(other),
                };
            }
            Ok(position.map_or(Lsn(u64::MAX), |first| Lsn(first.0 - 1)))
        };
        let position = find().map_err(|error| internal(&error))?;
        Ok(position.min(self.lsn(partition)?))
    }

    /// The first entry of a partition that is later than `seconds`, by binary search.
    fn first_after(&self, range: RangeId, seconds: u32) -> Result<Option<Lsn>, Error> {
        let end = feed_entry::run_end(self.number(), range);
        let entry_from = |lsn: Lsn| -> Result<Option<(Lsn, u32)>, Error> {
            let from = feed_entry::entry_key(self.number(), range, lsn, 0);
            let Some(entry) = self.snapshot.range(FEED, &from, Some(&end)).next() else {
                return Ok(None);
            };
            let (key, value) = entry?;
            let (second, _) = decode_value(&value)?;
            Ok(Some((lsn_of(&key)?, second)))
        };
        let begin = feed_entry::entry_key(self.number(), range, Lsn(0), 0);
        let mut run = self.snapshot.range(FEED, &begin, Some(&end));
        let Some(last) = run.next_back() else {
            return Ok(None);
        };
        // Every entry before `low` is early. The entry at or after `high` is late.
        let (mut low, mut high) = (0, lsn_of(&last?.0)?.0 + 1);
        while low < high {
            let middle = u64::midpoint(low, high);
            match entry_from(Lsn(middle))? {
                Some((lsn, second)) if second <= seconds => low = lsn.0 + 1,
                _ => high = middle,
            }
        }
        Ok(entry_from(Lsn(low))?.map(|(lsn, _)| lsn))
    }

    /// The trim position of a partition's history: older entries are gone.
    pub fn trimmed_upto(&self, partition: &Partition) -> Result<Lsn, Failure> {
        let mut forgotten = Lsn(0);
        for range in lineage(partition) {
            let until = trimmed_lsn(&self.snapshot, self.number(), range);
            forgotten = forgotten.max(until.map_err(|error| internal(&error))?);
        }
        Ok(forgotten)
    }

    fn number(&self) -> u32 {
        self.container.rid.id()
    }

    /// The feed entries after a position: one iterator for each of the partition and its ancestors.
    fn runs(&self, space: KeyspaceId, partition: &Partition, after: Lsn) -> Vec<Peekable<Range>> {
        let runs = lineage(partition).map(|range| {
            let next = Lsn(after.0.saturating_add(1));
            let from = feed_entry::entry_key(self.number(), range, next, 0);
            let to = feed_entry::run_end(self.number(), range);
            self.snapshot.range(space, &from, Some(&to)).peekable()
        });
        runs.collect()
    }

    fn latest(
        &self,
        lsn: Lsn,
        value: &Bytes,
        scope: &ScanRange,
    ) -> Result<Option<ItemChange>, Error> {
        let (_, key_position) = decode_value(value)?;
        let Some(key) = self.key_in(scope, &key_position) else {
            return Ok(None);
        };
        let item = self.snapshot.get(DOCUMENTS, &key)?;
        let item = item.map(StoredItem::decode).transpose()?;
        match item.filter(|item| item.lsn() == lsn) {
            Some(item) => Ok(Some(newest(&key, &item))),
            // An entry is deleted when its document changes, so an entry without this version of
            // the document is damage.
            None => Err(Error::Damaged(format!(
                "the feed names a version of a document at {lsn} that is not there"
            ))),
        }
    }

    fn event(
        &self,
        lsn: Lsn,
        value: &Bytes,
        scope: &ScanRange,
    ) -> Result<Option<ItemChange>, Error> {
        let event = HistoryEntry::decode(value)?;
        if self.key_in(scope, &event.key_position).is_none() {
            return Ok(None);
        }
        Ok(Some(ItemChange {
            lsn,
            seconds: event.seconds,
            kind: event.kind,
            id: id_of(&event)?,
            current: event.current,
            previous: event.previous,
            previous_lsn: event.previous_lsn,
        }))
    }

    /// The document key for a key position, if it is in the scope.
    fn key_in(&self, scope: &ScanRange, key_position: &[u8]) -> Option<Bytes> {
        let key: Bytes = [&self.number().to_be_bytes()[..], key_position]
            .concat()
            .into();
        let (from, to) = scope.bounds();
        let is_inside = &key[..] >= from && to.is_none_or(|to| &key[..] < to);
        (is_inside && scope.matches_first_levels(key_position)).then_some(key)
    }
}

fn lineage(partition: &Partition) -> impl Iterator<Item = RangeId> {
    partition.ancestors.iter().copied().chain([partition.id])
}

/// The id in the text of a changed item. For a removal it is in the previous text.
fn id_of(event: &HistoryEntry) -> Result<Bytes, Error> {
    let text = event.current.as_ref().or(event.previous.as_ref());
    let parsed = text.and_then(|text| orrery_json::parse(text).ok());
    let id = parsed.as_ref().and_then(|value| value.get("id").as_str());
    let id = id.map(|id| Bytes::copy_from_slice(id.as_bytes()));
    id.ok_or_else(|| Error::Damaged("an entry of the history has no id".to_owned()))
}

fn newest(key: &Bytes, item: &StoredItem) -> ItemChange {
    ItemChange {
        lsn: item.lsn(),
        seconds: item.header.modified_seconds,
        kind: ChangeKind::Replace,
        current: Some(item.text()),
        previous: None,
        previous_lsn: Lsn(0),
        id: key.slice(usize::from(item.header.prefix_bytes).min(key.len())..),
    }
}

fn space_of(mode: ChangeMode) -> KeyspaceId {
    match mode {
        ChangeMode::LatestVersion => FEED,
        ChangeMode::AllVersionsAndDeletes => HISTORY,
    }
}

/// Takes the entry with the smallest LSN. With equal LSNs the entry of the older partition comes
/// first.
fn next_of(runs: &mut [Peekable<Range>]) -> Result<Option<(Bytes, Bytes)>, Error> {
    let mut first: Option<(Lsn, usize)> = None;
    for (number, run) in runs.iter_mut().enumerate() {
        let lsn = match run.peek() {
            None => continue,
            Some(Ok((key, _))) => lsn_of(key)?,
            // Taking the entry reports the error.
            Some(Err(_)) => Lsn(0),
        };
        if first.is_none_or(|(smallest, _)| lsn < smallest) {
            first = Some((lsn, number));
        }
    }
    let Some((_, number)) = first else {
        return Ok(None);
    };
    Ok(runs[number].next().transpose()?)
}

pub(crate) fn lsn_of(key: &[u8]) -> Result<Lsn, Error> {
    feed_entry::lsn_of(key).ok_or_else(|| Error::Damaged("a feed entry is too short".to_owned()))
}

fn decode_value(value: &Bytes) -> Result<(u32, Bytes), Error> {
    feed_entry::decode_value(value)
        .ok_or_else(|| Error::Damaged("a feed entry has no document key".to_owned()))
}
