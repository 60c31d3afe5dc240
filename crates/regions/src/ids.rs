//! The small numbers that name regions, epochs, sequences, streams and times.

use std::fmt;

/// A region of an account. The account numbers its regions in the order of addition and never
/// reuses a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u8);

/// The right to write the account stream: rises with every change of the write region.
///
/// The low byte is the region that writes in the epoch, the rest counts. Two regions that are
/// promoted on two sides of a cut therefore never have the same epoch, whatever the operators there
/// do, and every epoch names its write region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The ordinal of a record in its stream: the first record is 1, each next record one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// A sequence of records with one author at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamId {
    /// Written by the write region of the epoch, or by the hub of a multi-write account: there the
    /// account stream has only the catalogue and the members.
    Account,
    /// Items that one region of a multi-write account wrote.
    Region(RegionId),
}

/// A time of a monotonic clock; only differences of two times of the same clock mean anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Epoch {
    /// The epoch before the first write region.
    pub const NONE: Epoch = Epoch(0);

    /// The lowest epoch of a region above this epoch.
    #[must_use]
    pub fn next(self, region: RegionId) -> Epoch {
        Epoch(((self.0 >> 8) + 1) << 8 | u64::from(region.0))
    }

    /// The region that writes in this epoch; none before the first epoch.
    pub fn write_region(self) -> Option<RegionId> {
        (self != Epoch::NONE).then_some(RegionId(self.0.to_le_bytes()[0]))
    }
}

impl Sequence {
    /// The sequence before the first record.
    pub const ZERO: Sequence = Sequence(0);

    #[must_use]
    pub fn next(self) -> Sequence {
        Sequence(self.0 + 1)
    }

    /// How many records this sequence is beyond another; zero if it is not beyond it.
    pub fn beyond(self, other: Sequence) -> u64 {
        self.0.saturating_sub(other.0)
    }
}

impl Millis {
    /// How many milliseconds this time is after an earlier time; zero if it is earlier itself.
    pub fn since(self, earlier: Millis) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    #[must_use]
    pub fn plus(self, millis: u64) -> Millis {
        Millis(self.0.saturating_add(millis))
    }

    #[must_use]
    pub fn minus(self, millis: u64) -> Millis {
        Millis(self.0.saturating_sub(millis))
    }
}

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.0 >> 8, self.0 & 0xff)
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamId::Account => f.write_str("account"),
            StreamId::Region(region) => write!(f, "region {region}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_rise_and_name_their_region() {
        let first = Epoch::NONE.next(RegionId(3));
        assert_eq!(first.write_region(), Some(RegionId(3)));
        assert_eq!(Epoch::NONE.write_region(), None);
        let (left, right) = (first.next(RegionId(0)), first.next(RegionId(1)));
        assert!(first < left && left < right && right < left.next(RegionId(0)));
        assert_eq!(left.to_string(), "2@0");
    }
}
