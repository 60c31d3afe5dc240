//! The concurrent versions of one item.
//!
//! An item is the set of its *maximal* versions: the versions that are no dependency of another
//! one. A change removes the versions that its origin had applied and adds itself, so every order
//! of arrival that respects dependencies gives the same set. The version that readers see is then
//! chosen by a total order, and the choice is made anew each time.
//!
//! Choosing when a change arrives and dropping the loser, which looks simpler, is wrong: let A with
//! value 10 and B with value 20 be concurrent, and C with value 3 follow B. A region that receives
//! A and B first drops A and ends with C; a region that receives B and C first ends with A. Losers
//! are dropped when every later change has seen them ([`crate::MultiWriteReplica::horizon`]); until
//! then they cost a few bytes.
//!
//! Versions are compared by their ids alone. Since records arrive after their dependencies, no
//! stored version has seen an arriving one; the `deps` of an arriving version list what it has
//! seen.

use std::cmp::Ordering;

use crate::{Epoch, RegionId, Sequence, StreamId, VersionVector};

/// The record that made a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionId {
    pub origin: RegionId,
    pub sequence: Sequence,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SiblingVersion<B> {
    pub id: VersionId,
    pub change: VersionKind,
    pub etag: u64,
    /// Set if the hub made this version to settle a conflict: the hub's epoch then. Two concurrent
    /// decisions of two hubs are a conflict like any other. If the later decision voided the
    /// earlier one, a change that followed the later decision would not, and the regions would
    /// diverge.
    pub deciding_epoch: Option<Epoch>,
    /// Digests of the unique key values of the version.
    pub unique_claims: Vec<u64>,
    pub body: B,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VersionKind {
    /// A write, with the number that the conflict resolution policy compares.
    Put(f64),
    Delete,
    /// The time to live of the item ended at the origin. An expiry loses against every concurrent
    /// change: otherwise the clock of one region would delete an item that another region has
    /// renewed.
    Expiry,
}

/// How an account settles concurrent versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictResolution {
    LastWriterWins,
    /// The hub decides by a stored procedure or lists the conflict, and writes its decision.
    ByHub,
}

/// The effect of a change on its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeOutcome {
    /// The item has no version concurrent with the change.
    Replaced,
    /// The change is concurrent with other versions and readers see the change.
    Wins,
    /// The change is concurrent with another version and readers see that version.
    Loses,
}

/// An item: its maximal versions, the visible version first.
#[derive(Clone, Debug, PartialEq)]
pub struct Siblings<B>(Vec<SiblingVersion<B>>);

impl<B> Default for Siblings<B> {
    fn default() -> Siblings<B> {
        Siblings(Vec::new())
    }
}

impl<B> Siblings<B> {
    /// Applies a change whose origin had applied `deps` at the commit.
    pub fn merge(&mut self, incoming: SiblingVersion<B>, deps: &VersionVector) -> MergeOutcome {
        let id = incoming.id;
        self.0.retain(|version| {
            let stream = StreamId::Region(version.id.origin);
            !deps.includes(stream, version.id.sequence)
        });
        self.0.push(incoming);
        self.0.sort_by(|left, right| precedence(right, left));
        match self.0.first() {
            Some(_) if self.0.len() == 1 => MergeOutcome::Replaced,
            Some(first) if first.id == id => MergeOutcome::Wins,
            _ => MergeOutcome::Loses,
        }
    }

    /// The version that readers see; none if the item is deleted.
    pub fn visible(&self) -> Option<&SiblingVersion<B>> {
        self.0
            .first()
            .filter(|version| matches!(version.change, VersionKind::Put(_)))
    }

    /// The winning version, a tombstone included.
    pub fn winner(&self) -> Option<&SiblingVersion<B>> {
        self.0.first()
    }

    /// Whether the hub has to decide: the item has concurrent versions, and at least one is a
    /// write.
    pub fn is_undecided(&self, resolution: ConflictResolution) -> bool {
        let has_put = self
            .0
            .iter()
            .any(|version| matches!(version.change, VersionKind::Put(_)));
        resolution == ConflictResolution::ByHub && self.0.len() > 1 && has_put
    }

    pub fn versions(&self) -> &[SiblingVersion<B>] {
        &self.0
    }

