//! The versions of one item that did not see each other.
//!
//! An item is the set of its *maximal* versions: those that no other version has seen. A change
//! takes out what its origin had applied and adds itself, so the set is the same in whatever order
//! changes arrive, as long as they arrive after what they depend on. Which of them readers see is
//! then chosen by a total order, and the choice is made anew each time.
//!
//! Choosing when a change arrives and dropping the loser, which looks simpler, is wrong: let A with
//! value 10 and B with value 20 be concurrent, and C with value 3 follow B. Who sees A and B first
//! drops A and ends with C; who sees B and C first ends with A. Losers are dropped when every later
//! change will have seen them ([`crate::Mesh::horizon`]); until then they are a few bytes.
//!
//! Versions are told apart by their stamps alone. Since deliveries respect causality, no stored
//! version can have seen an arriving one; what an arriving one has seen is in its `deps`.

use std::cmp::Ordering;

use crate::{Epoch, Progress, RegionId, Sequence, StreamId};

/// Where a version was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    pub origin: RegionId,
    pub sequence: Sequence,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Version<B> {
    pub stamp: Stamp,
    pub change: Change,
    pub etag: u64,
    /// Set if the hub made this to settle a conflict: its epoch then. Two such versions that did not
    /// see each other, of two hubs, are a conflict like any other: if the later one made the
    /// earlier void, a change that followed the later one would not, and regions would end apart.
    pub decided: Option<Epoch>,
    /// What the version claims of unique keys, as digests.
    pub claims: Vec<u64>,
    pub body: B,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// With the number that the policy compares.
    Put(f64),
    Delete,
    /// Its time was over where this was made. Loses against whatever did not know that, or a write
    /// that renews an item would be lost to a clock.
    Expiry,
}

/// What becomes of versions that did not see each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    LastWriterWins,
    /// The hub decides, by a procedure or by listing the conflict, and writes what it decided.
    ByHub,
}

/// What a change did to its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    /// Nothing is left that it had not seen.
    Replaced,
    /// It is shown, and others that it had not seen are not.
    Wins,
    /// Something that it had not seen is shown.
    Loses,
}

/// An item: its maximal versions, the one that is shown first.
#[derive(Clone, Debug, PartialEq)]
pub struct Siblings<B>(Vec<Version<B>>);

impl<B> Default for Siblings<B> {
    fn default() -> Siblings<B> {
        Siblings(Vec::new())
    }
}

impl<B> Siblings<B> {
    /// Applies a change that was made when its origin had applied `deps`.
    pub fn merge(&mut self, incoming: Version<B>, deps: &Progress) -> Merged {
        let stamp = incoming.stamp;
        self.0.retain(|version| {
            let stream = StreamId::Region(version.stamp.origin);
            !deps.has(stream, version.stamp.sequence)
        });
        self.0.push(incoming);
        self.0.sort_by(|left, right| precedence(right, left));
        match self.0.first() {
            Some(_) if self.0.len() == 1 => Merged::Replaced,
            Some(first) if first.stamp == stamp => Merged::Wins,
            _ => Merged::Loses,
        }
    }

    /// What readers see; none if the item is gone.
    pub fn shown(&self) -> Option<&Version<B>> {
        self.0
            .first()
            .filter(|version| matches!(version.change, Change::Put(_)))
    }

    /// The version that stands, a tombstone included.
    pub fn standing(&self) -> Option<&Version<B>> {
        self.0.first()
    }

    /// Whether the hub has to decide: versions stand that did not see each other, and not all of
    /// them are gone.
    pub fn is_undecided(&self, resolution: Resolution) -> bool {
        let has_put = self
            .0
            .iter()
            .any(|version| matches!(version.change, Change::Put(_)));
        resolution == Resolution::ByHub && self.0.len() > 1 && has_put
    }

    pub fn versions(&self) -> &[Version<B>] {
        &self.0
    }

