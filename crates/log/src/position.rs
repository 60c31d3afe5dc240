//! The position of a record.

use std::fmt;

/// The ordinal of a record in the log: the first record has position 1, and each next record one
/// more.
///
/// [`Position::ZERO`] is the position before the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    pub const ZERO: Position = Position(0);
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
