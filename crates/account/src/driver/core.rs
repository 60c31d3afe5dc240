//! What the threads of a region share: the state machine, and who waits for it.
//!
//! The machine is called from three sides: by the task that carries out its effects, by the commit
//! thread of the store, which gives records their places in it, and by requests that ask before they
//! read. Each call is short and under one lock. Effects are carried out by the task alone, in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_engine::AccountOutcome;
use orrery_partition::Verdict;
use orrery_regions::{
    Body, Epoch, Level, Membership, Millis, ReadOutcome, RegionId, Replica, Sequence, StreamRecord,
};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot};

use crate::codec::encode_note;

pub(crate) struct Shared {
    pub(crate) me: RegionId,
    pub(crate) level: Level,
    begun: Instant,
    core: Mutex<Core>,
    /// The machine has moved on.
    changed: Condvar,
    /// The same, for requests.
    progressed: Notify,
    /// There may be effects to carry out.
    wake: Notify,
    /// Whether an operator took the region down: it says and hears nothing.
    is_down: AtomicBool,
}

pub(crate) struct Core {
    pub(crate) replica: Replica,
    /// Records that are no data, with their texts, until they are appended.
    notes: VecDeque<(Sequence, Bytes)>,
    pub(crate) reads: BTreeMap<u64, oneshot::Sender<ReadOutcome>>,
    /// The commit thread has given up to wait for the others; what it appended is not in the state.
    pub(crate) fell_back: bool,
    /// At level strong: what the store has appended and others must keep before it is seen, in order.
    pub(crate) under_way: VecDeque<UnderWay>,
    /// Whether the store was told that it should look after that.
    pub(crate) is_store_told: bool,
    /// Where all regions write: records of the hub on their way into the log, who waits for them to be
    /// applied, and how many records of this region the others lack.
    pub(crate) appending: Vec<StreamRecord>,
    pub(crate) proposals: BTreeMap<Sequence, oneshot::Sender<AccountOutcome>>,
    pub(crate) lags: Vec<(RegionId, u64)>,
    /// Why the region takes no more records.
    pub(crate) broken: Option<String>,
    /// In the hub: new regions that have what there was when they were added.
    pub(crate) copied: Vec<RegionId>,
}

/// A group of records that others must keep.
pub(crate) struct UnderWay {
    pub(crate) upto: Sequence,
    pub(crate) since: Millis,
    pub(crate) epoch: Epoch,
}

/// How long a strong write waits for the others before its outcome is called unknown.
const SETTLE_PATIENCE_MS: u64 = 10_000;

impl Shared {
    pub(crate) fn new(me: RegionId, level: Level, begun: Instant, replica: Replica) -> Shared {
        Shared {
            me,
            level,
            begun,
            core: Mutex::new(Core {
                replica,
                notes: VecDeque::new(),
                reads: BTreeMap::new(),
                fell_back: false,
                under_way: VecDeque::new(),
                is_store_told: false,
                appending: Vec::new(),
                proposals: BTreeMap::new(),
                lags: Vec::new(),
                broken: None,
                copied: Vec::new(),
            }),
            changed: Condvar::new(),
            progressed: Notify::new(),
            wake: Notify::new(),
            is_down: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> Millis {
        millis_since(self.begun)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, for no longer than this, until the machine has moved on.
    pub(crate) fn wait<'a>(
        &self,
        core: MutexGuard<'a, Core>,
        patience: Duration,
    ) -> MutexGuard<'a, Core> {
        let waited = self.changed.wait_timeout(core, patience);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Tells the threads and requests that wait.
    pub(crate) fn moved(&self) {
        self.changed.notify_all();
        self.progressed.notify_waiters();
    }

    /// The next time that the machine, or what is applied here, has moved on.
    pub(crate) fn progressed(&self) -> Notified<'_> {
        self.progressed.notified()
    }

    /// Lets the task look for effects.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    pub(crate) fn is_down(&self) -> bool {
        self.is_down.load(Ordering::Acquire)
    }

    pub(crate) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::Release);
        self.wake();
    }

    pub(crate) fn members(&self) -> Membership {
        self.lock().replica.members().clone()
    }
}

impl Core {
    /// A record that is no data: it is appended when its turn comes.
    pub(crate) fn add_note(&mut self, record: &StreamRecord) {
        let head = self.replica.head_at(record.sequence);
        self.notes
            .push_back((record.sequence, encode_note(&head, &record.body)));
    }

    pub(crate) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    /// The notes that come after a record; the log has none of them.
    pub(crate) fn take_notes(&mut self) -> Vec<(Sequence, Bytes)> {
        self.notes.drain(..).collect()
    }

    /// Lets operators and the machine know why the region takes no more records, or that it does again.
    pub(crate) fn tell_broken(&mut self, cause: Option<&String>) {
        if self.broken.as_ref() != cause {
            self.broken = cause.cloned();
        }
        self.replica.set_fit(cause.is_none());
    }

    /// What is known of records that are durable here. An epoch that ends takes with it what was not
    /// settled in it, even if this region begins the next one.
    pub(crate) fn verdict(&self, now: Millis, upto: Sequence) -> Verdict {
        let first = self.under_way.front();
        let is_of_another = |first: &UnderWay| first.epoch != self.replica.epoch();
        let is_too_old = |first: &UnderWay| now.since(first.since) > SETTLE_PATIENCE_MS;
        if !self.replica.is_write_region() || first.is_some_and(is_of_another) {
            Verdict::Lost
        } else if self.replica.settled(now) >= upto {
            Verdict::Settled
        } else if first.is_some_and(is_too_old) {
            Verdict::Lost
        } else {
            Verdict::Open
        }
    }

    /// Records up to here are waited for no more.
    pub(crate) fn settled(&mut self, upto: Sequence) {
        self.is_store_told = false;
        while self
            .under_way
            .front()
            .is_some_and(|first| first.upto <= upto)
        {
            self.under_way.pop_front();
        }
    }

    /// Whether the store has something under way of which more is known now, and has not been told.
    pub(crate) fn must_tell_store(&self, now: Millis) -> bool {
        let first = self.under_way.front().filter(|_| !self.is_store_told);
        first.is_some_and(|first| self.verdict(now, first.upto) != Verdict::Open)
    }

    /// Whether everything that has a place is in the log up to here, or a note that waits.
    pub(crate) fn follows(&self, last: Sequence) -> bool {
        self.replica.last() == Sequence(last.0 + self.notes.len() as u64)
    }
}

pub(crate) fn millis_since(begun: Instant) -> Millis {
    Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// Whether a record is one of the store.
pub(crate) fn is_data(record: &StreamRecord) -> bool {
    matches!(record.body, Body::Data(_))
}
