//! A version vector: the last record of every stream that a region has.

use std::collections::BTreeMap;

use crate::{Sequence, StreamId};

/// The last record of each stream; a region that has a record has all records before it. Streams
/// that are not listed stand at [`Sequence::ZERO`], so an empty vector and one of zeros are the
/// same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionVector(BTreeMap<StreamId, Sequence>);

impl VersionVector {
    pub fn of(&self, stream: StreamId) -> Sequence {
        self.0.get(&stream).copied().unwrap_or_default()
    }

    /// Whether this progress includes a record.
    pub fn includes(&self, stream: StreamId, sequence: Sequence) -> bool {
        self.of(stream) >= sequence
    }

    /// Whether this progress includes everything in the other one.
    pub fn includes_all(&self, other: &VersionVector) -> bool {
        other
            .iter()
            .all(|(stream, sequence)| self.includes(stream, sequence))
    }

    /// Advances a stream to a record; an earlier record changes nothing.
    pub fn advance(&mut self, stream: StreamId, sequence: Sequence) {
        if sequence > self.of(stream) {
            self.0.insert(stream, sequence);
        }
    }

    /// The maximum of both vectors in every stream.
    pub fn merge(&mut self, other: &VersionVector) {
        for (stream, sequence) in other.iter() {
            self.advance(stream, sequence);
        }
    }

    /// The minimum of both vectors in every stream.
    #[must_use]
    pub fn common(&self, other: &VersionVector) -> VersionVector {
        self.iter()
            .map(|(stream, sequence)| (stream, sequence.min(other.of(stream))))
            .collect()
    }

    /// The first stream in which the other vector is ahead.
    pub fn first_missing(&self, other: &VersionVector) -> Option<(StreamId, Sequence)> {
        other
            .iter()
            .find(|(stream, sequence)| !self.includes(*stream, *sequence))
    }

    pub fn iter(&self) -> impl Iterator<Item = (StreamId, Sequence)> + '_ {
        self.0.iter().map(|(stream, sequence)| (*stream, *sequence))
    }
}

impl FromIterator<(StreamId, Sequence)> for VersionVector {
    fn from_iter<T: IntoIterator<Item = (StreamId, Sequence)>>(entries: T) -> VersionVector {
        let mut progress = VersionVector::default();
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

    fn at(account: u64, first: u64) -> VersionVector {
        [
            (StreamId::Account, Sequence(account)),
            (StreamId::Region(RegionId(0)), Sequence(first)),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn vectors_compare_by_every_entry() {
        for (left, right, includes_all) in [
            (at(0, 0), VersionVector::default(), true),
            (VersionVector::default(), at(0, 0), true),
            (at(2, 1), at(1, 1), true),
            (at(2, 1), at(1, 2), false),
            (VersionVector::default(), at(0, 1), false),
        ] {
            assert_eq!(
                left.includes_all(&right),
                includes_all,
                "{left:?} {right:?}"
            );
            assert_eq!(left.first_missing(&right).is_none(), includes_all);
        }
        assert_eq!(at(2, 1).common(&at(1, 2)), at(1, 1));
        let mut both = at(2, 1);
        both.merge(&at(1, 2));
        assert_eq!(both, at(2, 2));
    }
}
