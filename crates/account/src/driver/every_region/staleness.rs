//! Bounded staleness in a multi-write account.
//!
//! Each region enforces the bound for its own stream: it refuses a write that would leave another
//! region further behind than the bound. And each region knows as of when it had every record of
//! the others: a read needs a time within the bound, because a region that receives nothing cannot
//! know what it lacks.

use std::collections::{BTreeMap, VecDeque};

use orrery_regions::{Millis, RegionId, Sequence, StalenessBound, StreamId, VersionVector};

/// How many write times are stored for the time of the bound.
const SAMPLES: u64 = 100;

/// The staleness in both directions.
#[derive(Debug)]
pub(super) struct Staleness {
    bound: StalenessBound,
    /// Lengths of this region's stream, each with the time at which the stream reached it.
    written: VecDeque<(Sequence, Millis)>,
    others: BTreeMap<RegionId, PeerStaleness>,
}

#[derive(Debug, Default)]
struct PeerStaleness {
    /// The length of the peer's stream when it answered a pull, with the time of that pull: `first`
    /// is the oldest such length that is not applied here, `newest` the newest.
    first: Option<(Sequence, Millis)>,
    newest: Option<(Sequence, Millis)>,
    complete: Option<Millis>,
}

/// The staleness as requests need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StalenessView {
    /// The last record of this region's stream that all others have.
    stable_prefix: Sequence,
    /// When this region wrote the first record that another region lacks.
    lacking_since: Option<Millis>,
    /// The last time at which this region had every record of the other regions. None before the
    /// first such time.
    complete: Option<Millis>,
}

impl Staleness {
    pub(super) fn new(bound: StalenessBound) -> Staleness {
        Staleness {
            bound,
            written: VecDeque::new(),
            others: BTreeMap::new(),
        }
    }

    /// Records that this region's stream now ends with `last`.
    pub(super) fn record_write(&mut self, now: Millis, last: Sequence) {
        match self.written.back_mut() {
            Some((sequence, _)) if *sequence >= last => {}
            // An earlier time makes the bound stricter, never weaker.
            Some((sequence, at)) if now.since(*at) < self.bound.millis / SAMPLES => {
                *sequence = last;
            }
            _ => self.written.push_back((last, now)),
        }
    }

    /// Another region answered a pull that was sent at `asked`; its own stream ended at `has` then.
    pub(super) fn record_answer(&mut self, from: RegionId, asked: Millis, has: Sequence) {
        let other = self.others.entry(from).or_default();
        other.newest = Some((has, asked));
        other.first = other.first.or(other.newest);
    }

    /// The staleness, given the applied records and how many records of the own stream each other
    /// region lacks.
    pub(super) fn view(
        &mut self,
        applied: &VersionVector,
        own: Sequence,
        lags: &[(RegionId, u64)],
    ) -> Option<StalenessView> {
        let stable_prefix = lags
            .iter()
            .map(|(_, lag)| own.0.saturating_sub(*lag))
            .min()?;
        let stable_prefix = Sequence(stable_prefix);
        while self
            .written
            .front()
            .is_some_and(|(sequence, _)| *sequence <= stable_prefix)
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
        Some(StalenessView {
            stable_prefix,
            lacking_since: self.written.front().map(|(_, at)| *at),
            complete,
        })
    }
}

impl PeerStaleness {
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

impl StalenessView {
    /// Whether a write leaves all others within the bound, where this region's stream ends at
    /// `written`.
    pub(crate) fn allows_write(
        self,
        bound: StalenessBound,
        now: Millis,
        written: Sequence,
    ) -> bool {
        let is_late = |since| now.since(since) >= bound.millis;
        written.beyond(self.stable_prefix) < bound.versions
            && !self.lacking_since.is_some_and(is_late)
    }

    /// Whether this region's state is within the bound.
    pub(crate) fn allows_read(self, bound: StalenessBound, now: Millis) -> bool {
        let is_fresh = |complete| now.since(complete) < bound.millis;
        self.complete.is_some_and(is_fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: StalenessBound = StalenessBound {
        versions: 10,
        millis: 1_000,
    };
    const B: RegionId = RegionId(1);
    const C: RegionId = RegionId(2);

    fn applied(b: u64, c: u64) -> VersionVector {
        [(B, b), (C, c)]
            .into_iter()
            .map(|(region, at)| (StreamId::Region(region), Sequence(at)))
            .collect()
    }

    #[test]
    fn writes_wait_for_the_slowest_region() {
        let mut staleness = Staleness::new(BOUND);
        for (now, last) in [(0, 3), (5, 4), (500, 8)] {
            staleness.record_write(Millis(now), Sequence(last));
        }
        let nothing = VersionVector::default();
        for (lags, now, written, allowed) in [
            ([(B, 0), (C, 8)], 900, 8, true),
            ([(B, 0), (C, 8)], 1_000, 8, false),
            // The fourth record has the write time of the third.
            ([(B, 5), (C, 0)], 1_000, 8, false),
            ([(B, 4), (C, 0)], 1_000, 8, true),
            ([(B, 4), (C, 0)], 1_000, 13, true),
            ([(B, 4), (C, 0)], 1_000, 14, false),
            ([(B, 4), (C, 0)], 1_500, 8, false),
            ([(B, 0), (C, 0)], 9_000, 8, true),
        ] {
            let reach = staleness.view(&nothing, Sequence(8), &lags).unwrap();
            let found = reach.allows_write(BOUND, Millis(now), Sequence(written));
            assert_eq!(found, allowed, "{lags:?} at {now} with {written}");
        }
        assert_eq!(staleness.view(&nothing, Sequence(8), &[]), None, "alone");
    }

    #[test]
    fn times_of_writes_take_little_room() {
        let mut staleness = Staleness::new(BOUND);
        for now in 0..1_000 {
            staleness.record_write(Millis(now), Sequence(now + 1));
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
        let mut allows = |answers: &[(RegionId, u64, u64)], b, c, now| {
            for (from, asked, has) in answers {
                staleness.record_answer(*from, Millis(*asked), Sequence(*has));
            }
            let lags = [(B, 0), (C, 0)];
            let reach = staleness.view(&applied(b, c), Sequence(0), &lags);
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
