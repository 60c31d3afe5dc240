//! An account in its regions: each with an engine and its part in replication, the links between
//! them, and what operators do to both.
//!
//! An account of one region is a [`Region`] that is alone: an engine, and nothing to ask before it
//! answers. Otherwise an [`Account`] holds the regions of this process, or one
//! region whose others are in processes of their own ([`Peers`]).

mod account;
mod admission;
mod codec;
mod control;
mod driver;
mod frame;
mod link;
mod locations;
mod member_orders;
mod options;
mod orders;
mod partition_orders;
mod partitions;
mod peers;
mod region;
mod waits;

pub use account::{Account, StartError};
pub use codec::{decode_frame, decode_note, encode_frame, encode_note};
pub use control::{
    Behind, ControlError, LinkOrder, LinkReport, Order, PartitionAddress, PartitionReport,
    RegionReport, RegionState, Report,
};
pub use frame::{Frame, PartitionsFrame, SnapshotFrame};
pub use link::{
    Inbox, Links, PeerError, PeerIdentity, Remote, Shape, ShapeReport, peer_certificates,
};
pub use locations::{Location, Locations};
pub use options::{AccountOptions, Bound, RegionOptions};
pub use peers::Peers;
pub use region::{Availability, Region};
