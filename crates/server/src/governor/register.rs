//! The connections that there are: who may come in, and who must go.
//!
//! When there is no place left, one goes on which nobody has shown a credential: one that has not sent a
//! byte, or else the oldest; then the one that has been idle longest of the others. So silent
//! connections drive each other out, and a client with a credential finds a place whatever their
//! number: it needs it for no longer than its first request takes to come.

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

/// An idle connection that was used so lately is not given up for another one.
const IDLE_MS_MIN: u64 = 1_000;

/// How many of the oldest strangers are looked through for one that has not sent a byte.
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
    /// Those on which nobody had shown a credential when they were looked at last, in the order in which
    /// they came.
    strangers: VecDeque<u64>,
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

    /// What connections borrow through.
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
    /// The connection that is missed least.
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

    /// Forgets who has shown a credential or is gone.
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
