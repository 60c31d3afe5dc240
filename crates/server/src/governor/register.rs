//! The connections that there are: who may come in, and who must go.
//!
//! When there is no place left, the connection goes that has been there longest without anybody
//! showing a credential on it; then the one that has been idle longest of the others. So silent
//! connections drive each other out, and a client with a credential finds a place whatever their
//! number: it needs it for no longer than its first request takes to come.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use orrery_memory::Share;

use super::clock::Clock;
use super::connection::Connection;
use super::rules::{Acquaintance, Mark, Reason, judge};
use super::{Counts, Limits};

/// What a connection may hold without asking: buffers, the state of HTTP and TLS, small headers.
const CONNECTION_BYTES: usize = 32 * 1024;

/// An idle connection that was used so lately is not given up for another one.
const IDLE_MS_MIN: u64 = 1_000;

const SWEEP_PERIOD_MAX: Duration = Duration::from_secs(1);
const SWEEP_PERIOD_MIN: Duration = Duration::from_millis(5);

/// The connections of one kind of listener.
pub(crate) struct Register {
    limits: Arc<Limits>,
    connections_max: usize,
    clock: Arc<Clock>,
    memory: Share,
    counts: Counts,
    numbers: AtomicU64,
    /// In the order in which they came.
    open: Mutex<BTreeMap<u64, Entry>>,
}

struct Entry {
    connection: Arc<Connection>,
    mark: Mark,
}

/// A connection that was let in. Dropping it takes it from the register.
pub(crate) struct Admitted {
    register: Arc<Register>,
    connection: Arc<Connection>,
}

impl Register {
    pub(super) fn new(
        limits: &Arc<Limits>,
        connections_max: usize,
        clock: &Arc<Clock>,
        memory: Share,
    ) -> Register {
        Register {
            limits: Arc::clone(limits),
            connections_max,
            clock: Arc::clone(clock),
            memory,
            counts: Counts::default(),
            numbers: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Lets a connection in, if there is a place for it or one can be made.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Admitted> {
        let mut open = self.open();
        let mut memory = self.memory.borrow(CONNECTION_BYTES);
        if (open.len() >= self.connections_max || memory.is_err())
            && let Some(number) = dispensable(&open)
            && let Some(entry) = open.remove(&number)
        {
            entry.connection.close();
            self.counts.closed(Reason::Replaced);
            drop(entry);
            if memory.is_err() {
                memory = self.memory.borrow(CONNECTION_BYTES);
            }
        }
        let Some(memory) = memory.ok().filter(|_| open.len() < self.connections_max) else {
            self.counts.closed(Reason::Full);
            return None;
        };
        self.counts.opened();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(number, &self.clock, memory));
        let entry = Entry {
            connection: Arc::clone(&connection),
            mark: Mark::default(),
        };
        open.insert(number, entry);
        Some(Admitted {
            register: Arc::clone(self),
            connection,
        })
    }

    /// Closes what has had its time, now and again.
    pub(crate) async fn watch(&self) {
        let limits = &self.limits;
        let shortest = limits
            .header_time
            .min(limits.stall_time)
            .min(limits.idle_time);
        let period = (shortest / 8).clamp(SWEEP_PERIOD_MIN, SWEEP_PERIOD_MAX);
        loop {
            self.clock.look();
            self.sweep();
            tokio::time::sleep(period).await;
        }
    }

    fn sweep(&self) {
        self.open().retain(|_, entry| {
            let seen = entry.connection.seen();
            let Some(reason) = judge(&seen, &mut entry.mark, &self.limits) else {
                return true;
            };
            self.counts.closed(reason);
            entry.connection.close();
            false
        });
    }

    /// What connections borrow through.
    pub(crate) fn memory(&self) -> &Share {
        &self.memory
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn len(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection that is missed least.
fn dispensable(open: &BTreeMap<u64, Entry>) -> Option<u64> {
    let mut longest = None;
    for (number, entry) in open {
        let seen = entry.connection.seen();
        if seen.client != Acquaintance::Trusted {
            return Some(*number);
        }
        let is_longer = longest.is_none_or(|(_, idle_ms)| seen.idle_ms > idle_ms);
        if !seen.is_busy && seen.idle_ms >= IDLE_MS_MIN && is_longer {
            longest = Some((*number, seen.idle_ms));
        }
    }
    longest.map(|(number, _)| number)
}

impl Admitted {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Gives the connection up.
    pub(super) fn refuse(&self, reason: Reason) {
        self.register.counts.closed(reason);
    }

    pub(super) fn memory(&self) -> &Share {
        &self.register.memory
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.register.open().remove(&self.connection.number);
    }
}
