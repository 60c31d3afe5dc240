//! Counts the connections that were opened, and those that were closed or refused, by [`Reason`].

use std::sync::atomic::{AtomicU64, Ordering};

use super::rules::Reason;

/// The counters of one listener.
#[derive(Default)]
pub(crate) struct Counts {
    opened: AtomicU64,
    closed: [AtomicU64; Reason::ALL.len()],
}

impl Counts {
    /// Counts a connection that was accepted.
    pub(super) fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that the server closed or refused.
    pub(super) fn closed(&self, reason: Reason) {
        if let Some(count) = self.closed.get(reason as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn let_in(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn of(&self, reason: Reason) -> u64 {
        let count = self.closed.get(reason as usize);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }
}
