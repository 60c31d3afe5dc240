//! What a store has made durable, for those who follow it: how far, the newest records, and who must not
//! be left behind.
//!
//! Records are kept here only while somebody follows. Whoever is close reads them from memory; whoever
//! is not reads the log, and of a store without a log gets told that they are gone. The committer
//! asks before it trims the log which records followers still need.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use orrery_log::Position;

use crate::Reply;

/// A record as it stands in the log.
pub type CommittedRecord = (Position, Bytes);

/// Bytes of records that are kept in memory beside a log.
const TAIL_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) struct Committed {
    has_log: bool,
    state: Mutex<State>,
    /// Why there will be no more of it.
    problem: OnceLock<String>,
}

#[derive(Default)]
struct State {
    /// The last record that is kept: durable, or another region's and about to be.
    last: Position,
    /// The last one that the state has.
    applied: Position,
    /// The newest records, up to `last` if there are any.
    tail: VecDeque<CommittedRecord>,
    tail_bytes: usize,
    followers: BTreeMap<u64, Needs>,
    next_follower: u64,
    /// Called when something after their position is committed.
    waiting: Vec<(Position, Reply<Position>)>,
}

/// What the log keeps for a follower.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) acknowledged: Position,
    pub(crate) bytes_max: u64,
    /// What comes after this is kept however much it is; none if all of it may go.
    pub(crate) pinned: Option<Position>,
}

/// What the tail has of the records after a position.
pub(crate) enum Kept {
    Records(Vec<CommittedRecord>),
    /// They are older than that; those up to here are committed.
    Older(Position),
    /// There is no such position yet: this is the last.
    Ahead(Position),
}

