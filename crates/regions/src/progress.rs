//! How much of every stream somebody has: a vector of sequences.

use std::collections::BTreeMap;

use crate::{Sequence, StreamId};

/// For each stream the last record that is had, all before it included. Streams that are not
/// listed stand at [`Sequence::ZERO`], so an empty vector and one of zeros are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress(BTreeMap<StreamId, Sequence>);

impl Progress {
    pub fn of(&self, stream: StreamId) -> Sequence {
        self.0.get(&stream).copied().unwrap_or_default()
    }

    /// Whether a record is had.
    pub fn has(&self, stream: StreamId, sequence: Sequence) -> bool {
        self.of(stream) >= sequence
    }

    /// Whether everything that the other has is had.
    pub fn covers(&self, other: &Progress) -> bool {
        other
            .iter()
            .all(|(stream, sequence)| self.has(stream, sequence))
    }

    /// Goes on to a record; a step back changes nothing.
    pub fn advance(&mut self, stream: StreamId, sequence: Sequence) {
        if sequence > self.of(stream) {
            self.0.insert(stream, sequence);
        }
    }

    /// Whatever either has.
    pub fn merge(&mut self, other: &Progress) {
        for (stream, sequence) in other.iter() {
            self.advance(stream, sequence);
        }
    }

    /// Only what both have.
    #[must_use]
    pub fn common(&self, other: &Progress) -> Progress {
        self.iter()
            .map(|(stream, sequence)| (stream, sequence.min(other.of(stream))))
            .collect()
    }

    /// The first stream in which the other has more.
    pub fn lacks(&self, other: &Progress) -> Option<(StreamId, Sequence)> {
        other
            .iter()
            .find(|(stream, sequence)| !self.has(*stream, *sequence))
    }

    pub fn iter(&self) -> impl Iterator<Item = (StreamId, Sequence)> + '_ {
        self.0.iter().map(|(stream, sequence)| (*stream, *sequence))
    }
}

impl FromIterator<(StreamId, Sequence)> for Progress {
    fn from_iter<T: IntoIterator<Item = (StreamId, Sequence)>>(entries: T) -> Progress {
        let mut progress = Progress::default();
        for (stream, sequence) in entries {
            progress.advance(stream, sequence);
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegionId;

    fn at(account: u64, first: u64) -> Progress {
        [
            (StreamId::Account, Sequence(account)),
            (StreamId::Region(RegionId(0)), Sequence(first)),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn vectors_compare_by_every_entry() {
        for (left, right, covers) in [
            (at(0, 0), Progress::default(), true),
            (Progress::default(), at(0, 0), true),
            (at(2, 1), at(1, 1), true),
            (at(2, 1), at(1, 2), false),
            (Progress::default(), at(0, 1), false),
        ] {
            assert_eq!(left.covers(&right), covers, "{left:?} {right:?}");
            assert_eq!(left.lacks(&right).is_none(), covers);
        }
        assert_eq!(at(2, 1).common(&at(1, 2)), at(1, 1));
        let mut both = at(2, 1);
        both.merge(&at(1, 2));
        assert_eq!(both, at(2, 2));
    }
}