    /// Forgets what cannot matter any more: losers, and tombstones that have nothing beside them, once
    /// every later change will have seen them.
    pub fn prune(&mut self, horizon: &Progress, resolution: Resolution) {
        let is_old = |version: &Version<B>| {
            horizon.has(
                StreamId::Region(version.stamp.origin),
                version.stamp.sequence,
            )
        };
        if resolution == Resolution::LastWriterWins {
            let mut is_first = true;
            self.0
                .retain(|version| std::mem::take(&mut is_first) || !is_old(version));
        }
        let is_gone = |version: &Version<B>| !matches!(version.change, Change::Put(_));
        if self
            .0
            .iter()
            .all(|version| is_gone(version) && is_old(version))
        {
            self.0.clear();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The order of versions: the greater stands. Deletes over puts over expiries; then the greater
/// number, the lower region, the greater entity tag.
pub(super) fn precedence<B>(left: &Version<B>, right: &Version<B>) -> Ordering {
    let rank = |version: &Version<B>| match version.change {
        Change::Delete => 2,
        Change::Put(_) => 1,
        Change::Expiry => 0,
    };
    let number = |version: &Version<B>| match version.change {
        Change::Put(number) => number,
        Change::Delete | Change::Expiry => 0.0,
    };
    rank(left)
        .cmp(&rank(right))
        .then_with(|| number(left).total_cmp(&number(right)))
        .then_with(|| right.stamp.origin.cmp(&left.stamp.origin))
        .then_with(|| left.etag.cmp(&right.etag))
        .then_with(|| left.stamp.sequence.cmp(&right.stamp.sequence))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Made = (Version<()>, Progress);

    fn made(origin: u8, sequence: u64, change: Change, saw: &[(u8, u64)]) -> Made {
        let version = Version {
            stamp: Stamp {
                origin: RegionId(origin),
                sequence: Sequence(sequence),
            },
            change,
            etag: 0,
            decided: None,
            claims: Vec::new(),
            body: (),
        };
        let entry = |(region, sequence): &(u8, u64)| {
            (StreamId::Region(RegionId(*region)), Sequence(*sequence))
        };
        (version, saw.iter().map(entry).collect())
    }

    /// Merges in every order that respects causality; all must agree.
    fn merge_all(changes: &[Made]) -> Siblings<()> {
        let mut ends: Vec<Siblings<()>> = Vec::new();
        let mut orders = vec![(Siblings::default(), Progress::default(), Vec::new())];
        while let Some((siblings, applied, done)) = orders.pop() {
            if done.len() == changes.len() {
                ends.push(siblings);
                continue;
            }
            for (index, (version, deps)) in changes.iter().enumerate() {
                if done.contains(&index) || !applied.covers(deps) {
                    continue;
                }
                let (mut siblings, mut applied, mut done) =
                    (siblings.clone(), applied.clone(), done.clone());
                siblings.merge(version.clone(), deps);
                applied.advance(
                    StreamId::Region(version.stamp.origin),
                    version.stamp.sequence,
                );
                done.push(index);
                orders.push((siblings, applied, done));
            }
        }
        assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
        ends.swap_remove(0)
    }

    #[test]
    fn every_order_ends_alike() {
        let put = Change::Put;
        for (changes, stands) in [
            // The example of the module.
            (
                vec![
                    made(0, 1, put(10.0), &[]),
                    made(1, 1, put(20.0), &[]),
                    made(2, 1, put(3.0), &[(1, 1)]),
                ],
                0,
            ),
            (
                vec![made(0, 1, put(5.0), &[]), made(1, 1, put(5.0), &[])],
                0,
            ),
            (
                vec![made(0, 1, put(5.0), &[]), made(1, 1, Change::Delete, &[])],
                1,
            ),
            (
                vec![made(0, 1, Change::Expiry, &[]), made(1, 1, put(-1.0), &[])],
                1,
            ),
            (
                vec![
                    made(0, 1, Change::Delete, &[]),
                    made(1, 1, put(1.0), &[(0, 1)]),
                    made(2, 1, put(9.0), &[]),
                ],
                2,
            ),
            (
                vec![made(0, 1, put(1.0), &[]), made(0, 2, put(0.0), &[(0, 1)])],
                0,
            ),
        ] {
            let end = merge_all(&changes);
            let standing = end.standing().unwrap();
            assert_eq!(standing.stamp.origin, RegionId(stands), "{end:?}");
        }
    }

    /// Whether the second hub's decision was already written over when the first one's arrives must not
    /// matter.
    #[test]
    fn what_two_hubs_decided_stands_until_somebody_has_seen_both() {
        let mut first = made(0, 1, Change::Put(9.0), &[]);
        let mut second = made(1, 1, Change::Put(1.0), &[]);
        first.0.decided = Some(Epoch(1));
        second.0.decided = Some(Epoch(2));
        let after = made(1, 2, Change::Put(2.0), &[(1, 1)]);
        let end = merge_all(&[first.clone(), second.clone(), after.clone()]);
        assert!(end.is_undecided(Resolution::ByHub));
        assert_eq!(end.standing().unwrap().stamp.origin, RegionId(0));
        let both = made(2, 1, Change::Put(0.0), &[(0, 1), (1, 2)]);
        let end = merge_all(&[first, second, after, both]);
        assert_eq!(end.versions().len(), 1);
    }

    #[test]
    fn only_what_everybody_saw_is_forgotten() {
        let mut siblings = Siblings::default();
        for (version, deps) in [
            made(0, 1, Change::Put(1.0), &[]),
            made(1, 1, Change::Delete, &[]),
        ] {
            siblings.merge(version, &deps);
        }
        let (_, loser_seen) = made(9, 9, Change::Delete, &[(0, 1)]);
        let (_, both_seen) = made(9, 9, Change::Delete, &[(0, 1), (1, 1)]);
        let mut manual = siblings.clone();
        manual.prune(&both_seen, Resolution::ByHub);
        assert!(manual.is_undecided(Resolution::ByHub));
        siblings.prune(&Progress::default(), Resolution::LastWriterWins);
        assert_eq!(siblings.versions().len(), 2);
        siblings.prune(&loser_seen, Resolution::LastWriterWins);
        assert_eq!(siblings.versions().len(), 1);
        siblings.prune(&both_seen, Resolution::LastWriterWins);
        assert!(siblings.is_empty());

        let mut gone = Siblings::default();
        for (version, deps) in [
            made(0, 1, Change::Expiry, &[]),
            made(1, 1, Change::Delete, &[]),
        ] {
            gone.merge(version, &deps);
        }
        gone.prune(&loser_seen, Resolution::ByHub);
        assert_eq!(gone.versions().len(), 2);
        gone.prune(&both_seen, Resolution::ByHub);
        assert!(gone.is_empty());
    }
}
