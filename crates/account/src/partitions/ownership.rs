//! The owner of each key, according to the account stream, and whether this region may open its
//! keys.
//!
//! A key belongs to the newest range that has it; a key in no range belongs to the write region of
//! the newest epoch. An earlier owner closes the keys when it applies the record that moves them,
//! and only then reports the record as applied. Its stream, up to the progress in that report,
//! therefore contains all of its writes to the keys. The new owner waits until it has applied that
//! progress. The new owner also waits for owners before the last one, because the last owner may
//! have been replaced before it had their writes. It does not wait for a silent owner: that owner's
//! writes are merged when it returns.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use orrery_engine::{AccessTable, KeyAccess, KeyRange};
use orrery_regions::{RecordBody, RegionId, Sequence, StreamId, StreamRecord, VersionVector};

use super::RangeMove;
use crate::codec::decode_move;

#[derive(Debug)]
pub(crate) struct Ownership {
    me: RegionId,
    /// The owner of the keys outside all ranges.
    default: Option<DefaultOwner>,
    /// The moved ranges in the order of their records; no range is covered by a newer one.
    ranges: Vec<(RangeMove, OwnerCatchUp)>,
}

#[derive(Debug)]
struct DefaultOwner {
    owner: RegionId,
    catch_up: OwnerCatchUp,
}

/// The writes of earlier owners that a new owner must apply before it takes writes.
#[derive(Debug)]
struct OwnerCatchUp {
    /// The ownership record.
    since: Sequence,
    /// The regions that may have written to the keys before the record. Each has the last record of
    /// its stream that may be such a write; none as long as the region has not reported the
    /// ownership record as applied.
    earlier_owners: BTreeMap<RegionId, Option<Sequence>>,
    is_done: bool,
}