    /// Forgets the losers behind the horizon, and a tombstone behind it that is alone: every later
    /// change has seen them, so that they cannot affect a merge.
    pub fn prune(&mut self, horizon: &VersionVector, resolution: ConflictResolution) {
        let is_old = |version: &SiblingVersion<B>| {
            horizon.includes(StreamId::Region(version.id.origin), version.id.sequence)
        };
        if resolution == ConflictResolution::LastWriterWins {
            let mut is_first = true;
            self.0
                .retain(|version| std::mem::take(&mut is_first) || !is_old(version));
        }
        let is_gone = |version: &SiblingVersion<B>| !matches!(version.change, VersionKind::Put(_));
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

/// The total order of versions; the greater version wins. Deletes win over writes, and writes over
/// expiries; then the greater number, the lower region id and the greater entity tag win.
pub(super) fn precedence<B>(left: &SiblingVersion<B>, right: &SiblingVersion<B>) -> Ordering {
    let rank = |version: &SiblingVersion<B>| match version.change {
        VersionKind::Delete => 2,
        VersionKind::Put(_) => 1,
        VersionKind::Expiry => 0,
    };
    let number = |version: &SiblingVersion<B>| match version.change {
        VersionKind::Put(number) => number,
        VersionKind::Delete | VersionKind::Expiry => 0.0,
    };
    rank(left)
        .cmp(&rank(right))
        .then_with(|| number(left).total_cmp(&number(right)))
        .then_with(|| right.id.origin.cmp(&left.id.origin))
        .then_with(|| left.etag.cmp(&right.etag))
        .then_with(|| left.id.sequence.cmp(&right.id.sequence))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Made = (SiblingVersion<()>, VersionVector);

    fn made(origin: u8, sequence: u64, change: VersionKind, saw: &[(u8, u64)]) -> Made {
        let version = SiblingVersion {
            id: VersionId {
                origin: RegionId(origin),
                sequence: Sequence(sequence),
            },
            change,
            etag: 0,
            deciding_epoch: None,
            unique_claims: Vec::new(),
            body: (),
        };
        let entry = |(region, sequence): &(u8, u64)| {
            (StreamId::Region(RegionId(*region)), Sequence(*sequence))
        };
        (version, saw.iter().map(entry).collect())
    }

    /// Merges in every order that respects dependencies; all results must be equal.
    fn merge_all(changes: &[Made]) -> Siblings<()> {
        let mut ends: Vec<Siblings<()>> = Vec::new();
        let mut orders = vec![(Siblings::default(), VersionVector::default(), Vec::new())];
        while let Some((siblings, applied, done)) = orders.pop() {
            if done.len() == changes.len() {
                ends.push(siblings);
                continue;
            }
            for (index, (version, deps)) in changes.iter().enumerate() {
                if done.contains(&index) || !applied.includes_all(deps) {
                    continue;
                }
                let (mut siblings, mut applied, mut done) =
                    (siblings.clone(), applied.clone(), done.clone());
                siblings.merge(version.clone(), deps);
                applied.advance(StreamId::Region(version.id.origin), version.id.sequence);
                done.push(index);
                orders.push((siblings, applied, done));
            }
        }
        assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
        ends.swap_remove(0)
    }

    #[test]
    fn siblings_converge_in_every_merge_order() {
        let put = VersionKind::Put;
        for (changes, expected) in [
            // The example in the head of this module.
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
                vec![
                    made(0, 1, put(5.0), &[]),
                    made(1, 1, VersionKind::Delete, &[]),
                ],
                1,
            ),
            (
                vec![
                    made(0, 1, VersionKind::Expiry, &[]),
                    made(1, 1, put(-1.0), &[]),
                ],
                1,
            ),
            (
                vec![
                    made(0, 1, VersionKind::Delete, &[]),
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
            let winner = end.winner().unwrap();
            assert_eq!(winner.id.origin, RegionId(expected), "{end:?}");
        }
    }

    /// The result must not depend on whether the second hub's decision was already overwritten when
    /// the first hub's decision arrived.
    #[test]
    fn what_two_hubs_decided_stands_until_somebody_has_seen_both() {
        let mut first = made(0, 1, VersionKind::Put(9.0), &[]);
        let mut second = made(1, 1, VersionKind::Put(1.0), &[]);
        first.0.deciding_epoch = Some(Epoch(1));
        second.0.deciding_epoch = Some(Epoch(2));
        let after = made(1, 2, VersionKind::Put(2.0), &[(1, 1)]);
        let end = merge_all(&[first.clone(), second.clone(), after.clone()]);
        assert!(end.is_undecided(ConflictResolution::ByHub));
        assert_eq!(end.winner().unwrap().id.origin, RegionId(0));
        let both = made(2, 1, VersionKind::Put(0.0), &[(0, 1), (1, 2)]);
        let end = merge_all(&[first, second, after, both]);
        assert_eq!(end.versions().len(), 1);
    }

    #[test]
    fn only_what_everybody_saw_is_forgotten() {
        let mut siblings = Siblings::default();
        for (version, deps) in [
            made(0, 1, VersionKind::Put(1.0), &[]),
            made(1, 1, VersionKind::Delete, &[]),
        ] {
            siblings.merge(version, &deps);
        }
        let (_, loser_seen) = made(9, 9, VersionKind::Delete, &[(0, 1)]);
        let (_, both_seen) = made(9, 9, VersionKind::Delete, &[(0, 1), (1, 1)]);
        let mut manual = siblings.clone();
        manual.prune(&both_seen, ConflictResolution::ByHub);
        assert!(manual.is_undecided(ConflictResolution::ByHub));
        siblings.prune(
            &VersionVector::default(),
            ConflictResolution::LastWriterWins,
        );
        assert_eq!(siblings.versions().len(), 2);
        siblings.prune(&loser_seen, ConflictResolution::LastWriterWins);
        assert_eq!(siblings.versions().len(), 1);
        siblings.prune(&both_seen, ConflictResolution::LastWriterWins);
        assert!(siblings.is_empty());

        let mut gone = Siblings::default();
        for (version, deps) in [
            made(0, 1, VersionKind::Expiry, &[]),
            made(1, 1, VersionKind::Delete, &[]),
        ] {
            gone.merge(version, &deps);
        }
        gone.prune(&loser_seen, ConflictResolution::ByHub);
        assert_eq!(gone.versions().len(), 2);
        gone.prune(&both_seen, ConflictResolution::ByHub);
        assert!(gone.is_empty());
    }
}
