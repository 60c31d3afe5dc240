//! Single partitions whose writes another region takes than the write region.
//!
//! In an account that fails over partitions every region has a stream of its own, as where all write, but
//! of each key one region alone takes the writes: the write region of the account, or whoever a record of
//! the account stream names ([`RangeMove`]). Each region folds these records into the same
//! [`Ownership`]; whoever was named opens when it has what the owners before it had written until they
//! heard of it. The write region moves what failed by itself ([`Watch`]), operators move what they like.
//! The [`Keeper`] of a region puts it together, and does no I/O.

mod board;
mod keeper;
mod moves;
mod ownership;
#[cfg(test)]
mod simulation;
mod watch;

pub(crate) use board::{Board, Seen};
pub(crate) use keeper::{Keeper, Sight};
pub(crate) use moves::RangeMove;

use board::Moved;
use ownership::{Holds, Ownership};
use watch::{Scene, Watch};