/// Conditions beyond the ownership records on which access to keys depends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccessConditions<'a> {
    /// Whether the region knows that no newer ownership record exists that it missed.
    pub(crate) is_sure: bool,
    /// The keys that are down in each region.
    pub(crate) down: &'a BTreeMap<RegionId, Vec<KeyRange>>,
    /// Whether the write region moves partitions that are down by itself.
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

    /// Applies a record of the account stream.
    pub(crate) fn apply(&mut self, record: &StreamRecord) {
        match &record.body {
            RecordBody::EpochStart(_) => {
                let Some(owner) = record.epoch.write_region() else {
                    return;
                };
                // The new write region waits for the owners before it, and for the owners for which
                // those had to wait.
                let catch_up =
                    OwnerCatchUp::new(record.sequence, owner, self.default_earlier_owners());
                self.default = Some(DefaultOwner { owner, catch_up });
            }
            RecordBody::Data(data) => {
                if let Some(range_move) = decode_move(data) {
                    self.move_range(record.sequence, range_move);
                }
            }
            RecordBody::Members(_) => {}
        }
    }

    fn move_range(&mut self, since: Sequence, range_move: RangeMove) {
        let keys = &range_move.keys;
        let mut earlier_owners = BTreeSet::new();
        for (other, catch_up) in &self.ranges {
            if other.keys.overlaps(keys) {
                earlier_owners.extend(catch_up.earlier_owners.keys());
                match other.owner {
                    Some(owner) => earlier_owners.extend([owner]),
                    None => earlier_owners.extend(self.default_earlier_owners()),
                }
            }
        }
        if !self.ranges.iter().any(|(other, _)| other.keys.covers(keys)) {
            earlier_owners.extend(self.default_earlier_owners());
        }
        let owner = self.owner(&range_move).unwrap_or(self.me);
        let catch_up = OwnerCatchUp::new(since, owner, earlier_owners);
        self.ranges
            .retain(|(other, _)| !range_move.keys.covers(&other.keys));
        self.ranges.push((range_move, catch_up));
    }

    /// The regions that may have written to keys of the write region.
    fn default_earlier_owners(&self) -> BTreeSet<RegionId> {
        let default = self.default.iter();
        let earlier_owners = default.flat_map(|default| {
            default
                .catch_up
                .earlier_owners
                .keys()
                .chain([&default.owner])
        });
        earlier_owners.copied().collect()
    }

    pub(crate) fn default_owner(&self) -> Option<RegionId> {
        self.default.as_ref().map(|default| default.owner)
    }

    fn owner(&self, range_move: &RangeMove) -> Option<RegionId> {
        range_move.owner.or(self.default_owner())
    }

    /// The owner of the first of these keys.
    pub(crate) fn owner_of(&self, keys: &KeyRange) -> Option<RegionId> {
        let mut ranges = self.ranges.iter().rev();
        let found = ranges.find(|(other, _)| other.keys.contains(keys.container, &keys.min));
        found.map_or(self.default_owner(), |(found, _)| self.owner(found))
    }

    /// The parts of these keys that a region owns: a part may have moved before a split or merge of
    /// partitions.
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

    /// The moved ranges, each with its current owner and its record.
    pub(crate) fn owned(&self) -> impl Iterator<Item = (&RangeMove, RegionId, Sequence)> {
        self.ranges.iter().filter_map(|(range_move, catch_up)| {
            let owner = self.owner(range_move)?;
            Some((range_move, owner, catch_up.since))
        })
    }

    pub(crate) fn moves(&self) -> impl Iterator<Item = &RangeMove> {
        self.ranges.iter().map(|(range_move, _)| range_move)
    }

    /// Opens the keys whose earlier owners' writes are applied in this region. `latest` is the
    /// newest progress of another region, or none if that region is silent.
    pub(crate) fn review(
        &mut self,
        applied: &VersionVector,
        latest: impl Fn(RegionId) -> Option<VersionVector>,
    ) {
        let (me, default) = (self.me, self.default_owner());
        // This region's own writes are applied here by definition, and no region reports them to
        // it.
        let latest = |region| (region != me).then(|| latest(region)).flatten();
        if let Some(default) = self.default.as_mut().filter(|default| default.owner == me) {
            default.catch_up.review(applied, &latest);
        }
        for (range_move, catch_up) in &mut self.ranges {
            if range_move.owner.or(default) == Some(me) {
                catch_up.review(applied, &latest);
            }
        }
    }

    /// The last record of the account stream up to which this region has opened all of its keys.
    pub(crate) fn opened(&self, applied: Sequence) -> Sequence {
        let mine = self.ranges.iter();
        let mine = mine.filter(|(range_move, _)| self.owner(range_move) == Some(self.me));
        let mine = mine.map(|(_, catch_up)| catch_up);
        let default = self.default.as_ref();
        let default = default.filter(|default| default.owner == self.me);
        let all = mine.chain(default.map(|default| &default.catch_up));
        let waiting = all.filter(|catch_up| !catch_up.is_done);
        let first = waiting.map(|catch_up| Sequence(catch_up.since.0.saturating_sub(1)));
        first.min().unwrap_or(applied).min(applied)
    }

    pub(crate) fn table(&self, holds: AccessConditions<'_>) -> AccessTable {
        let access = |is_mine, is_open| match (is_mine, is_open && holds.is_sure) {
            (false, _) => KeyAccess::Closed,
            (true, false) => KeyAccess::TakingOver,
            (true, true) => KeyAccess::Open,
        };
        let is_default = self.default_owner() == Some(self.me);
        let is_default_open = |default: &DefaultOwner| default.catch_up.is_done;
        let is_default_open = self.default.as_ref().is_some_and(is_default_open);
        let mut table = AccessTable {
            default: access(is_default, is_default_open),
            ranges: Vec::new(),
        };
        for (range_move, catch_up) in &self.ranges {
            let is_mine = self.owner(range_move) == Some(self.me);
            let is_open = catch_up.is_done && (range_move.owner.is_some() || is_default_open);
            let keys = range_move.keys.clone();
            table.ranges.push((keys, access(is_mine, is_open)));
        }
        for (region, down) in holds.down {
            for keys in down {
                if *region == self.me {
                    table.ranges.push((keys.clone(), KeyAccess::Down));
                } else if holds.is_managed {
                    // A write that arrives here waits until the partition has moved, instead of
                    // failing.
                    let parts = self.parts_of(*region, keys).into_iter();
                    let soon = parts.map(|part| (part, KeyAccess::TakingOver));
                    table.ranges.extend(soon);
                }
            }
        }
        // A partition that is down in this region remains refused, whatever another region reports
        // about itself.
        table
            .ranges
            .sort_by_key(|(_, access)| *access == KeyAccess::Down);
        table
    }
}

