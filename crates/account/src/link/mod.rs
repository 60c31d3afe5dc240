//! The links between regions: what one region sends to another, in order, or not at all.
//!
//! A region has one [`Links`]: it sends without waiting and takes everything that arrives from one
//! [`Inbox`]. Each direction between two regions is a [`Shape`], which can be delayed, paused, stepped
//! through and cut, so that what happens between far regions can be had on one machine and in a
//! test. Frames may be lost, and a frame is never sent twice; the protocol of `orrery-regions` asks
//! again for whatever did not come.

mod gate;
mod links;
mod load;
mod remote;
mod shape;
mod sink;

#[cfg(test)]
pub(crate) mod testing;

pub use links::{Inbox, Links};
pub use remote::{PeerError, PeerIdentity, Remote, peer_certificates};
pub use shape::{Shape, ShapeReport};
