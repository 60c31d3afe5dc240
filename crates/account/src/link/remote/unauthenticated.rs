//! Incoming connections on which no region has yet proved its name.
//!
//! At most `max` such connections may wait. When another one arrives, the listener closes one of
//! them: the oldest connection that has not sent a byte, or, if every connection has sent bytes,
//! the oldest of all. A region sends its first bytes as soon as it has connected, so silent
//! connections never take its place, however many arrive. Connections that do send bytes take the
//! place of a region only if `max` of them arrive within the time of one greeting.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::AbortHandle;

pub(super) struct UnauthenticatedPeers {
    max: usize,
    /// Each connection with the task that serves it, in the order in which the listener accepted
    /// them.
    waiting: VecDeque<(UnauthenticatedPeer, AbortHandle)>,
}

/// Whether a new connection took a free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddOutcome {
    InFreePlace,
    /// The listener closed another connection for the new one.
    InPlaceOfAnother,
}

/// The state of one connection. Clones share the same flags.
#[derive(Clone, Default)]
pub(super) struct UnauthenticatedPeer {
    has_spoken: Arc<AtomicBool>,
    is_known: Arc<AtomicBool>,
}

impl UnauthenticatedPeer {
    pub(super) fn speaks(&self) {
        self.has_spoken.store(true, Ordering::Relaxed);
    }

    /// Records that a region has proved its name on the connection, so that [`UnauthenticatedPeers`] no longer
    /// closes it.
    pub(super) fn is_greeted(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

impl UnauthenticatedPeers {
    pub(super) fn new(max: usize) -> UnauthenticatedPeers {
        UnauthenticatedPeers {
            max,
            waiting: VecDeque::new(),
        }
    }

    /// Adds a connection. `task` serves the connection; aborting `task` closes it.
    pub(super) fn add(&mut self, stranger: UnauthenticatedPeer, task: AbortHandle) -> AddOutcome {
        self.waiting.retain(|(stranger, task)| {
            !task.is_finished() && !stranger.is_known.load(Ordering::Relaxed)
        });
        let is_full = self.waiting.len() >= self.max;
        if is_full {
            let is_silent = |(stranger, _): &(UnauthenticatedPeer, AbortHandle)| {
                !stranger.has_spoken.load(Ordering::Relaxed)
            };
            let index = self.waiting.iter().position(is_silent).unwrap_or(0);
            if let Some((_, task)) = self.waiting.remove(index) {
                task.abort();
            }
        }
        self.waiting.push_back((stranger, task));
        if is_full {
            AddOutcome::InPlaceOfAnother
        } else {
            AddOutcome::InFreePlace
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn silent_connections_are_evicted_first() {
        let mut strangers = UnauthenticatedPeers::new(3);
        let mut tasks = Vec::new();
        for number in 0..7 {
            let stranger = UnauthenticatedPeer::default();
            match number {
                0 => stranger.is_greeted(),
                1 | 2 => stranger.speaks(),
                _ => {}
            }
            let task = tokio::spawn(pending::<()>());
            strangers.add(stranger, task.abort_handle());
            tasks.push(task);
        }
        let mut ended = Vec::new();
        tokio::task::yield_now().await;
        for (number, task) in tasks.iter().enumerate() {
            if task.is_finished() {
                ended.push(number);
            }
        }
        assert_eq!(ended, [3, 4, 5]);
        for _ in 0..3 {
            let stranger = UnauthenticatedPeer::default();
            stranger.speaks();
            let task = tokio::spawn(pending::<()>());
            strangers.add(stranger, task.abort_handle());
        }
        tokio::task::yield_now().await;
        let ended = tasks.iter().filter(|task| task.is_finished()).count();
        assert!(ended == 6 && !tasks[0].is_finished(), "{ended}");
    }
}