/// Planted bugs that the simulation must find.
#[cfg(test)]
impl Ownership {
    pub(crate) fn wait_for_nobody(&mut self) {
        for catch_up in self.catch_ups() {
            catch_up.earlier_owners.clear();
        }
    }

    /// Forgets the owners for which other owners wait, but not those for which this region waits.
    pub(crate) fn forget_earlier_owners(&mut self) {
        let (me, default) = (self.me, self.default_owner());
        if let Some(default) = self.default.as_mut().filter(|default| default.owner != me) {
            default.catch_up.earlier_owners.clear();
        }
        for (range_move, catch_up) in &mut self.ranges {
            if range_move.owner.or(default) != Some(me) {
                catch_up.earlier_owners.clear();
            }
        }
    }

    fn catch_ups(&mut self) -> impl Iterator<Item = &mut OwnerCatchUp> {
        let default = self.default.iter_mut().map(|default| &mut default.catch_up);
        default.chain(self.ranges.iter_mut().map(|(_, catch_up)| catch_up))
    }
}

impl OwnerCatchUp {
    fn new(
        since: Sequence,
        owner: RegionId,
        earlier_owners: impl IntoIterator<Item = RegionId>,
    ) -> OwnerCatchUp {
        let earlier_owners = earlier_owners.into_iter().filter(|region| *region != owner);
        OwnerCatchUp {
            since,
            earlier_owners: earlier_owners.map(|region| (region, None)).collect(),
            is_done: false,
        }
    }

    fn review(
        &mut self,
        applied: &VersionVector,
        latest: &impl Fn(RegionId) -> Option<VersionVector>,
    ) {
        if self.is_done {
            return;
        }
        let since = self.since;
        self.is_done = self.earlier_owners.iter_mut().all(|(region, last)| {
            let stream = StreamId::Region(*region);
            // A silent owner is skipped; its writes are merged when it returns.
            let Some(latest) = latest(*region) else {
                return true;
            };
            // The progress is fixed at the first report that includes the ownership record: later
            // writes of that region are not writes to these keys.
            if last.is_none() && latest.includes(StreamId::Account, since) {
                *last = Some(latest.of(stream));
            }
            last.is_some_and(|last| applied.includes(stream, last))
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

    fn record(sequence: u64, epoch: Epoch, body: RecordBody) -> StreamRecord {
        StreamRecord {
            stream: StreamId::Account,
            origin: A,
            epoch,
            sequence: Sequence(sequence),
            deps: VersionVector::default(),
            body,
        }
    }

    fn starts(sequence: u64, epoch: Epoch) -> StreamRecord {
        record(
            sequence,
            epoch,
            RecordBody::EpochStart(EpochStart::default()),
        )
    }

    fn gives(sequence: u64, keys: KeyRange, owner: Option<RegionId>) -> StreamRecord {
        let data = encode_move(&RangeMove {
            keys,
            owner,
            is_automatic: false,
        });
        record(sequence, Epoch::NONE.next(A), RecordBody::Data(data))
    }

    fn progress(entries: &[(StreamId, u64)]) -> VersionVector {
        let entries = entries.iter();
        entries
            .map(|(stream, at)| (*stream, Sequence(*at)))
            .collect()
    }

    fn sure(down: &BTreeMap<RegionId, Vec<KeyRange>>) -> AccessConditions<'_> {
        AccessConditions {
            is_sure: true,
            down,
            is_managed: true,
        }
    }

    fn at(ownership: &Ownership, key: u8) -> KeyAccess {
        ownership.table(sure(&BTreeMap::new())).of(7, &[key])
    }

    #[test]
    fn a_new_owner_waits_for_what_the_old_one_took() {
        let mut ownership = Ownership::new(B);
        ownership.apply(&starts(1, Epoch::NONE.next(A)));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(B)));
        assert_eq!(ownership.owner_of(&keys(0x10, 0x20)), Some(B));
        let (account, of_a) = (StreamId::Account, StreamId::Region(A));
        for (applied, latest, expected) in [
            // The old owner has not applied the ownership record yet.
            (9, &[(account, 1), (of_a, 9)][..], KeyAccess::TakingOver),
            (9, &[(account, 2), (of_a, 12)], KeyAccess::TakingOver),
            // The old owner continues with other keys; only its progress at the ownership record
            // counts.
            (11, &[(account, 2), (of_a, 50)], KeyAccess::TakingOver),
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
        assert_eq!(at(&ownership, 0x15), KeyAccess::TakingOver);
        assert_eq!(ownership.opened(Sequence(6)), Sequence(5));
        // No earlier owner sends messages.
        ownership.review(&VersionVector::default(), |_| None);
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
            (KeyAccess::TakingOver, KeyAccess::TakingOver)
        );
        ownership.review(&VersionVector::default(), |_| None);
        let found = [0x05, 0x15, 0x35].map(|key| at(&ownership, key));
        assert_eq!(found, [KeyAccess::Open, KeyAccess::Closed, KeyAccess::Open]);
        let nothing = BTreeMap::new();
        let unsure = AccessConditions {
            is_sure: false,
            ..sure(&nothing)
        };
        assert_eq!(ownership.table(unsure).of(7, &[5]), KeyAccess::TakingOver);
    }

