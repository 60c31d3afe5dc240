//! The receiving end of a link.

use std::sync::{Arc, OnceLock};

use orrery_regions::RegionId;
use tokio::sync::mpsc;

use super::load::bytes_of;
use super::remote::{Envelope, Queue};
use crate::LinkFrame;

pub(super) enum Sink {
    /// The inbox of a region in this process.
    Local {
        from: Arc<OnceLock<RegionId>>,
        inbox: mpsc::UnboundedSender<(RegionId, LinkFrame)>,
    },
    /// The send queue to another process.
    Remote {
        from: Arc<OnceLock<RegionId>>,
        /// Absent as long as the link only has the peer's name.
        to: Option<RegionId>,
        queue: Arc<Queue>,
    },
}

impl Sink {
    /// False if the frame was dropped.
    pub(super) fn deliver(&self, frame: LinkFrame) -> bool {
        match self {
            Sink::Local { from, inbox } => from
                .get()
                .is_some_and(|from| inbox.send((*from, frame)).is_ok()),
            Sink::Remote { from, to, queue } => {
                let (Some(from), Some(to)) = (from.get().copied(), *to) else {
                    return false;
                };
                let bytes = bytes_of(&frame);
                queue.push(Envelope { from, to, frame }, bytes)
            }
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        match self {
            Sink::Local { inbox, .. } => !inbox.is_closed(),
            Sink::Remote { queue, .. } => queue.is_open(),
        }
    }

    /// Drops the frames that wait for the connection.
    pub(super) fn disconnect(&self) {
        match self {
            Sink::Local { .. } => {}
            Sink::Remote { queue, .. } => queue.disconnect(),
        }
    }

    /// Sets the number of the region at the far end.
    pub(super) fn set_region(&mut self, region: RegionId) {
        match self {
            Sink::Local { .. } => {}
            Sink::Remote { to, .. } => *to = Some(region),
        }
    }
}
