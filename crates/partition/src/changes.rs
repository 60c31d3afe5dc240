//! The change feed of a physical partition: what happened in it, in order, from a position on.
//!
//! A position is an LSN. A partition reads its own run of entries and those of its ancestors
//! together, by LSN, and passes over what is outside of its scope: so a position taken before a
//! split or a merge stays good after it.

use std::iter::Peekable;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, Lsn, RangeId};
use orrery_storage::{Range, Snapshot, Space};

use crate::committer::internal;
use crate::counters::counters_key;
use crate::history::Event;
use crate::retention::forgotten_of;
use crate::scan::{ScanRange, Visit};
use crate::spaces::{DOCUMENTS, FEED, HISTORY, META};
use crate::stored::StoredItem;
use crate::{ChangeKind, Container, Counters, Error, LogicalPartition, Partition, feed_entry};

/// Entries that one page may pass over; a page that finds nothing says how far it came.
const PASSED_MAX: usize = 100_000;

/// Documents of a logical partition that are sorted rather than looked for in the whole feed.
const SORTED_MAX: usize = 1_000;

/// Seconds by which clocks of requests may differ from the order of their records.
const CLOCK_SLACK: u32 = 10;

/// A change of an item.
#[derive(Debug)]
pub struct ItemChange {
    pub lsn: Lsn,
    /// When it happened.
    pub seconds: u32,
    pub kind: ChangeKind,
    /// The text of the item after it; none when it was removed.
    pub current: Option<Bytes>,
    /// The text before it, where the history is kept.
    pub previous: Option<Bytes>,
    pub previous_lsn: Lsn,
    /// The id of the item.
    pub id: Bytes,
}

/// Which changes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeMode {
    /// The newest version of each item that changed.
    Latest,
    /// Every change, also removals.
    All,
}

/// The feeds of a container at one moment.
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

    /// How far a partition was.
    pub fn lsn(&self, partition: &Partition) -> Result<Lsn, Failure> {
        let key = counters_key(self.number(), partition.id);
        let read = || -> Result<Lsn, Error> {
            let row = self.snapshot.get(META, &key)?;
            let row = row.map(|row| Counters::decode(&row)).transpose()?;
            Ok(row.map_or(Lsn(0), |counters| counters.lsn))
        };
        read().map_err(|error| internal(&error))
    }

    /// Shows the changes of a scope of a partition after a position, in order. Gives the position up
    /// to which all were shown.
    pub fn changes(
        &self,
        mode: ChangeMode,
        partition: &Partition,
        scope: &ScanRange,
        after: Lsn,
        visit: &mut dyn FnMut(ItemChange) -> Visit,
    ) -> Result<Lsn, Failure> {
        // Where the page was full; none when everything was shown.
        let mut read = || -> Result<Option<Lsn>, Error> {
            let space = space_of(mode);
            let mut runs = self.runs(space, partition, after);
            let mut passed = 0;
            while let Some((key, value)) = next_of(&mut runs)? {
                let lsn = lsn_of(&key)?;
                passed += 1;
                let change = match mode {
                    ChangeMode::Latest => self.latest(lsn, &value, scope)?,
                    ChangeMode::All => self.event(lsn, &value, scope)?,
                };
                let is_full = match change {
                    Some(change) => visit(change) == Visit::Full,
                    None => passed > PASSED_MAX,
                };
                if is_full {
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

    /// [`ChangeReader::changes`] of one logical partition in the latest mode: a small one is sorted,
    /// which costs what it has, not what its physical partition has.
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
            return self.changes(ChangeMode::Latest, partition, &scope, after, visit);
        };
        for (key, item) in items {
            let lsn = item.lsn();
            if visit(newest(&key, &item)) == Visit::Full {
                return Ok(Lsn(lsn.0 - 1).max(after));
            }
        }
        Ok(self.lsn(partition)?.max(after))
    }

    /// The documents of a scope after a position, in the order of the feed; none if there are many.
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

    /// The next document in the feed of a scope after a position.
    pub(crate) fn first_after_position(
        &self,
        partition: &Partition,
        scope: &ScanRange,
        after: Lsn,
    ) -> Result<Option<(Lsn, Bytes, StoredItem)>, Error> {
        let mut runs = self.runs(FEED, partition, after);
        while let Some((key, value)) = next_of(&mut runs)? {
            let (_, place) = decode_value(&value)?;
            if let Some(document) = self.key_in(scope, &place)
                && let Some(bytes) = self.snapshot.get(DOCUMENTS, &document)?
            {
                let item = StoredItem::decode(bytes)?;
                return Ok(Some((lsn_of(&key)?, document, item)));
            }
        }
        Ok(None)
    }

    /// A position before which everything happened until `seconds`.
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

    /// The first entry of a run that is later than a second, found by halving.
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
        // Every entry before `low` is early; the one at `high` or behind it is late.
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

    /// The position up to which the history of a partition is forgotten.
    pub fn forgotten(&self, partition: &Partition) -> Result<Lsn, Failure> {
        let mut forgotten = Lsn(0);
        for range in lineage(partition) {
            let until = forgotten_of(&self.snapshot, self.number(), range);
            forgotten = forgotten.max(until.map_err(|error| internal(&error))?);
        }
        Ok(forgotten)
    }

    fn number(&self) -> u32 {
        self.container.rid.id()
    }

    /// What is in the runs of a partition and its ancestors behind a position.
    fn runs(&self, space: Space, partition: &Partition, after: Lsn) -> Vec<Peekable<Range>> {
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
        let (_, place) = decode_value(value)?;
        let Some(key) = self.key_in(scope, &place) else {
            return Ok(None);
        };
        let item = self.snapshot.get(DOCUMENTS, &key)?;
        let item = item.map(StoredItem::decode).transpose()?;
        match item.filter(|item| item.lsn() == lsn) {
            Some(item) => Ok(Some(newest(&key, &item))),
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
        let event = Event::decode(value)?;
        if self.key_in(scope, &event.place).is_none() {
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

    /// The key of a document at a place, if it is within the scope.
    fn key_in(&self, scope: &ScanRange, place: &[u8]) -> Option<Bytes> {
        let key: Bytes = [&self.number().to_be_bytes()[..], place].concat().into();
        let (from, to) = scope.bounds();
        let is_inside = &key[..] >= from && to.is_none_or(|to| &key[..] < to);
        (is_inside && scope.has(place)).then_some(key)
    }
}

fn lineage(partition: &Partition) -> impl Iterator<Item = RangeId> {
    partition.ancestors.iter().copied().chain([partition.id])
}

/// The id in the text of an item that was removed or is there.
fn id_of(event: &Event) -> Result<Bytes, Error> {
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

fn space_of(mode: ChangeMode) -> Space {
    match mode {
        ChangeMode::Latest => FEED,
        ChangeMode::All => HISTORY,
    }
}

/// Takes the entry with the smallest LSN; of equal ones that of the older partition.
fn next_of(runs: &mut [Peekable<Range>]) -> Result<Option<(Bytes, Bytes)>, Error> {
    let mut first: Option<(Lsn, usize)> = None;
    for (number, run) in runs.iter_mut().enumerate() {
        let lsn = match run.peek() {
            None => continue,
            Some(Ok((key, _))) => lsn_of(key)?,
            // Reported when it is taken.
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
        .ok_or_else(|| Error::Damaged("a feed entry has no place".to_owned()))
}
