//! The open connections of a listener: which new ones the register admits, and which it closes.
//!
//! When all places are taken, [`Register::admit`] closes one connection in favour of the new one: a
//! connection without a credential that has not sent a byte, or else the oldest connection without
//! a credential, or else the one that has been idle longest. So silent connections close each
//! other, and a client with a credential finds a place however many silent connections there are:
//! its connection counts as one of them only until the first request with the credential has come.

use std::collections::{BTreeMap, VecDeque};
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

/// A connection that has been idle for less than this is not closed in favour of a new one.
const IDLE_MS_MIN: u64 = 1_000;

/// How many of the oldest connections without a credential are searched for one that has not sent a
/// byte.
const LOOKED_AT_MAX: usize = 256;

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
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    entries: BTreeMap<u64, Entry>,
    /// Connections on which no valid credential had come when the register last checked, in the
    /// order in which the register admitted them.
    strangers: VecDeque<u64>,
}

struct Entry {
    connection: Arc<Connection>,
    mark: Mark,
}

/// A connection that the register has admitted. Dropping this value removes the connection from the
/// register.
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

    /// Admits a connection if there is a place for it or if another connection can be closed in its
    /// favour.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Admitted> {
        let mut open = self.open();
        let mut memory = self.memory.borrow(CONNECTION_BYTES);
        if (open.entries.len() >= self.connections_max || memory.is_err())
            && let Some(number) = open.dispensable()
            && let Some(entry) = open.entries.remove(&number)
        {
            entry.connection.close();
            self.counts.closed(Reason::Replaced);
            drop(entry);
            if memory.is_err() {
                memory = self.memory.borrow(CONNECTION_BYTES);
            }
        }
        let Some(memory) = memory
            .ok()
            .filter(|_| open.entries.len() < self.connections_max)
        else {
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
        open.entries.insert(number, entry);
        open.strangers.push_back(number);
        Some(Admitted {
            register: Arc::clone(self),
            connection,
        })
    }

    /// Closes, again and again, the connections that have exceeded one of the time limits.
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
        let mut open = self.open();
        open.forget_friends();
        open.entries.retain(|_, entry| {
            let seen = entry.connection.seen();
            let Some(reason) = judge(&seen, &mut entry.mark, &self.limits) else {
                return true;
            };
            self.counts.closed(reason);
            entry.connection.close();
            false
        });
    }

    /// The share of the memory from which connections borrow.
    pub(crate) fn memory(&self) -> &Share {
        &self.memory
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn len(&self) -> usize {
        self.open().entries.len()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The connection to close in favour of a new one, in the order that the module comment gives.
    fn dispensable(&mut self) -> Option<u64> {
        while let Some(number) = self.strangers.front()
            && !self.is_stranger(*number)
        {
            self.strangers.pop_front();
        }
        let mut oldest = self.strangers.iter().take(LOOKED_AT_MAX);
        let silent = oldest.find(|number| {
            let entry = self.entries.get(number);
            entry.is_some_and(|entry| entry.connection.is_silent())
        });
        let found = silent.or(self.strangers.front());
        found.copied().or_else(|| self.longest_idle())
    }

    fn longest_idle(&self) -> Option<u64> {
        let seen = self.entries.iter().map(|(number, entry)| {
            let seen = entry.connection.seen();
            (*number, seen)
        });
        let idle = seen.filter(|(_, seen)| !seen.is_busy && seen.idle_ms >= IDLE_MS_MIN);
        idle.max_by_key(|(_, seen)| seen.idle_ms)
            .map(|(number, _)| number)
    }

    fn is_stranger(&self, number: u64) -> bool {
        let entry = self.entries.get(&number);
        entry.is_some_and(|entry| entry.connection.client() != Acquaintance::Trusted)
    }

    /// Removes from `strangers` the connections that have ended or on which a credential has come.
    fn forget_friends(&mut self) {
        let mut strangers = std::mem::take(&mut self.strangers);
        strangers.retain(|number| self.is_stranger(*number));
        self.strangers = strangers;
    }
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
        self.register.open().entries.remove(&self.connection.number);
    }
}
