//! The moves that the write region makes by itself: away from owners in which keys are down, away
//! from silent owners, and back again.
//!
//! A region reports which of its partitions are down, so unlike silence this needs no guess; the
//! delay of one second spares partitions that come up again at once. Moving keys back is not urgent
//! and interrupts their clients for a moment, so that delay is longer, and the write region first
//! catches up with nearly all of the owner's writes.

use std::collections::BTreeMap;

use orrery_engine::KeyRange;
use orrery_regions::{Millis, RegionId};

use super::{Ownership, RangeMove};

/// Keys move after they have been down for this long.
const DOWN_MS: u64 = 1_000;
/// The time for which keys must be up before they move back.
const UP_MS: u64 = 3_000;
/// How many of the other owner's records the write region may still lack when it takes keys back.
const BEHIND_MAX: u64 = 1_000;

#[derive(Debug, Default)]
pub(crate) struct AutomaticFailover {
    down_since: BTreeMap<(RegionId, KeyRange), Millis>,
    up_since: BTreeMap<KeyRange, Millis>,
}

/// The partitions as the write region sees them.
pub(crate) struct FailoverView<'a> {
    pub(crate) now: Millis,
    pub(crate) me: RegionId,
    /// The members in failover order.
    pub(crate) members: &'a [RegionId],
    pub(crate) ownership: &'a Ownership,
    pub(crate) down: &'a BTreeMap<RegionId, Vec<KeyRange>>,
    pub(crate) is_silent: &'a dyn Fn(RegionId) -> bool,
    /// How many records of a region's stream the write region lacks.
    pub(crate) behind: &'a dyn Fn(RegionId) -> u64,
}

impl AutomaticFailover {
    /// The next move, if one is due.
    pub(crate) fn decide(&mut self, view: &FailoverView<'_>) -> Option<RangeMove> {
        self.update_times(view);
        self.failed(view)
            .or_else(|| view.abandoned())
            .or_else(|| self.recovered(view))
    }

    /// Updates since when each key range is down or up.
    fn update_times(&mut self, view: &FailoverView<'_>) {
        let now = view.now;
        let down = view.down.iter();
        let down: Vec<_> = down
            .flat_map(|(region, keys)| keys.iter().map(|keys| (*region, keys.clone())))
            .collect();
        self.down_since.retain(|entry, _| down.contains(entry));
        for entry in down {
            self.down_since.entry(entry).or_insert(now);
        }
        let away = view.ownership.moves().filter(|range_move| {
            range_move.is_automatic
                && range_move.owner.is_some()
                && !view.is_down(view.me, &range_move.keys)
        });
        let away: Vec<_> = away.map(|range_move| range_move.keys.clone()).collect();
        self.up_since.retain(|keys, _| away.contains(keys));
        for keys in away {
            self.up_since.entry(keys).or_insert(now);
        }
    }

    /// Keys that are down in their owner.
    fn failed(&self, view: &FailoverView<'_>) -> Option<RangeMove> {
        let mut down = self.down_since.iter();
        down.find_map(|((region, keys), since)| {
            if view.now.since(*since) < DOWN_MS {
                return None;
            }
            let parts = view.ownership.parts_of(*region, keys);
            parts
                .into_iter()
                .find_map(|part| view.away_from(*region, part))
        })
    }

    /// Moved keys that the write region can take back.
    fn recovered(&self, view: &FailoverView<'_>) -> Option<RangeMove> {
        let mut moves = view.ownership.moves();
        let found = moves.find(|range_move| {
            let since = self.up_since.get(&range_move.keys);
            let is_up = since.is_some_and(|since| view.now.since(*since) >= UP_MS);
            let is_near = |owner| (view.behind)(owner) <= BEHIND_MAX;
            is_up && range_move.owner.is_some_and(is_near)
        })?;
        Some(RangeMove {
            owner: None,
            ..found.clone()
        })
    }
}

