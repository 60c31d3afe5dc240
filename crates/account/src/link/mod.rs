//! The links between regions: each delivers frames in order or drops them.
//!
//! A region has one [`Links`]: it sends frames without waiting and receives all frames from one
//! [`Inbox`]. Each direction between two regions is a [`ShapedLink`], which operators and tests can
//! delay, pause, step through and cut, so that one machine can reproduce the behaviour of distant
//! regions. A link may drop a frame and never duplicates one; the protocol of `orrery-regions`
//! repeats unanswered requests.

mod gate;
mod links;
mod load;
mod remote;
mod shaped_link;
mod sink;

#[cfg(test)]
pub(crate) mod testing;

pub use links::{Inbox, Links};
pub use remote::{PeerError, PeerIdentity, RemoteLinks, peer_certificates};
pub use shaped_link::{LinkStats, ShapedLink};
