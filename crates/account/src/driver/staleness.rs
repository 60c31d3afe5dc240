//! Bounded staleness where every region writes.
//!
//! Each region answers for its own stream: it takes no write by which another region would be further
//! behind than the bound. And each knows when it last had everything of the others: a read needs that
//! this was within the bound, since a region that hears nothing cannot tell what it misses.

use std::collections::{BTreeMap, VecDeque};

use orrery_regions::{Bound, Millis, Progress, RegionId, Sequence, StreamId};

/// Times of own writes are kept this often within the time of the bound.
const SAMPLES: u64 = 100;

/// What is known of both directions.
#[derive(Debug)]
pub(super) struct Staleness {
    bound: Bound,
    /// The own stream was this long at that time, and not before.
    written: VecDeque<(Sequence, Millis)>,
    others: BTreeMap<RegionId, Other>,
}

#[derive(Debug, Default)]
struct Other {
    /// Its stream had reached this when it was asked then: the first such that is not applied here, and the newest.
    first: Option<(Sequence, Millis)>,
    newest: Option<(Sequence, Millis)>,
    complete: Option<Millis>,
}

/// What requests ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    /// All others have the own stream up to here.
    had: Sequence,
    /// When the first record was written that some region lacks.
    lacking_since: Option<Millis>,
    /// This region had everything of all others then; none if it never had.
    complete: Option<Millis>,
}

impl Staleness {
    pub(super) fn new(bound: Bound) -> Staleness {
        Staleness {
            bound,
            written: VecDeque::new(),
            others: BTreeMap::new(),
        }
    }

    /// The own stream ends here now.
    pub(super) fn wrote(&mut self, now: Millis, last: Sequence) {
        match self.written.back_mut() {
            Some((sequence, _)) if *sequence >= last => {}
            // A little early is on the safe side.
            Some((sequence, at)) if now.since(*at) < self.bound.millis / SAMPLES => {
                *sequence = last;
            }
            _ => self.written.push_back((last, now)),
        }
    }

    /// Another region, which was asked then, had this of its own stream when it answered.
    pub(super) fn told(&mut self, from: RegionId, asked: Millis, has: Sequence) {
        let other = self.others.entry(from).or_default();
        other.newest = Some((has, asked));
        other.first = other.first.or(other.newest);
    }

    /// How it stands when this is applied here and the others lack so many records of the own stream.
    pub(super) fn reach(
        &mut self,
        applied: &Progress,
        own: Sequence,
        lags: &[(RegionId, u64)],
    ) -> Option<Reach> {
        let had = lags
            .iter()
            .map(|(_, lag)| own.0.saturating_sub(*lag))
            .min()?;
        let had = Sequence(had);
        while self
            .written
            .front()
            .is_some_and(|(sequence, _)| *sequence <= had)
        {
            self.written.pop_front();
        }
        let mut complete = None;
        for (index, (region, _)) in lags.iter().enumerate() {
            let other = self.others.entry(*region).or_default();
            other.follow(applied.of(StreamId::Region(*region)));
            complete = match (index, complete, other.complete) {
                (0, _, own) => own,
                (_, Some(so_far), Some(own)) => Some(own.min(so_far)),
                _ => None,
            };
        }
        Some(Reach {
            had,
            lacking_since: self.written.front().map(|(_, at)| *at),
            complete,
        })
    }
}

impl Other {
    fn follow(&mut self, applied: Sequence) {
        let is_reached = |at: &mut (Sequence, Millis)| at.0 <= applied;
        if let Some((_, asked)) = self.newest.take_if(is_reached) {
            self.complete = Some(asked);
            self.first = None;
        } else if let Some((_, asked)) = self.first.take_if(is_reached) {
            self.complete = Some(asked);
            self.first = self.newest;
        }
    }
}

impl Reach {
    /// Whether a write keeps all others within the bound, where the own stream ends at `written`.
    pub(crate) fn allows_write(self, bound: Bound, now: Millis, written: Sequence) -> bool {
        let is_late = |since| now.since(since) >= bound.millis;
        written.beyond(self.had) < bound.versions && !self.lacking_since.is_some_and(is_late)
    }

    /// Whether what is here is within the bound.
    pub(crate) fn allows_read(self, bound: Bound, now: Millis) -> bool {
        let is_fresh = |complete| now.since(complete) < bound.millis;
        self.complete.is_some_and(is_fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound = Bound {
        versions: 10,
        millis: 1_000,
    };
    const B: RegionId = RegionId(1);
    const C: RegionId = RegionId(2);

    fn applied(b: u64, c: u64) -> Progress {
        [(B, b), (C, c)]
            .into_iter()
            .map(|(region, at)| (StreamId::Region(region), Sequence(at)))
            .collect()
    }

    #[test]
    fn writes_wait_for_the_slowest_region() {
        let mut staleness = Staleness::new(BOUND);
        for (now, last) in [(0, 3), (5, 4), (500, 8)] {
            staleness.wrote(Millis(now), Sequence(last));
        }
        let nothing = Progress::default();
        for (lags, now, written, allowed) in [
            ([(B, 0), (C, 8)], 900, 8, true),
            ([(B, 0), (C, 8)], 1_000, 8, false),
            // The fourth record counts as old as the third.
            ([(B, 5), (C, 0)], 1_000, 8, false),
            ([(B, 4), (C, 0)], 1_000, 8, true),
            ([(B, 4), (C, 0)], 1_000, 13, true),
            ([(B, 4), (C, 0)], 1_000, 14, false),
            ([(B, 4), (C, 0)], 1_500, 8, false),
            ([(B, 0), (C, 0)], 9_000, 8, true),
        ] {
            let reach = staleness.reach(&nothing, Sequence(8), &lags).unwrap();
            let found = reach.allows_write(BOUND, Millis(now), Sequence(written));
            assert_eq!(found, allowed, "{lags:?} at {now} with {written}");
        }
        assert_eq!(staleness.reach(&nothing, Sequence(8), &[]), None, "alone");
    }

    #[test]
    fn times_of_writes_take_little_room() {
        let mut staleness = Staleness::new(BOUND);
        for now in 0..1_000 {
            staleness.wrote(Millis(now), Sequence(now + 1));
        }
        assert!(
            staleness.written.len() <= 101,
            "{}",
            staleness.written.len()
        );
    }

    #[test]
    fn reads_need_to_have_heard_of_every_region() {
        let mut staleness = Staleness::new(BOUND);
        let mut allows = |told: &[(RegionId, u64, u64)], b, c, now| {
            for (from, asked, has) in told {
                staleness.told(*from, Millis(*asked), Sequence(*has));
            }
            let lags = [(B, 0), (C, 0)];
            let reach = staleness.reach(&applied(b, c), Sequence(0), &lags);
            reach.unwrap().allows_read(BOUND, Millis(now))
        };
        assert!(!allows(&[], 0, 0, 0), "of none");
        assert!(!allows(&[(B, 100, 5)], 5, 0, 100), "of one only");
        assert!(!allows(&[(C, 200, 7)], 5, 6, 200), "not applied");
        assert!(!allows(&[(C, 700, 9)], 5, 6, 800));
        assert!(allows(&[], 5, 7, 800), "what was had first is enough");
        assert!(allows(&[], 5, 9, 1_099));
        assert!(
            !allows(&[], 5, 9, 1_100),
            "the other was heard of too long ago"
        );
        assert!(allows(&[(B, 1_000, 5)], 5, 9, 1_600));
        assert!(!allows(&[], 5, 9, 1_700));
    }
}
