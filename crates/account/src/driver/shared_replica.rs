//! The replica that the threads of a region share, and the waiters on its progress.
//!
//! Three sides call the replica: the task that carries out its effects, the commit thread of the
//! store, which gives records their sequences, and requests that check it before a read. Each call
//! is short and under one lock. The task alone carries out effects, in order.

use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use orrery_engine::AccountOutcome;
use orrery_log::CommitStatus;
use orrery_regions::{
    AccountMode, Consistency, Epoch, Membership, Millis, ReadOutcome, RecordBody, RegionId,
    Replica, ReplicaMessage, Sequence, StreamRecord,
};
use tokio::sync::{Notify, oneshot};

use crate::LinkFrame;
use crate::codec::encode_note;

pub(crate) struct SharedReplica {
    pub(crate) me: RegionId,
    pub(crate) level: Consistency,
    begun: Instant,
    core: Mutex<ReplicaCore>,
    /// Notified when the replica has advanced.
    progressed: Notify,
    /// Wakes the task when there may be effects.
    wake: Notify,
    /// Whether an operator took the region down: it sends and receives nothing.
    is_down: AtomicBool,
    /// The newest epoch in a heartbeat that arrived while the region was down.
    epoch_seen_while_down: AtomicU64,
}

pub(crate) struct ReplicaCore {
    pub(crate) replica: Replica,
    /// Records without data, encoded, until the store appends them.
    notes: VecDeque<(Sequence, Bytes)>,
    pub(crate) reads: BTreeMap<u64, oneshot::Sender<ReadOutcome>>,
    /// The commit thread has stopped to wait for the other regions; the groups that it appended are
    /// not in the state.
    pub(crate) has_abandoned_groups: bool,
    /// At level strong: the groups that the store has appended and a quorum must make durable
    /// before readers see them.
    pub(crate) in_flight: VecDeque<InFlightGroup>,
    /// Whether the store has received the order to check these groups.
    pub(crate) is_commit_check_requested: bool,
    /// Multi-write accounts: records of the hub that the task has not appended yet, the waiters for
    /// the application of each, and how many records of this region the others lack.
    pub(crate) appending: Vec<StreamRecord>,
    pub(crate) proposals: BTreeMap<Sequence, oneshot::Sender<AccountOutcome>>,
    pub(crate) lags: Vec<(RegionId, u64)>,
    /// The failure that stopped the region's replication.
    pub(crate) broken: Option<String>,
    /// In the hub: new regions that have the hub's progress at their addition.
    pub(crate) copied: Vec<RegionId>,
}

/// A group of records that waits for other regions.
pub(crate) struct InFlightGroup {
    pub(crate) upto: Sequence,
    pub(crate) since: Millis,
    pub(crate) epoch: Epoch,
}

/// How long a strong write waits for the other regions before its outcome is reported as unknown.
const SETTLE_PATIENCE_MS: u64 = 10_000;

impl SharedReplica {
    pub(crate) fn new(
        me: RegionId,
        level: Consistency,
        begun: Instant,
        replica: Replica,
    ) -> SharedReplica {
        SharedReplica {
            me,
            level,
            begun,
            core: Mutex::new(ReplicaCore {
                replica,
                notes: VecDeque::new(),
                reads: BTreeMap::new(),
                has_abandoned_groups: false,
                in_flight: VecDeque::new(),
                is_commit_check_requested: false,
                appending: Vec::new(),
                proposals: BTreeMap::new(),
                lags: Vec::new(),
                broken: None,
                copied: Vec::new(),
            }),
            progressed: Notify::new(),
            wake: Notify::new(),
            is_down: AtomicBool::new(false),
            epoch_seen_while_down: AtomicU64::new(Epoch::NONE.0),
        }
    }

