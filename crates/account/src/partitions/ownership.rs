//! Who takes the writes of which keys, as the account stream says, and whether this region may begin.
//!
//! Ranges are looked up by key, the newest that has it counts, and what no range has belongs to the write
//! region of the newest epoch. Whoever owned keys before closes them when it applies the record, before
//! it says that it has applied it; so once it has said so, its stream up to what it said with it is
//! all that it took of them. The new owner waits for that, and for owners before the last one, which
//! may have been replaced before it had everything itself. An owner that is silent is not waited for:
//! what it took is merged when it comes back.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use orrery_engine::{AccessTable, KeyAccess, KeyRange};
use orrery_regions::{Body, Progress, RegionId, Sequence, StreamId, StreamRecord};

use super::RangeMove;
use crate::codec::decode_move;

#[derive(Debug)]
pub(crate) struct Ownership {
    me: RegionId,
    /// The write region.
    default: Option<Holding>,
    /// In the order of their records; none has all of an older one.
    ranges: Vec<(RangeMove, Opening)>,
}

#[derive(Debug)]
struct Holding {
    owner: RegionId,
    opening: Opening,
}

/// What must be here before writes are taken.
#[derive(Debug)]
struct Opening {
    /// The record that gave the keys away.
    since: Sequence,
    /// Those that may have taken writes before it, with the last record of their streams that may be
    /// one of them, once it is known.
    from: BTreeMap<RegionId, Option<Sequence>>,
    is_done: bool,
}

/// What a region takes, beside what the records say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holds<'a> {
    /// Whether the region knows that the records it has are the newest.
    pub(crate) is_sure: bool,
    /// Keys that are down, by region.
    pub(crate) down: &'a BTreeMap<RegionId, Vec<KeyRange>>,
    /// Whether the write region moves what is down.
    pub(crate) is_managed: bool,
}

impl Ownership {
    pub(crate) fn new(me: RegionId) -> Ownership {
        Ownership {
            me,
            default: None,
            ranges: Vec::new(),
        }
    }

    /// Takes note of a record of the account stream.
    pub(crate) fn apply(&mut self, record: &StreamRecord) {
        match &record.body {
            Body::EpochStart(_) => {
                let Some(owner) = record.epoch.write_region() else {
                    return;
                };
                let opening = Opening::new(record.sequence, owner, self.default_from());
                self.default = Some(Holding { owner, opening });
            }
            Body::Data(data) => {
                if let Some(range_move) = decode_move(data) {
                    self.give(record.sequence, range_move);
                }
            }
            Body::Members(_) => {}
        }
    }

    fn give(&mut self, since: Sequence, range_move: RangeMove) {
        let keys = &range_move.keys;
        let mut from = BTreeSet::new();
        for (other, opening) in &self.ranges {
            if other.keys.overlaps(keys) {
                from.extend(opening.from.keys());
                match other.owner {
                    Some(owner) => from.extend([owner]),
                    None => from.extend(self.default_from()),
                }
            }
        }
        if !self.ranges.iter().any(|(other, _)| other.keys.covers(keys)) {
            from.extend(self.default_from());
        }
        let owner = self.owner(&range_move).unwrap_or(self.me);
        let opening = Opening::new(since, owner, from);
        self.ranges
            .retain(|(other, _)| !range_move.keys.covers(&other.keys));
        self.ranges.push((range_move, opening));
    }

    /// Those that may have taken writes of what belongs to the write region.
    fn default_from(&self) -> BTreeSet<RegionId> {
        let default = self.default.iter();
        let from = default.flat_map(|default| default.opening.from.keys().chain([&default.owner]));
        from.copied().collect()
    }

    pub(crate) fn default_owner(&self) -> Option<RegionId> {
        self.default.as_ref().map(|default| default.owner)
    }

    fn owner(&self, range_move: &RangeMove) -> Option<RegionId> {
        range_move.owner.or(self.default_owner())
    }

