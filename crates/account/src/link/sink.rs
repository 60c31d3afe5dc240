//! Where a link ends.

use std::sync::{Arc, OnceLock};

use orrery_regions::RegionId;
use tokio::sync::mpsc;

use crate::Frame;

pub(super) enum Sink {
    /// The inbox of a region of this process.
    Local {
        from: Arc<OnceLock<RegionId>>,
        inbox: mpsc::UnboundedSender<(RegionId, Frame)>,
    },
}

impl Sink {
    /// False if nobody takes it.
    pub(super) fn deliver(&self, frame: Frame) -> bool {
        match self {
            Sink::Local { from, inbox } => from
                .get()
                .is_some_and(|from| inbox.send((*from, frame)).is_ok()),
        }
    }
}
