//! The driver of a region: its task, its stored metadata and its copies.
//!
//! [`Driver`](task::Driver) is the task: a loop over messages and clock ticks that carries out the
//! effects of the region's state machines in order. Two strategies add what depends on the regions
//! that take writes: `one_region` and `every_region`; the latter also serves accounts in which
//! partitions fail over by owner.

mod account_effects;
mod diverged_suffix;
mod every_region;
mod install;
mod one_region;
mod pages;
mod peer_announcer;
mod region_directory;
mod shared_replica;
mod snapshot_transfer;
mod start;
mod task;

pub(crate) use self::diverged_suffix::DivergedSuffix;
pub(crate) use self::every_region::{StalenessView, propose};
pub(crate) use self::one_region::refusal;
pub use self::region_directory::region_store;
pub(crate) use self::region_directory::{RegionDirectory, RegionMetadata};
pub(crate) use self::shared_replica::SharedReplica;
pub(crate) use self::start::{AccountStream, ReplicaStart, kept_bytes_max, spawn};
use self::task::Driver;
pub(crate) use self::task::DriverParts;

/// Longer than the round trip of the slowest link that is supported.
pub(crate) const RETRY_MS: u64 = 1_000;