impl FailoverView<'_> {
    fn is_down(&self, region: RegionId, keys: &KeyRange) -> bool {
        let down = self.down.get(&region);
        down.is_some_and(|down| down.iter().any(|other| other.overlaps(keys)))
    }

    /// Moves keys of a region to the next member that can take them.
    fn away_from(&self, region: RegionId, keys: KeyRange) -> Option<RangeMove> {
        let mut members = self.members.iter().copied();
        let next = members.find(|member| {
            *member != region && !(self.is_silent)(*member) && !self.is_down(*member, &keys)
        })?;
        Some(RangeMove {
            keys,
            owner: (next != self.me).then_some(next),
            is_automatic: true,
        })
    }

    /// Keys of a silent owner.
    fn abandoned(&self) -> Option<RangeMove> {
        let mut moves = self.ownership.moves();
        moves.find_map(|range_move| {
            let owner = range_move.owner.filter(|owner| *owner != self.me);
            let owner = owner.filter(|owner| (self.is_silent)(*owner))?;
            if self.is_down(self.me, &range_move.keys) {
                return self.away_from(owner, range_move.keys.clone());
            }
            Some(RangeMove {
                owner: None,
                ..range_move.clone()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use orrery_regions::{
        Epoch, EpochStart, RecordBody, Sequence, StreamId, StreamRecord, VersionVector,
    };

    use super::*;
    use crate::codec::encode_move;

    const A: RegionId = RegionId(0);
    const B: RegionId = RegionId(1);
    const C: RegionId = RegionId(2);

    fn keys() -> KeyRange {
        KeyRange {
            container: 7,
            min: vec![0x10].into(),
            max: vec![0x20].into(),
        }
    }

    fn ownership(owner: Option<RegionId>, is_automatic: bool) -> Ownership {
        let mut ownership = Ownership::new(A);
        let moved = encode_move(&RangeMove {
            keys: keys(),
            owner,
            is_automatic,
        });
        for (sequence, body) in [
            (1, RecordBody::EpochStart(EpochStart::default())),
            (2, RecordBody::Data(moved)),
        ] {
            ownership.apply(&StreamRecord {
                stream: StreamId::Account,
                origin: A,
                epoch: Epoch::NONE.next(A),
                sequence: Sequence(sequence),
                deps: VersionVector::default(),
                body,
            });
        }
        ownership
    }

    /// The new owner according to a view that is evaluated twice, `millis` apart.
    fn decided(
        ownership: &Ownership,
        down: &[RegionId],
        silent: &[RegionId],
        behind: u64,
        millis: u64,
    ) -> Option<RegionId> {
        let down: BTreeMap<_, _> = down.iter().map(|region| (*region, vec![keys()])).collect();
        let mut watch = AutomaticFailover::default();
        let mut at = |now| {
            watch.decide(&FailoverView {
                now: Millis(now),
                me: A,
                members: &[A, B, C],
                ownership,
                down: &down,
                is_silent: &|region| silent.contains(&region),
                behind: &|_| behind,
            })
        };
        let first = at(50);
        first
            .or_else(|| at(50 + millis))
            .map(|decided| decided.owner.unwrap_or(A))
    }

    #[test]
    fn what_is_down_goes_to_the_next_that_has_it() {
        let here = ownership(None, false);
        let there = ownership(Some(B), true);
        for (ownership, down, silent, millis, expected) in [
            (&here, &[][..], &[][..], 9_000, None),
            (&here, &[A], &[], 900, None),
            (&here, &[A], &[], 1_000, Some(B)),
            (&here, &[A, B], &[], 1_000, Some(C)),
            (&here, &[A], &[B], 1_000, Some(C)),
            (&here, &[A, B, C], &[], 9_000, None),
            (&here, &[B], &[], 9_000, None),
            (&there, &[A, B], &[], 1_000, Some(C)),
            (&there, &[B], &[], 1_000, Some(A)),
        ] {
            let found = decided(ownership, down, silent, 0, millis);
            assert_eq!(found, expected, "{down:?} {silent:?} {millis}");
        }
    }

    #[test]
    fn what_is_up_again_comes_back_unless_an_operator_moved_it() {
        let (automatic, ordered) = (ownership(Some(B), true), ownership(Some(B), false));
        for (ownership, down, silent, behind, millis, expected) in [
            (&automatic, &[A][..], &[][..], 0, 9_000, None),
            (&automatic, &[], &[], 0, 2_900, None),
            (&automatic, &[], &[], 0, 3_000, Some(A)),
            (&automatic, &[], &[], 5_000, 9_000, None),
            (&ordered, &[], &[], 0, 9_000, None),
            (&ordered, &[], &[B], 0, 0, Some(A)),
            (&ordered, &[A], &[B], 0, 0, Some(C)),
            (&ordered, &[A, C], &[B], 0, 9_000, None),
        ] {
            let found = decided(ownership, down, silent, behind, millis);
            assert_eq!(found, expected, "{down:?} {silent:?} {millis}");
        }
    }

    /// The partition was merged after one of its parts had moved.
    #[test]
    fn what_is_left_of_a_partition_that_is_down_is_moved() {
        let ownership = ownership(Some(B), false);
        let wide = KeyRange {
            max: vec![0x30].into(),
            ..keys()
        };
        let down = BTreeMap::from([(A, vec![wide.clone()])]);
        let mut watch = AutomaticFailover::default();
        let decided = [50, 1_050].map(|now| {
            watch.decide(&FailoverView {
                now: Millis(now),
                me: A,
                members: &[A, B, C],
                ownership: &ownership,
                down: &down,
                is_silent: &|_| false,
                behind: &|_| 0,
            })
        });
        let rest = KeyRange {
            min: vec![0x20].into(),
            ..wide
        };
        let expected = RangeMove {
            keys: rest,
            owner: Some(B),
            is_automatic: true,
        };
        assert_eq!(decided, [None, Some(expected)]);
    }
}