    /// Who takes the writes of the first of these keys.
    pub(crate) fn owner_of(&self, keys: &KeyRange) -> Option<RegionId> {
        let mut ranges = self.ranges.iter().rev();
        let found = ranges.find(|(other, _)| other.keys.contains(keys.container, &keys.min));
        found.map_or(self.default_owner(), |(found, _)| self.owner(found))
    }

    /// The parts of these keys that a region owns: they may have been moved before partitions were split or merged.
    pub(crate) fn parts_of(&self, region: RegionId, keys: &KeyRange) -> Vec<KeyRange> {
        let ranges = self.ranges.iter().map(|(range_move, _)| &range_move.keys);
        let ranges = ranges.filter(|other| other.overlaps(keys)).chain([keys]);
        let bounds = ranges.flat_map(|range| [range.min.clone(), range.max.clone()]);
        let bounds: BTreeSet<Bytes> = bounds
            .filter(|bound| keys.min <= *bound && *bound <= keys.max)
            .collect();
        let parts = bounds.iter().zip(bounds.iter().skip(1));
        let parts = parts.map(|(min, max)| KeyRange {
            container: keys.container,
            min: min.clone(),
            max: max.clone(),
        });
        parts
            .filter(|part| self.owner_of(part) == Some(region))
            .collect()
    }

    /// The ranges that were moved, who owns each now and since which record.
    pub(crate) fn owned(&self) -> impl Iterator<Item = (&RangeMove, RegionId, Sequence)> {
        self.ranges.iter().filter_map(|(range_move, opening)| {
            let owner = self.owner(range_move)?;
            Some((range_move, owner, opening.since))
        })
    }

    pub(crate) fn moves(&self) -> impl Iterator<Item = &RangeMove> {
        self.ranges.iter().map(|(range_move, _)| range_move)
    }

    /// Looks what can be opened here with what is applied here; `latest` is what another region said
    /// that it has, or none if it is silent.
    pub(crate) fn review(
        &mut self,
        applied: &Progress,
        latest: impl Fn(RegionId) -> Option<Progress>,
    ) {
        let (me, default) = (self.me, self.default_owner());
        // What this region took itself is here, and nobody tells it so.
        let latest = |region| (region != me).then(|| latest(region)).flatten();
        if let Some(default) = self.default.as_mut().filter(|default| default.owner == me) {
            default.opening.review(applied, &latest);
        }
        for (range_move, opening) in &mut self.ranges {
            if range_move.owner.or(default) == Some(me) {
                opening.review(applied, &latest);
            }
        }
    }

    /// Up to which record of the account stream everything is open here that should be.
    pub(crate) fn opened(&self, applied: Sequence) -> Sequence {
        let mine = self.ranges.iter();
        let mine = mine.filter(|(range_move, _)| self.owner(range_move) == Some(self.me));
        let mine = mine.map(|(_, opening)| opening);
        let default = self.default.as_ref();
        let default = default.filter(|default| default.owner == self.me);
        let all = mine.chain(default.map(|default| &default.opening));
        let waiting = all.filter(|opening| !opening.is_done);
        let first = waiting.map(|opening| Sequence(opening.since.0.saturating_sub(1)));
        first.min().unwrap_or(applied).min(applied)
    }

    pub(crate) fn table(&self, holds: Holds<'_>) -> AccessTable {
        let access = |is_mine, is_open| match (is_mine, is_open && holds.is_sure) {
            (false, _) => KeyAccess::Closed,
            (true, false) => KeyAccess::Soon,
            (true, true) => KeyAccess::Open,
        };
        let is_default = self.default_owner() == Some(self.me);
        let is_default_open = |default: &Holding| default.opening.is_done;
        let is_default_open = self.default.as_ref().is_some_and(is_default_open);
        let mut table = AccessTable {
            default: access(is_default, is_default_open),
            ranges: Vec::new(),
        };
        for (range_move, opening) in &self.ranges {
            let is_mine = self.owner(range_move) == Some(self.me);
            let is_open = opening.is_done && (range_move.owner.is_some() || is_default_open);
            let keys = range_move.keys.clone();
            table.ranges.push((keys, access(is_mine, is_open)));
        }
        for (region, down) in holds.down {
            for keys in down {
                if *region == self.me {
                    table.ranges.push((keys.clone(), KeyAccess::Down));
                } else if holds.is_managed {
                    // Whoever asks here for it is better off when he waits until it is moved.
                    let parts = self.parts_of(*region, keys).into_iter();
                    let soon = parts.map(|part| (part, KeyAccess::Soon));
                    table.ranges.extend(soon);
                }
            }
        }
        // What is down here stays so, whatever another region says of its own.
        table
            .ranges
            .sort_by_key(|(_, access)| *access == KeyAccess::Down);
        table
    }
}

