//! An account and its regions: an engine and a replica for each region, the links between regions,
//! and the orders of operators to both.
//!
//! An account of one region is a [`Region`] without replication: an engine that answers without
//! asking another region. In every other account, an [`Account`] has the regions of this process,
//! or one region whose peers run in processes of their own ([`PeerOptions`]).

mod account;
mod admission;
mod codec;
mod control;
mod driver;
mod endpoints;
mod frame;
mod link;
mod locations;
mod member_orders;
mod options;
mod orders;
mod partition_orders;
mod partitions;
mod peer_options;
mod region;
mod replication;
mod waits;

pub use account::{Account, StartError};
pub use codec::{decode_frame, decode_note, encode_frame, encode_note};
pub use control::{
    AccountReport, ControlError, LinkLag, LinkOrder, LinkReport, OperatorOrder, PartitionAddress,
    PartitionReport, RegionReport, RegionState,
};
pub use driver::region_store;
pub use frame::{LinkFrame, PartitionsFrame, SnapshotFrame};
pub use link::{
    Inbox, LinkStats, Links, PeerError, PeerIdentity, RemoteLinks, ShapedLink, peer_certificates,
};
pub use locations::{Location, Locations};
pub use options::{AccountOptions, RegionOptions, StalenessPolicy};
pub use orrery_regions::AccountMode;
pub use peer_options::PeerOptions;
pub use region::{Availability, Region};
