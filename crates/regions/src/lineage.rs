//! Which epoch wrote which part of the account stream.
//!
//! An epoch begins with one record that only its write region can make, so two regions whose
//! lineages name the same epoch for a sequence have the same records up to it. That is all that is
//! needed to find where histories parted: no record is compared.

use crate::{Epoch, Sequence};

/// The epochs of a stream with their first sequences, both rising.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage(Vec<(Epoch, Sequence)>);

impl Lineage {
    /// The epoch of a record; [`Epoch::NONE`] for a sequence before the first record.
    pub fn epoch_at(&self, sequence: Sequence) -> Epoch {
        let after = self.0.partition_point(|(_, first)| *first <= sequence);
        let found = after.checked_sub(1).and_then(|index| self.0.get(index));
        found.map_or(Epoch::NONE, |(epoch, _)| *epoch)
    }

    /// The newest epoch.
    pub fn newest(&self) -> Epoch {
        self.0.last().map_or(Epoch::NONE, |(epoch, _)| *epoch)
    }

    /// The first record of an epoch.
    pub fn first_of(&self, epoch: Epoch) -> Option<Sequence> {
        let found = self.0.iter().find(|(known, _)| *known == epoch);
        found.map(|(_, first)| *first)
    }

    /// The last record of an epoch in a stream that ends at `last`; none if the stream lacks the
    /// epoch.
    pub fn last_of(&self, epoch: Epoch, last: Sequence) -> Option<Sequence> {
        let index = self.0.iter().position(|(known, _)| *known == epoch)?;
        let next = self.0.get(index + 1);
        Some(next.map_or(last, |(_, first)| Sequence(first.0 - 1)))
    }

    /// Adds the epoch of a record, if it is newer than the newest one.
    pub fn record(&mut self, epoch: Epoch, sequence: Sequence) {
        if epoch > self.newest() {
            self.0.push((epoch, sequence));
        }
    }

    /// The lineage of the prefix that ends at `last`.
    #[must_use]
    pub fn upto(&self, last: Sequence) -> Lineage {
        let epochs = self.0.iter().filter(|(_, first)| *first <= last);
        Lineage(epochs.copied().collect())
    }

    /// The last record that two streams have in common, given where each ends.
    pub fn common(&self, last: Sequence, other: &Lineage, other_last: Sequence) -> Sequence {
        let shared = self.0.iter().rev().find_map(|(epoch, _)| {
            let mine = self.last_of(*epoch, last)?;
            let theirs = other.last_of(*epoch, other_last)?;
            Some(mine.min(theirs))
        });
        shared.unwrap_or(Sequence::ZERO)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Epoch, Sequence)> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<(Epoch, Sequence)> for Lineage {
    fn from_iter<T: IntoIterator<Item = (Epoch, Sequence)>>(entries: T) -> Lineage {
        let mut lineage = Lineage::default();
        for (epoch, first) in entries {
            lineage.record(epoch, first);
        }
        lineage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(parts: &[(u64, u64)]) -> Lineage {
        let part = |(epoch, first): &(u64, u64)| (Epoch(*epoch), Sequence(*first));
        parts.iter().map(part).collect()
    }

    #[test]
    fn histories_part_where_their_epochs_do() {
        for (mine, last, other, other_last, common) in [
            (&[(1, 1)][..], 9, &[(1, 1)][..], 7, 7),
            (&[(1, 1)], 9, &[(1, 1), (2, 6)], 8, 5),
            (&[(1, 1), (2, 6)], 9, &[(1, 1), (3, 4)], 8, 3),
            (&[(1, 1), (2, 6)], 9, &[(1, 1), (2, 6), (3, 8)], 8, 7),
            (&[(1, 1)], 2, &[(1, 1), (2, 6)], 8, 2),
            (&[], 0, &[(1, 1)], 8, 0),
            (&[(2, 1)], 3, &[(3, 1)], 8, 0),
        ] {
            let (mine, other) = (lineage(mine), lineage(other));
            let (last, other_last) = (Sequence(last), Sequence(other_last));
            assert_eq!(mine.common(last, &other, other_last), Sequence(common));
            assert_eq!(other.common(other_last, &mine, last), Sequence(common));
        }
    }

    #[test]
    fn epochs_are_found_by_sequence() {
        let lineage = lineage(&[(1, 1), (2, 6)]);
        for (sequence, epoch) in [(0, 0), (1, 1), (5, 1), (6, 2), (90, 2)] {
            assert_eq!(lineage.epoch_at(Sequence(sequence)), Epoch(epoch));
        }
        assert_eq!(lineage.last_of(Epoch(1), Sequence(8)), Some(Sequence(5)));
        assert_eq!(lineage.upto(Sequence(5)).newest(), Epoch(1));
    }
}
