//! Failover of single partitions: a partition may have another owner than the write region.
//!
//! In such an account every region has a stream of its own, as in a multi-write account, but each
//! key has one owner, which alone takes its writes: the write region of the account, or the region
//! that a record of the account stream names ([`RangeMove`]). Each region folds these records into
//! the same [`Ownership`]. A new owner opens its keys when it has applied everything that the
//! earlier owners wrote before they applied the record. The write region moves failed partitions by
//! itself ([`AutomaticFailover`]); operators move any partition. [`PartitionFailover`] combines
//! these parts for one region and does no I/O.

mod automatic_failover;
mod board;
mod failover;
mod moves;
mod ownership;
#[cfg(test)]
mod simulation;

pub(crate) use board::{FailoverBoard, FailoverStatus};
pub(crate) use failover::{PartitionFailover, RegionView};
pub(crate) use moves::RangeMove;

use automatic_failover::{AutomaticFailover, FailoverView};
use board::RelocatedRange;
use ownership::{AccessConditions, Ownership};
