//! Where a link ends.

use std::sync::{Arc, OnceLock};

use orrery_regions::RegionId;
use tokio::sync::mpsc;

use super::load::bytes_of;
use super::remote::{Envelope, Queue};
use crate::Frame;

pub(super) enum Sink {
    /// The inbox of a region of this process.
    Local {
        from: Arc<OnceLock<RegionId>>,
        inbox: mpsc::UnboundedSender<(RegionId, Frame)>,
    },
    /// What waits for the connection to another process.
    Remote {
        from: Arc<OnceLock<RegionId>>,
        /// None as long as only its name is known.
        to: Option<RegionId>,
        queue: Arc<Queue>,
    },
}

impl Sink {
    /// False if nobody takes it.
    pub(super) fn deliver(&self, frame: Frame) -> bool {
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

    /// Loses what is under way.
    pub(super) fn sever(&self) {
        match self {
            Sink::Local { .. } => {}
            Sink::Remote { queue, .. } => queue.sever(),
        }
    }

    /// The region at the other end is this one.
    pub(super) fn place(&mut self, region: RegionId) {
        match self {
            Sink::Local { .. } => {}
            Sink::Remote { to, .. } => *to = Some(region),
        }
    }
}
