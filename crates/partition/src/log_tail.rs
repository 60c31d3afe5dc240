//! The end of a store's log for its followers: the positions, the newest records, and the
//! replication slots.
//!
//! Records stay in memory only while a follower exists. A follower near the end reads records from
//! memory. A follower farther behind reads the log; in a store without a log it is told that the
//! records are gone. Before the committer trims the log, it reads from the slots which records
//! followers need.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use orrery_log::Position;

use crate::Reply;

/// A record with its position in the log.
pub type LogRecord = (Position, Bytes);

/// Maximum bytes of records in memory when the store has a log.
const TAIL_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) struct LogTail {
    has_log: bool,
    state: Mutex<State>,
    /// The failure that stopped the store.
    problem: OnceLock<String>,
}

#[derive(Default)]
struct State {
    /// The last appended record: durable, or a record of another region that will be durable soon.
    last: Position,
    /// The last record in the state.
    applied: Position,
    /// The newest records up to `last`; may be empty.
    tail: VecDeque<LogRecord>,
    tail_bytes: usize,
    followers: BTreeMap<u64, ReplicationSlot>,
    next_follower: u64,
    /// Callbacks that run when a record after their position is appended.
    waiting: Vec<(Position, Reply<Position>)>,
}

/// The records that the log retains for a follower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplicationSlot {
    pub(crate) acknowledged: Position,
    pub(crate) bytes_max: u64,
    /// Records after this position are retained regardless of their size; `None` without such a
    /// pin.
    pub(crate) pinned: Option<Position>,
}

/// The result of reading the tail after a position.
pub(crate) enum TailRead {
    Records(Vec<LogRecord>),
    /// The tail no longer has these records. The position is the last appended one.
    Older(Position),
    /// The position does not exist yet. The position is the last appended one.
    Ahead(Position),
}

