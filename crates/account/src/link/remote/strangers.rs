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

pub(super) struct Strangers {
    max: usize,
    /// Each connection with the task that serves it, in the order in which the listener accepted
    /// them.
    waiting: VecDeque<(Stranger, AbortHandle)>,
}

/// What the listener knows of one connection. Clones share the same flags.
#[derive(Clone, Default)]
pub(super) struct Stranger {
    has_spoken: Arc<AtomicBool>,
    is_known: Arc<AtomicBool>,
}

impl Stranger {
    pub(super) fn speaks(&self) {
        self.has_spoken.store(true, Ordering::Relaxed);
    }

    /// Records that a region has proved its name on the connection, so that [`Strangers`] no longer
    /// closes it.
    pub(super) fn is_greeted(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

impl Strangers {
    pub(super) fn new(max: usize) -> Strangers {
        Strangers {
            max,
            waiting: VecDeque::new(),
        }
    }

    /// Adds a connection. `task` serves the connection; aborting `task` closes it.
    pub(super) fn add(&mut self, stranger: Stranger, task: AbortHandle) {
        self.waiting.retain(|(stranger, task)| {
            !task.is_finished() && !stranger.is_known.load(Ordering::Relaxed)
        });
        if self.waiting.len() >= self.max {
            let is_silent = |(stranger, _): &(Stranger, AbortHandle)| {
                !stranger.has_spoken.load(Ordering::Relaxed)
            };
            let place = self.waiting.iter().position(is_silent).unwrap_or(0);
            if let Some((_, task)) = self.waiting.remove(place) {
                task.abort();
            }
        }
        self.waiting.push_back((stranger, task));
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn silent_ones_go_first() {
        let mut strangers = Strangers::new(3);
        let mut tasks = Vec::new();
        for number in 0..7 {
            let stranger = Stranger::default();
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
            let stranger = Stranger::default();
            stranger.speaks();
            let task = tokio::spawn(pending::<()>());
            strangers.add(stranger, task.abort_handle());
        }
        tokio::task::yield_now().await;
        let ended = tasks.iter().filter(|task| task.is_finished()).count();
        assert!(ended == 6 && !tasks[0].is_finished(), "{ended}");
    }
}
