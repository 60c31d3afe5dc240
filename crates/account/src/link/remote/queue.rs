//! What waits to be sent to a region of another process.
//!
//! Nothing waits while there is no connection: by the time there is one, everybody will have asked
//! again. And while the other side does not read, no more than a few pages wait.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_regions::RegionId;
use tokio::sync::Notify;

use super::framing::write_envelope;
use crate::Frame;

/// A region has one question for records and one for a copy under way, each answered with at most
/// 4 MB, or one record.
const WAITING_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// So much is put into one write.
const BATCH_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Envelope {
    pub(crate) from: RegionId,
    pub(crate) to: RegionId,
    pub(crate) frame: Frame,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Notify,
    closed: Notify,
}

#[derive(Default)]
struct State {
    /// Which of the connections so far takes what waits.
    open: Option<u64>,
    opened: u64,
    waiting: VecDeque<(Envelope, u64)>,
    bytes: u64,
}

/// A connection that takes what waits, until it is dropped.
pub(super) struct Outlet<'a> {
    queue: &'a Queue,
    number: u64,
}

impl Queue {
    /// False if it is not taken.
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

    /// Gives the connection up, with all that is under way on it.
    pub(crate) fn sever(&self) {
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

    /// How many there were.
    #[cfg(test)]
    pub(super) fn connections(&self) -> u64 {
        self.lock().opened
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self) {
        self.open = None;
        self.waiting.clear();
        self.bytes = 0;
    }
}

impl Outlet<'_> {
    /// Waits for frames and writes out as many as are sent at once.
    pub(super) async fn next(&self, out: &mut Vec<u8>) {
        loop {
            let filled = self.queue.filled.notified();
            self.take(out);
            if !out.is_empty() {
                return;
            }
            filled.await;
        }
    }

    /// Waits until the connection is to be given up.
    pub(super) async fn severed(&self) {
        loop {
            let mut closed = pin!(self.queue.closed.notified());
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
        let mut state = self.queue.lock();
        if state.open == Some(self.number) {
            state.close();
        }
    }
}