impl LogTail {
    pub(crate) fn new(last: Position, applied: Position, has_log: bool) -> LogTail {
        let state = State {
            last,
            applied,
            ..State::default()
        };
        LogTail {
            has_log,
            state: Mutex::new(state),
            problem: OnceLock::new(),
        }
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// Records the first failure. Only the committer calls this.
    pub(crate) fn fail(&self, problem: &str) {
        self.problem.get_or_init(|| problem.to_owned());
    }

    pub(crate) fn last(&self) -> Position {
        self.lock().last
    }

    pub(crate) fn applied(&self) -> Position {
        self.lock().applied
    }

    /// Sets the applied position. Only the committer calls this, after the state has the records.
    pub(crate) fn apply(&self, upto: Position) {
        self.lock().applied = upto;
    }

    pub(crate) fn is_followed(&self) -> bool {
        !self.lock().followers.is_empty()
    }

    /// Adds appended records up to `last`. Only the committer calls this. `records` is empty when
    /// no copy of the records exists.
    pub(crate) fn append(&self, last: Position, records: Vec<Bytes>) {
        let mut state = self.lock();
        let first = state.last.0 + 1;
        state.last = last;
        // Without copies the tail would have a gap, so it is emptied and followers read the log.
        if first + records.len() as u64 == last.0 + 1 {
            for (position, record) in (first..).zip(records) {
                state.tail_bytes += record.len();
                state.tail.push_back((Position(position), record));
            }
        } else {
            state.tail.clear();
            state.tail_bytes = 0;
        }
        state.shorten(self.has_log);
        let waiting = std::mem::take(&mut state.waiting);
        let (due, waiting) = waiting.into_iter().partition(|(after, _)| *after < last);
        state.waiting = waiting;
        // Callbacks run without the lock: a callback may call this object again.
        drop(state);
        let due: Vec<(Position, Reply<Position>)> = due;
        for (_, reply) in due {
            reply(last);
        }
    }

    pub(crate) fn after(&self, after: Position, bytes_max: usize) -> TailRead {
        let state = self.lock();
        if after > state.last {
            return TailRead::Ahead(state.last);
        }
        let begins = state.last.0 + 1 - state.tail.len() as u64;
        let Some(passed) = (after.0 + 1).checked_sub(begins) else {
            return TailRead::Older(state.last);
        };
        let mut bytes = 0;
        let mut records = Vec::new();
        for record in state
            .tail
            .iter()
            .skip(usize::try_from(passed).unwrap_or(usize::MAX))
        {
            if !records.is_empty() && bytes >= bytes_max {
                break;
            }
            bytes += record.1.len();
            records.push(record.clone());
        }
        TailRead::Records(records)
    }

    /// The position before the first record of the tail.
    pub(crate) fn tail_after(&self) -> Position {
        let state = self.lock();
        Position(state.last.0 - state.tail.len() as u64)
    }

    /// Calls `reply` with the last position as soon as a record after `after` exists.
    pub(crate) fn when_after(&self, after: Position, reply: Reply<Position>) {
        let mut state = self.lock();
        let last = state.last;
        if last > after {
            drop(state);
            reply(last);
        } else {
            state.waiting.push((after, reply));
        }
    }

    pub(crate) fn add(&self, slot: ReplicationSlot) -> u64 {
        let mut state = self.lock();
        let number = state.next_follower;
        state.next_follower += 1;
        state.followers.insert(number, slot);
        number
    }

    pub(crate) fn acknowledge(&self, follower: u64, position: Position) {
        if let Some(slot) = self.lock().followers.get_mut(&follower) {
            slot.acknowledged = slot.acknowledged.max(position);
        }
    }

    pub(crate) fn pin(&self, follower: u64, position: Option<Position>) {
        if let Some(slot) = self.lock().followers.get_mut(&follower) {
            slot.pinned = position;
        }
    }

    pub(crate) fn remove(&self, follower: u64) {
        let mut state = self.lock();
        state.followers.remove(&follower);
        if state.followers.is_empty() {
            state.tail.clear();
            state.tail_bytes = 0;
        }
    }

    /// The replication slots of all followers.
    pub(crate) fn slots(&self) -> Vec<ReplicationSlot> {
        self.lock().followers.values().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Drops records that exceed the byte limit, and records that no follower needs.
    fn shorten(&mut self, has_log: bool) {
        let limit = self.limit(has_log);
        let needed = self.followers.values().map(|slot| slot.acknowledged);
        let needed = needed.min().unwrap_or(self.last);
        let pinned = self.followers.values().filter_map(|slot| slot.pinned);
        let pinned = pinned.min().unwrap_or(self.last);
        let is_over = |state: &State| {
            let is_after = |position: Position| {
                state
                    .tail
                    .front()
                    .is_some_and(|(first, _)| *first > position)
            };
            let is_too_much = state.tail_bytes > limit && (has_log || !is_after(pinned));
            is_too_much || !has_log && !is_after(needed)
        };
        while is_over(self)
            && let Some((_, record)) = self.tail.pop_front()
        {
            self.tail_bytes -= record.len();
        }
    }

    /// The byte limit. Without a log, the tail is the only copy of the records, so the followers'
    /// limits apply.
    fn limit(&self, has_log: bool) -> usize {
        if has_log {
            return TAIL_BYTES_MAX;
        }
        let asked = self.followers.values().map(|slot| slot.bytes_max);
        usize::try_from(asked.max().unwrap_or_default()).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn record(byte: u8) -> Bytes {
        Bytes::from(vec![byte; 10])
    }

    fn positions(tail: &LogTail, after: u64, bytes_max: usize) -> Option<Vec<u64>> {
        match tail.after(Position(after), bytes_max) {
            TailRead::Records(records) => Some(records.iter().map(|(at, _)| at.0).collect()),
            TailRead::Older(_) | TailRead::Ahead(_) => None,
        }
    }

    #[test]
    fn the_tail_has_the_newest_while_somebody_follows() {
        let tail = LogTail::new(Position(5), Position(5), false);
        let slot = ReplicationSlot {
            acknowledged: Position(5),
            bytes_max: 30,
            pinned: None,
        };
        assert_eq!(positions(&tail, 5, 99), Some(vec![]));
        let follower = tail.add(slot);
        tail.append(Position(7), vec![record(6), record(7)]);
        tail.append(Position(8), vec![record(8)]);
        assert_eq!(positions(&tail, 5, 99), Some(vec![6, 7, 8]));
        assert_eq!(positions(&tail, 5, 1), Some(vec![6]));
        assert_eq!(positions(&tail, 5, 11), Some(vec![6, 7]));
        assert_eq!(positions(&tail, 4, 99), None);
        assert!(matches!(
            tail.after(Position(9), 99),
            TailRead::Ahead(Position(8))
        ));
        tail.append(Position(9), vec![record(9)]);
        assert_eq!(positions(&tail, 5, 99), None);
        assert_eq!(positions(&tail, 6, 99), Some(vec![7, 8, 9]));
        tail.append(Position(10), Vec::new());
        assert_eq!(positions(&tail, 9, 99), None);
        assert_eq!(positions(&tail, 10, 99), Some(vec![]));
        tail.remove(follower);
        assert!(!tail.is_followed());
    }

    #[test]
    fn pinned_records_stay_beyond_the_byte_limit() {
        let tail = LogTail::new(Position(5), Position(5), false);
        let follower = tail.add(ReplicationSlot {
            acknowledged: Position(5),
            bytes_max: 10,
            pinned: Some(Position(6)),
        });
        for position in 6..=9 {
            tail.append(Position(position), vec![record(0)]);
        }
        assert_eq!(positions(&tail, 6, 99), Some(vec![7, 8, 9]));
        tail.pin(follower, None);
        tail.append(Position(10), vec![record(0)]);
        assert_eq!(positions(&tail, 9, 99), Some(vec![10]));
        assert_eq!(positions(&tail, 8, 99), None);
    }

    #[test]
    fn a_waiting_callback_is_called_once() {
        let tail = LogTail::new(Position(5), Position(5), true);
        let called = Arc::new(AtomicU64::new(0));
        let wait = |after| {
            let called = Arc::clone(&called);
            let reply = move |last: Position| {
                called.fetch_add(last.0, Ordering::SeqCst);
            };
            tail.when_after(Position(after), Box::new(reply));
        };
        wait(4);
        assert_eq!(called.load(Ordering::SeqCst), 5);
        wait(5);
        wait(6);
        tail.append(Position(6), Vec::new());
        assert_eq!(called.load(Ordering::SeqCst), 11);
        tail.append(Position(7), Vec::new());
        tail.append(Position(8), Vec::new());
        assert_eq!(called.load(Ordering::SeqCst), 18);
    }
}