/// Mistakes that the simulation must find.
#[cfg(test)]
impl Ownership {
    pub(crate) fn wait_for_nobody(&mut self) {
        for opening in self.openings() {
            opening.from.clear();
        }
    }

    /// Forgets whom owners have waited for, but not whom this region waits for.
    pub(crate) fn forget_earlier_owners(&mut self) {
        let (me, default) = (self.me, self.default_owner());
        if let Some(default) = self.default.as_mut().filter(|default| default.owner != me) {
            default.opening.from.clear();
        }
        for (range_move, opening) in &mut self.ranges {
            if range_move.owner.or(default) != Some(me) {
                opening.from.clear();
            }
        }
    }

    fn openings(&mut self) -> impl Iterator<Item = &mut Opening> {
        let default = self.default.iter_mut().map(|default| &mut default.opening);
        default.chain(self.ranges.iter_mut().map(|(_, opening)| opening))
    }
}

impl Opening {
    fn new(since: Sequence, owner: RegionId, from: impl IntoIterator<Item = RegionId>) -> Opening {
        let from = from.into_iter().filter(|region| *region != owner);
        Opening {
            since,
            from: from.map(|region| (region, None)).collect(),
            is_done: false,
        }
    }

    fn review(&mut self, applied: &Progress, latest: &impl Fn(RegionId) -> Option<Progress>) {
        if self.is_done {
            return;
        }
        let since = self.since;
        self.is_done = self.from.iter_mut().all(|(region, last)| {
            let stream = StreamId::Region(*region);
            let Some(latest) = latest(*region) else {
                return true;
            };
            if last.is_none() && latest.has(StreamId::Account, since) {
                *last = Some(latest.of(stream));
            }
            last.is_some_and(|last| applied.has(stream, last))
        });
    }
}

#[cfg(test)]
mod tests {
    use orrery_regions::{Epoch, EpochStart};

