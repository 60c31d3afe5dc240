//! An account in its regions: each with an engine and its part in replication, the links between
//! them, and what operators do to both.
//!
//! An account of one region is a [`Region`] that is alone: an engine, and nothing to ask before it
//! answers. Otherwise an [`Account`] holds the regions of this process.

mod account;
mod control;
mod frame;
mod locations;
mod options;
mod region;

pub use account::Account;
pub use control::{
    Behind, ControlError, LinkOrder, LinkReport, Order, RegionReport, RegionState, Report,
};
pub use frame::{Frame, SnapshotFrame};
pub use locations::{Location, Locations};
pub use options::{AccountOptions, Bound, RegionOptions};
pub use region::{Availability, Region};