    pub(crate) fn now(&self) -> Millis {
        millis_since(self.begun)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ReplicaCore> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies the waiting requests.
    pub(crate) fn notify_waiters(&self) {
        self.progressed.notify_waiters();
    }

    /// Waits until `look` finds something; it looks at each advance of the replica or of the applied
    /// state.
    pub(crate) async fn wait_for<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let mut progressed = pin!(self.progressed.notified());
            // `enable` registers the waiter before the look, so that progress between the look and
            // the `await` wakes this task.
            progressed.as_mut().enable();
            if let Some(found) = look() {
                return found;
            }
            progressed.await;
        }
    }

    /// Makes the task look for effects.
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

    /// A region that is down drops every frame, and only records the epoch of heartbeats.
    pub(crate) fn record_epoch_while_down(&self, frame: &LinkFrame) {
        if let LinkFrame::Account(ReplicaMessage::Heartbeat(beat)) = frame {
            self.epoch_seen_while_down
                .fetch_max(beat.epoch.0, Ordering::AcqRel);
        }
    }

    /// Whether another region has become the write region while this one was down.
    pub(crate) fn is_replaced(&self) -> bool {
        let epoch_seen = Epoch(self.epoch_seen_while_down.load(Ordering::Acquire));
        let is_another = epoch_seen.write_region() != Some(self.me);
        if !self.is_down() || !is_another {
            return false;
        }
        // Where every region writes, a new hub does not take over this region's writes.
        let core = self.lock();
        core.replica.members().mode != AccountMode::EveryRegionWrites
            && epoch_seen > core.replica.epoch()
    }

    pub(crate) fn members(&self) -> Membership {
        self.lock().replica.members().clone()
    }
}

impl ReplicaCore {
    /// Queues a record that this region has made. The caller holds the lock that gave the record its
    /// sequence, so that records reach the log in the order of their sequences.
    pub(crate) fn queue(&mut self, record: StreamRecord) {
        if self.replica.members().mode.has_region_streams() {
            self.appending.push(record);
        } else {
            self.add_note(&record);
        }
    }

    /// Queues a record without data, which the store appends when its turn comes.
    pub(crate) fn add_note(&mut self, record: &StreamRecord) {
        let head = self.replica.metadata_at(record.sequence);
        self.notes
            .push_back((record.sequence, encode_note(&head, &record.body)));
    }

    pub(crate) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Removes and returns the queued records, none of which is in the log.
    pub(crate) fn take_notes(&mut self) -> Vec<(Sequence, Bytes)> {
        self.notes.drain(..).collect()
    }

    /// Sets or clears the failure because of which the region takes no more records, for operators
    /// and the replica.
    pub(crate) fn report_broken(&mut self, cause: Option<&String>) {
        if self.broken.as_ref() != cause {
            self.broken = cause.cloned();
        }
        self.replica.set_storage_healthy(cause.is_none());
    }

    /// The commit status of durable records. At the end of an epoch the outcome of its unsettled
    /// records is unknown, even if this region begins the next epoch.
    pub(crate) fn commit_status(&self, now: Millis, upto: Sequence) -> CommitStatus {
        let first = self.in_flight.front();
        let is_of_another = |first: &InFlightGroup| first.epoch != self.replica.epoch();
        let is_too_old = |first: &InFlightGroup| now.since(first.since) > SETTLE_PATIENCE_MS;
        if !self.replica.is_write_region() || first.is_some_and(is_of_another) {
            CommitStatus::Unknown
        } else if self.replica.acknowledge_limit(now) >= upto {
            CommitStatus::Committed
        } else if first.is_some_and(is_too_old) {
            CommitStatus::Unknown
        } else {
            CommitStatus::Pending
        }
    }

    /// The store no longer waits for groups up to this record.
    pub(crate) fn forget_in_flight(&mut self, upto: Sequence) {
        self.is_commit_check_requested = false;
        while self
            .in_flight
            .front()
            .is_some_and(|first| first.upto <= upto)
        {
            self.in_flight.pop_front();
        }
    }

    /// Whether the oldest group has a new status that the store does not know.
    pub(crate) fn needs_commit_check(&self, now: Millis) -> bool {
        let first = self
            .in_flight
            .front()
            .filter(|_| !self.is_commit_check_requested);
        first.is_some_and(|first| self.commit_status(now, first.upto) != CommitStatus::Pending)
    }

    /// Whether every record with a sequence is in the log up to `last`, or in the queue of records
    /// without data.
    pub(crate) fn follows(&self, last: Sequence) -> bool {
        self.replica.last() == Sequence(last.0 + self.notes.len() as u64)
    }
}

pub(crate) fn millis_since(begun: Instant) -> Millis {
    Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// Whether the record is a transaction of the store.
pub(crate) fn is_data(record: &StreamRecord) -> bool {
    matches!(record.body, RecordBody::Data(_))
}