    use super::*;
    use crate::codec::encode_move;

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);
    const C: RegionId = RegionId(2);

    fn keys(min: u8, max: u8) -> KeyRange {
        KeyRange {
            container: 7,
            min: vec![min].into(),
            max: vec![max].into(),
        }
    }

    fn record(sequence: u64, epoch: Epoch, body: Body) -> StreamRecord {
        StreamRecord {
            stream: StreamId::Account,
            origin: A,
            epoch,
            sequence: Sequence(sequence),
            deps: Progress::default(),
            body,
        }
    }

    fn starts(sequence: u64, epoch: Epoch) -> StreamRecord {
        record(sequence, epoch, Body::EpochStart(EpochStart::default()))
    }

    fn gives(sequence: u64, keys: KeyRange, owner: Option<RegionId>) -> StreamRecord {
        let data = encode_move(&RangeMove {
            keys,
            owner,
            is_automatic: false,
        });
        record(sequence, Epoch::NONE.next(A), Body::Data(data))
    }

    fn progress(entries: &[(StreamId, u64)]) -> Progress {
        let entries = entries.iter();
        entries
            .map(|(stream, at)| (*stream, Sequence(*at)))
            .collect()
    }

    fn sure(down: &BTreeMap<RegionId, Vec<KeyRange>>) -> Holds<'_> {
        Holds {
            is_sure: true,
            down,
            is_managed: true,
        }
    }

    fn at(ownership: &Ownership, place: u8) -> KeyAccess {
        ownership.table(sure(&BTreeMap::new())).of(7, &[place])
    }

    #[test]
    fn a_new_owner_waits_for_what_the_old_one_took() {
        let mut ownership = Ownership::new(B);
        ownership.apply(&starts(1, Epoch::NONE.next(A)));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(B)));
        assert_eq!(ownership.owner_of(&keys(0x10, 0x20)), Some(B));
        let (account, of_a) = (StreamId::Account, StreamId::Region(A));
        for (applied, latest, expected) in [
            // It has not heard of it yet.
            (9, &[(account, 1), (of_a, 9)][..], KeyAccess::Soon),
            (9, &[(account, 2), (of_a, 12)], KeyAccess::Soon),
            // It goes on elsewhere; what it had then counts.
            (11, &[(account, 2), (of_a, 50)], KeyAccess::Soon),
            (12, &[(account, 2), (of_a, 60)], KeyAccess::Open),
        ] {
            let latest = progress(latest);
            ownership.review(&progress(&[(of_a, applied)]), |_| Some(latest.clone()));
            assert_eq!(at(&ownership, 0x15), expected, "{applied}");
        }
        assert_eq!(at(&ownership, 0x20), KeyAccess::Closed);
        assert_eq!(ownership.opened(Sequence(4)), Sequence(4));
        ownership.apply(&gives(5, keys(0x10, 0x20), Some(C)));
        assert_eq!(at(&ownership, 0x15), KeyAccess::Closed);
        ownership.apply(&gives(6, keys(0x10, 0x18), Some(B)));
        assert_eq!(at(&ownership, 0x15), KeyAccess::Soon);
        assert_eq!(ownership.opened(Sequence(6)), Sequence(5));
        // Nobody of those who had it answers.
        ownership.review(&Progress::default(), |_| None);
        assert_eq!(at(&ownership, 0x15), KeyAccess::Open);
        assert_eq!(at(&ownership, 0x19), KeyAccess::Closed);
    }

    #[test]
    fn what_is_not_moved_follows_the_write_region() {
        let mut ownership = Ownership::new(B);
        let first = Epoch::NONE.next(A);
        ownership.apply(&starts(1, first));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(C)));
        ownership.apply(&gives(3, keys(0x30, 0x40), Some(B)));
        ownership.apply(&gives(4, keys(0x30, 0x40), None));
        assert_eq!(ownership.owner_of(&keys(0x30, 0x40)), Some(A));
        ownership.apply(&starts(5, first.next(B)));
        assert_eq!(
            (at(&ownership, 0x05), at(&ownership, 0x35)),
            (KeyAccess::Soon, KeyAccess::Soon)
        );
        ownership.review(&Progress::default(), |_| None);
        let found = [0x05, 0x15, 0x35].map(|place| at(&ownership, place));
        assert_eq!(found, [KeyAccess::Open, KeyAccess::Closed, KeyAccess::Open]);
        let nothing = BTreeMap::new();
        let unsure = Holds {
            is_sure: false,
            ..sure(&nothing)
        };
        assert_eq!(ownership.table(unsure).of(7, &[5]), KeyAccess::Soon);
    }

    #[test]
    fn nobody_waits_for_itself() {
        let mut ownership = Ownership::new(B);
        let first = Epoch::NONE.next(A);
        ownership.apply(&starts(1, first));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(B)));
        ownership.apply(&gives(3, keys(0x10, 0x20), None));
        ownership.apply(&starts(4, first.next(B)));
        // A region is told nothing of its own.
        let told = |region| {
            Some(progress(&[(
                StreamId::Account,
                if region == B { 0 } else { 4 },
            )]))
        };
        ownership.review(&Progress::default(), told);
        assert_eq!(at(&ownership, 0x15), KeyAccess::Open);
    }

    #[test]
    fn an_owner_that_was_replaced_before_it_began_hides_nobody() {
        let (account, of_a) = (StreamId::Account, StreamId::Region(A));
        let first = Epoch::NONE.next(A);
        let second = first.next(B);
        let (back, away) = (keys(0x10, 0x18), keys(0x10, 0x20));
        for (before, last) in [
            (None, starts(4, second.next(C))),
            (None, gives(4, away.clone(), Some(C))),
            (Some(gives(2, back, None)), gives(4, away, Some(C))),
        ] {
            let mut ownership = Ownership::new(C);
            ownership.apply(&starts(1, first));
            if let Some(before) = before {
                ownership.apply(&before);
            }
            ownership.apply(&starts(3, second));
            ownership.apply(&last);
            for (applied, expected) in [(8, KeyAccess::Soon), (9, KeyAccess::Open)] {
                let latest = |_| Some(progress(&[(account, 4), (of_a, 9)]));
                ownership.review(&progress(&[(of_a, applied)]), latest);
                assert_eq!(at(&ownership, 0x15), expected, "{applied} {last:?}");
            }
        }
    }

    #[test]
    fn what_is_down_is_refused_here_and_waited_for_elsewhere() {
        let mut ownership = Ownership::new(A);
        ownership.apply(&starts(1, Epoch::NONE.next(A)));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(B)));
        ownership.review(&Progress::default(), |_| None);
        let down = BTreeMap::from([
            (A, vec![keys(0x00, 0x10), keys(0x10, 0x20)]),
            (B, vec![keys(0x10, 0x20), keys(0x40, 0x50)]),
        ]);
        let table = ownership.table(sure(&down));
        for (place, expected) in [
            (0x05, KeyAccess::Down),
            (0x15, KeyAccess::Down),
            (0x25, KeyAccess::Open),
            (0x45, KeyAccess::Open),
        ] {
            assert_eq!(table.of(7, &[place]), expected, "{place}");
        }
        let elsewhere = BTreeMap::from([(B, vec![keys(0x10, 0x20)])]);
        assert_eq!(
            ownership.table(sure(&elsewhere)).of(7, &[0x15]),
            KeyAccess::Soon
        );
        let unmanaged = Holds {
            is_managed: false,
            ..sure(&elsewhere)
        };
        assert_eq!(ownership.table(unmanaged).of(7, &[0x15]), KeyAccess::Closed);
    }

    #[test]
    fn keys_that_are_down_may_have_several_owners() {
        let mut ownership = Ownership::new(A);
        ownership.apply(&starts(1, Epoch::NONE.next(A)));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(B)));
        ownership.apply(&gives(3, keys(0x28, 0x40), Some(C)));
        ownership.review(&Progress::default(), |_| None);
        for (region, expected) in [
            (A, vec![keys(0x20, 0x28)]),
            (B, vec![keys(0x18, 0x20)]),
            (C, vec![keys(0x28, 0x30)]),
        ] {
            let found = ownership.parts_of(region, &keys(0x18, 0x30));
            assert_eq!(found, expected, "{region}");
        }
        let down = BTreeMap::from([(B, vec![keys(0x10, 0x40)])]);
        let table = ownership.table(sure(&down));
        for (place, expected) in [
            (0x15, KeyAccess::Soon),
            (0x25, KeyAccess::Open),
            (0x35, KeyAccess::Closed),
        ] {
            assert_eq!(table.of(7, &[place]), expected, "{place}");
        }
    }

    #[test]
    fn data_of_the_catalogue_moves_nothing() {
        let mut ownership = Ownership::new(A);
        ownership.apply(&starts(1, Epoch::NONE.next(A)));
        for data in [&b""[..], b"\0\0\0\0\0\0\0\0", b"\x02\0\0\0\0\0\0\0\x01\x02"] {
            let data = Bytes::from_static(data);
            ownership.apply(&record(2, Epoch::NONE.next(A), Body::Data(data)));
        }
        assert_eq!(ownership.moves().count(), 0);
    }
}
