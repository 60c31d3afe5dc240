//! The ordinal of a record.

use std::fmt;

/// The ordinal of a record in the whole log: the first is 1, each next is one more.
///
/// [`Position::ZERO`] stands before the first record: "nothing yet".
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