impl Committed {
    pub(crate) fn new(last: Position, applied: Position, has_log: bool) -> Committed {
        let state = State {
            last,
            applied,
            ..State::default()
        };
        Committed {
            has_log,
            state: Mutex::new(state),
            problem: OnceLock::new(),
        }
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// Called by the committer alone. What failed first is what failed.
    pub(crate) fn fail(&self, problem: &str) {
        self.problem.get_or_init(|| problem.to_owned());
    }

    pub(crate) fn last(&self) -> Position {
        self.lock().last
    }

    pub(crate) fn applied(&self) -> Position {
        self.lock().applied
    }

    /// Called by the committer alone, when the state has the records up to here.
    pub(crate) fn apply(&self, upto: Position) {
        self.lock().applied = upto;
    }

    pub(crate) fn is_followed(&self) -> bool {
        !self.lock().followers.is_empty()
    }

    /// Called by the committer alone, when the records up to `last` are kept. Those that nobody
    /// kept a copy of are not given.
    pub(crate) fn keep(&self, last: Position, records: Vec<Bytes>) {
        let mut state = self.lock();
        let first = state.last.0 + 1;
        state.last = last;
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
        drop(state);
        let due: Vec<(Position, Reply<Position>)> = due;
        for (_, reply) in due {
            reply(last);
        }
    }

    pub(crate) fn after(&self, after: Position, bytes_max: usize) -> Kept {
        let state = self.lock();
        if after > state.last {
            return Kept::Ahead(state.last);
        }
        let begins = state.last.0 + 1 - state.tail.len() as u64;
        let Some(passed) = (after.0 + 1).checked_sub(begins) else {
            return Kept::Older(state.last);
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
        Kept::Records(records)
    }

    /// The position before the first record of the tail.
    pub(crate) fn tail_after(&self) -> Position {
        let state = self.lock();
        Position(state.last.0 - state.tail.len() as u64)
    }

    /// Calls `reply` with the last position, as soon as there is something after `after`.
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

    pub(crate) fn add(&self, needs: Needs) -> u64 {
        let mut state = self.lock();
        let number = state.next_follower;
        state.next_follower += 1;
        state.followers.insert(number, needs);
        number
    }

    pub(crate) fn acknowledge(&self, follower: u64, position: Position) {
        if let Some(needs) = self.lock().followers.get_mut(&follower) {
            needs.acknowledged = needs.acknowledged.max(position);
        }
    }

    pub(crate) fn pin(&self, follower: u64, position: Option<Position>) {
        if let Some(needs) = self.lock().followers.get_mut(&follower) {
            needs.pinned = position;
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

    /// What followers still need of the log.
    pub(crate) fn needs(&self) -> Vec<Needs> {
        self.lock().followers.values().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Lets go of what is too much to keep, and of what nobody needs.
    fn shorten(&mut self, has_log: bool) {
        let limit = self.limit(has_log);
        let needed = self.followers.values().map(|needs| needs.acknowledged);
        let needed = needed.min().unwrap_or(self.last);
        let pinned = self.followers.values().filter_map(|needs| needs.pinned);
        let pinned = pinned.min().unwrap_or(self.last);
        let is_over = |state: &State| {
            let is_after =
                |place: Position| state.tail.front().is_some_and(|(first, _)| *first > place);
            let is_too_much = state.tail_bytes > limit && (has_log || !is_after(pinned));
            is_too_much || !has_log && !is_after(needed)
        };
        while is_over(self)
            && let Some((_, record)) = self.tail.pop_front()
        {
            self.tail_bytes -= record.len();
        }
    }

    /// Without a log the tail is all there is.
    fn limit(&self, has_log: bool) -> usize {
        if has_log {
            return TAIL_BYTES_MAX;
        }
        let asked = self.followers.values().map(|needs| needs.bytes_max);
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

    fn positions(committed: &Committed, after: u64, bytes_max: usize) -> Option<Vec<u64>> {
        match committed.after(Position(after), bytes_max) {
            Kept::Records(records) => Some(records.iter().map(|(at, _)| at.0).collect()),
            Kept::Older(_) | Kept::Ahead(_) => None,
        }
    }

    #[test]
    fn the_tail_has_the_newest_while_somebody_follows() {
        let committed = Committed::new(Position(5), Position(5), false);
        let needs = Needs {
            acknowledged: Position(5),
            bytes_max: 30,
            pinned: None,
        };
        assert_eq!(positions(&committed, 5, 99), Some(vec![]));
        let follower = committed.add(needs);
        committed.keep(Position(7), vec![record(6), record(7)]);
        committed.keep(Position(8), vec![record(8)]);
        assert_eq!(positions(&committed, 5, 99), Some(vec![6, 7, 8]));
        assert_eq!(positions(&committed, 5, 1), Some(vec![6]));
        assert_eq!(positions(&committed, 5, 11), Some(vec![6, 7]));
        assert_eq!(positions(&committed, 4, 99), None);
        assert!(matches!(
            committed.after(Position(9), 99),
            Kept::Ahead(Position(8))
        ));
        committed.keep(Position(9), vec![record(9)]);
        assert_eq!(positions(&committed, 5, 99), None);
        assert_eq!(positions(&committed, 6, 99), Some(vec![7, 8, 9]));
        committed.keep(Position(10), Vec::new());
        assert_eq!(positions(&committed, 9, 99), None);
        assert_eq!(positions(&committed, 10, 99), Some(vec![]));
        committed.remove(follower);
        assert!(!committed.is_followed());
    }

    #[test]
    fn what_is_pinned_stays_however_much_it_is() {
        let committed = Committed::new(Position(5), Position(5), false);
        let follower = committed.add(Needs {
            acknowledged: Position(5),
            bytes_max: 10,
            pinned: Some(Position(6)),
        });
        for position in 6..=9 {
            committed.keep(Position(position), vec![record(0)]);
        }
        assert_eq!(positions(&committed, 6, 99), Some(vec![7, 8, 9]));
        committed.pin(follower, None);
        committed.keep(Position(10), vec![record(0)]);
        assert_eq!(positions(&committed, 9, 99), Some(vec![10]));
        assert_eq!(positions(&committed, 8, 99), None);
    }

    #[test]
    fn who_waits_is_called_once() {
        let committed = Committed::new(Position(5), Position(5), true);
        let called = Arc::new(AtomicU64::new(0));
        let wait = |after| {
            let called = Arc::clone(&called);
            let reply = move |last: Position| {
                called.fetch_add(last.0, Ordering::SeqCst);
            };
            committed.when_after(Position(after), Box::new(reply));
        };
        wait(4);
        assert_eq!(called.load(Ordering::SeqCst), 5);
        wait(5);
        wait(6);
        committed.keep(Position(6), Vec::new());
        assert_eq!(called.load(Ordering::SeqCst), 11);
        committed.keep(Position(7), Vec::new());
        committed.keep(Position(8), Vec::new());
        assert_eq!(called.load(Ordering::SeqCst), 18);
    }
}