    #[test]
    fn nobody_waits_for_itself() {
        let mut ownership = Ownership::new(B);
        let first = Epoch::NONE.next(A);
        ownership.apply(&starts(1, first));
        ownership.apply(&gives(2, keys(0x10, 0x20), Some(B)));
        ownership.apply(&gives(3, keys(0x10, 0x20), None));
        ownership.apply(&starts(4, first.next(B)));
        // A region receives no report about itself.
        let told = |region| {
            Some(progress(&[(
                StreamId::Account,
                if region == B { 0 } else { 4 },
            )]))
        };
        ownership.review(&VersionVector::default(), told);
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
            for (applied, expected) in [(8, KeyAccess::TakingOver), (9, KeyAccess::Open)] {
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
        ownership.review(&VersionVector::default(), |_| None);
        let down = BTreeMap::from([
            (A, vec![keys(0x00, 0x10), keys(0x10, 0x20)]),
            (B, vec![keys(0x10, 0x20), keys(0x40, 0x50)]),
        ]);
        let table = ownership.table(sure(&down));
        for (key, expected) in [
            (0x05, KeyAccess::Down),
            (0x15, KeyAccess::Down),
            (0x25, KeyAccess::Open),
            (0x45, KeyAccess::Open),
        ] {
            assert_eq!(table.of(7, &[key]), expected, "{key}");
        }
        let elsewhere = BTreeMap::from([(B, vec![keys(0x10, 0x20)])]);
        assert_eq!(
            ownership.table(sure(&elsewhere)).of(7, &[0x15]),
            KeyAccess::TakingOver
        );
        let unmanaged = AccessConditions {
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
        ownership.review(&VersionVector::default(), |_| None);
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
        for (key, expected) in [
            (0x15, KeyAccess::TakingOver),
            (0x25, KeyAccess::Open),
            (0x35, KeyAccess::Closed),
        ] {
            assert_eq!(table.of(7, &[key]), expected, "{key}");
        }
    }

    #[test]
    fn data_of_the_catalogue_moves_nothing() {
        let mut ownership = Ownership::new(A);
        ownership.apply(&starts(1, Epoch::NONE.next(A)));
        for data in [&b""[..], b"\0\0\0\0\0\0\0\0", b"\x02\0\0\0\0\0\0\0\x01\x02"] {
            let data = Bytes::from_static(data);
            ownership.apply(&record(2, Epoch::NONE.next(A), RecordBody::Data(data)));
        }
        assert_eq!(ownership.moves().count(), 0);
    }
}
