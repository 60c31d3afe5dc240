//! The send queue to a region of another process.
//!
//! Without a connection the queue drops every frame: when a connection exists again, the regions
//! have sent their requests again. While the other side does not read, the queue stores only a few
//! pages.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_regions::RegionId;
use tokio::sync::Notify;

use super::framing::write_envelope;
use crate::LinkFrame;

/// A region has one pull and one snapshot request in flight, and each answer has at most 4 MB or
/// one record.
const WAITING_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The target size of one write.
const BATCH_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Envelope {
    pub(crate) from: RegionId,
    pub(crate) to: RegionId,
    pub(crate) frame: LinkFrame,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<SendQueueState>,
    filled: Notify,
    closed: Notify,
}

#[derive(Default)]
struct SendQueueState {
    /// The number of the connection that takes frames from the queue.
    open: Option<u64>,
    opened: u64,
    waiting: VecDeque<(Envelope, u64)>,
    bytes: u64,
}

/// The connection that takes frames from the queue, until it is dropped.
pub(super) struct Outlet<'a> {
    queue: &'a Queue,
    number: u64,
}

impl Queue {
    /// Queues a frame; false if the frame is dropped.
    pub(crate) fn push(&self, envelope: Envelope, bytes: u64) -> bool {
        let mut state = self.lock();
        let fits = state.waiting.is_empty() || state.bytes + bytes <= WAITING_BYTES_MAX;
        if state.open.is_none() || !fits {
            return false;
        }
        state.bytes += bytes;
        state.waiting.push_back((envelope, bytes));
        let is_first = state.waiting.len() == 1;
        drop(state);
        if is_first {
            self.filled.notify_one();
        }
        true
    }

    pub(crate) fn is_open(&self) -> bool {
        self.lock().open.is_some()
    }

    /// Closes the connection and drops the queued frames.
    pub(crate) fn disconnect(&self) {
        self.lock().close();
        self.closed.notify_waiters();
    }

    pub(super) fn open(&self) -> Outlet<'_> {
        let mut state = self.lock();
        state.close();
        state.opened += 1;
        let number = state.opened;
        state.open = Some(number);
        Outlet {
            queue: self,
            number,
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// The number of connections that have used this queue.
    #[cfg(test)]
    pub(super) fn connections(&self) -> u64 {
        self.lock().opened
    }

    fn lock(&self) -> MutexGuard<'_, SendQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SendQueueState {
    fn close(&mut self) {
        self.open = None;
        self.waiting.clear();
        self.bytes = 0;
    }
}

impl Outlet<'_> {
    /// Waits for frames and encodes as many as fit into one write.
    pub(super) async fn next(&self, out: &mut Vec<u8>) {
        loop {
            // `notify_one` stores a permit, so a frame that is pushed between the check and the
            // `await` wakes this task.
            let filled = self.queue.filled.notified();
            self.take(out);
            if !out.is_empty() {
                return;
            }
            filled.await;
        }
    }

    /// Waits until another connection or a cut replaces this connection.
    pub(super) async fn disconnected(&self) {
        loop {
            let mut closed = pin!(self.queue.closed.notified());
            // `enable` registers the waiter before the check, so that no `disconnect` in between is
            // lost.
            closed.as_mut().enable();
            if self.queue.lock().open != Some(self.number) {
                return;
            }
            closed.await;
        }
    }

    fn take(&self, out: &mut Vec<u8>) {
        while out.len() < BATCH_BYTES {
            let mut state = self.queue.lock();
            if state.open != Some(self.number) {
                return;
            }
            let Some((envelope, bytes)) = state.waiting.pop_front() else {
                return;
            };
            state.bytes -= bytes;
            drop(state);
            if !write_envelope(&envelope, out) {
                tracing::warn!(to = %envelope.to, bytes, "a frame is too large to be sent");
            }
        }
    }
}

impl Drop for Outlet<'_> {
    fn drop(&mut self) {
        // A newer connection may own the queue already, and its frames must survive the drop of
        // this one.
        let mut state = self.queue.lock();
        if state.open == Some(self.number) {
            state.close();
        }
    }
}
