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

use orrery_memory::MemoryShare;

use super::clock::Clock;
use super::connection::Connection;
use super::rules::{Authentication, ReadProgress, Reason, judge};
use super::{Counts, Limits};

/// The memory of a connection that needs no further loan: buffers, the state of HTTP and TLS, small
/// headers.
const CONNECTION_BYTES: usize = 32 * 1024;

/// The register never closes a connection with a shorter idle time than this in favour of a new
/// connection.
const IDLE_MS_MIN: u64 = 1_000;

/// How many of the oldest connections without a credential are searched for a connection that has
/// sent no byte.
const LOOKED_AT_MAX: usize = 256;

const SWEEP_PERIOD_MAX: Duration = Duration::from_secs(1);
const SWEEP_PERIOD_MIN: Duration = Duration::from_millis(5);

/// The connections of the listeners of one kind.
pub(crate) struct Register {
    limits: Arc<Limits>,
    connections_max: usize,
    clock: Arc<Clock>,
    memory: MemoryShare,
    counts: Counts,
    numbers: AtomicU64,
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    entries: BTreeMap<u64, Entry>,
    /// Connections on which no valid credential had come when the register last checked, in the
    /// order in which the register admitted them.
    unauthenticated: VecDeque<u64>,
}

struct Entry {
    connection: Arc<Connection>,
    progress: ReadProgress,
}

/// A connection that the register has admitted. Dropping this value removes the connection from the
/// register.
pub(crate) struct AdmittedConnection {
    register: Arc<Register>,
    connection: Arc<Connection>,
}

impl Register {
    pub(super) fn new(
        limits: &Arc<Limits>,
        connections_max: usize,
        clock: &Arc<Clock>,
        memory: MemoryShare,
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

    /// Admits a connection if a place is free, or if the register can close another connection in
    /// its favour.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<AdmittedConnection> {
        let mut open = self.open();
        // The memory is borrowed before a victim is chosen: a connection is closed only if a place
        // or the memory is missing.
        let mut memory = self.memory.borrow(CONNECTION_BYTES);
        if (open.entries.len() >= self.connections_max || memory.is_err())
            && let Some(number) = open.eviction_victim()
            && let Some(entry) = open.remove(number)
        {
            entry.connection.close();
            self.counts.closed(Reason::Replaced);
            // The entry lends the memory of its connection; dropping it may pay for the new one.
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
            progress: ReadProgress::default(),
        };
        open.entries.insert(number, entry);
        // Numbers rise, so the queue is sorted by age.
        open.unauthenticated.push_back(number);
        Some(AdmittedConnection {
            register: Arc::clone(self),
            connection,
        })
    }

    /// Closes the connections that have exceeded a time limit, at regular intervals and forever.
    pub(crate) async fn watch(&self) {
        let limits = &self.limits;
        let shortest = limits
            .header_time
            .min(limits.stall_time)
            .min(limits.idle_time);
        // A sweep in every eighth of the shortest limit finds an excess soon.
        let period = (shortest / 8).clamp(SWEEP_PERIOD_MIN, SWEEP_PERIOD_MAX);
        loop {
            // The time moves only here, so all connections of one sweep see the same time.
            self.clock.update();
            self.sweep();
            tokio::time::sleep(period).await;
        }
    }

    fn sweep(&self) {
        let mut open = self.open();
        // The queue would otherwise grow with every connection, since admissions only clean its
        // front.
        open.forget_authenticated();
        open.entries.retain(|_, entry| {
            let status = entry.connection.status();
            let Some(reason) = judge(&status, &mut entry.progress, &self.limits) else {
                return true;
            };
            self.counts.closed(reason);
            entry.connection.close();
            false
        });
    }

    /// The share of the memory from which connections borrow.
    pub(crate) fn memory(&self) -> &MemoryShare {
        &self.memory
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn len(&self) -> usize {
        self.open().entries.len()
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// The connection to close in favour of a new one, by the order in the module comment.
    fn eviction_victim(&mut self) -> Option<u64> {
        // The front is cleaned here too: the sweep may not have run since these connections ended.
        while let Some(number) = self.unauthenticated.front()
            && !self.is_unauthenticated(*number)
        {
            self.unauthenticated.pop_front();
        }
        let mut oldest = self.unauthenticated.iter().take(LOOKED_AT_MAX);
        let silent = oldest.find(|number| {
            let entry = self.entries.get(number);
            entry.is_some_and(|entry| entry.connection.is_silent())
        });
        let found = silent.or(self.unauthenticated.front());
        found.copied().or_else(|| self.longest_idle())
    }

    /// Removes a connection. Its number leaves the queue as well: among numbers of connections that
    /// have ended, the search for a silent connection would find none, and the oldest connection
    /// that speaks would be closed.
    fn remove(&mut self, number: u64) -> Option<Entry> {
        if let Ok(at) = self.unauthenticated.binary_search(&number) {
            self.unauthenticated.remove(at);
        }
        self.entries.remove(&number)
    }

    /// The connection with the longest idle time, if it is not in use.
    fn longest_idle(&self) -> Option<u64> {
        let status = self.entries.iter().map(|(number, entry)| {
            let status = entry.connection.status();
            (*number, status)
        });
        let idle = status.filter(|(_, status)| !status.is_busy && status.idle_ms >= IDLE_MS_MIN);
        idle.max_by_key(|(_, status)| status.idle_ms)
            .map(|(number, _)| number)
    }

    fn is_unauthenticated(&self, number: u64) -> bool {
        let entry = self.entries.get(&number);
        entry
            .is_some_and(|entry| entry.connection.authentication() != Authentication::Authenticated)
    }

    /// Removes from `unauthenticated` the connections that have ended and those with a valid
    /// credential.
    fn forget_authenticated(&mut self) {
        let mut numbers = std::mem::take(&mut self.unauthenticated);
        numbers.retain(|number| self.is_unauthenticated(*number));
        self.unauthenticated = numbers;
    }
}

impl AdmittedConnection {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Counts the reason why the connection is refused.
    pub(super) fn refuse(&self, reason: Reason) {
        self.register.counts.closed(reason);
    }

    pub(super) fn memory(&self) -> &MemoryShare {
        &self.register.memory
    }
}

impl Drop for AdmittedConnection {
    fn drop(&mut self) {
        // The entry may be gone: the sweep or an admission removes the entries of connections that
        // it closes.
        self.register.open().remove(self.connection.number);
    }
}
