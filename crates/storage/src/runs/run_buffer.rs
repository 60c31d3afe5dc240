//! The shared state of the buffered keyspace: the runs in memory, the view that readers use, and
//! the thread that merges runs and flushes them to tables.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{Database, Keyspace};

use super::pending::{PendingRuns, RowNumber};
use super::range::MergeIterator;
use super::recent::RecentRuns;
use super::run::SortedRun;
use crate::Error;
use crate::early_sync::sync_newest;
use crate::value_cache::{BatchSequence, ValueCache};

/// Bytes of keys in one table. The engine accepts no batch while it syncs a new table, so a table
/// stays small.
const TABLE_BYTES: usize = 8 * 1024 * 1024;
/// Directory of the engine's tables, whose file names are numbers.
const TABLES: &str = "tables";
/// With this many unmerged level-0 tables a flush waits until the engine has compacted some.
const UNMERGED_TABLES_MAX: usize = 128;
/// Time without a write after which the thread flushes the runs in memory, if they have at least
/// `IDLE_BYTES_MIN` bytes.
const IDLE: Duration = Duration::from_secs(1);
const IDLE_BYTES_MIN: usize = 1024 * 1024;
const RETRY: Duration = Duration::from_millis(20);

/// An immutable view of the state after one batch.
pub(crate) struct ReadView {
    pub(crate) sequence: BatchSequence,
    pub(crate) snapshot: fjall::Snapshot,
    /// Ordered oldest first.
    pub(crate) runs: Arc<Vec<Arc<SortedRun>>>,
}

pub(crate) struct RunBuffer {
    database: Database,
    /// The keyspace whose tables a flush creates.
    tables: Keyspace,
    pending: PendingRuns,
    values: Arc<ValueCache>,
    /// Bytes of runs in memory at which a flush starts.
    bytes_max: usize,
    state: Mutex<State>,
    /// Signalled when the thread may have something to merge or flush.
    work: Condvar,
    /// Signalled when a flush has removed runs, or when the thread has failed and none will follow.
    flushed: Condvar,
    view: RwLock<Arc<ReadView>>,
}

struct State {
    recent: RecentRuns,
    /// The first row that the engine still has.
    first_row: RowNumber,
    next_row: RowNumber,
    last_write: Instant,
    /// A call of [`RunBuffer::flush`] waits until every run is in a table.
    is_flush_requested: bool,
    is_over: bool,
    failure: Option<Arc<Error>>,
}

enum Work {
    Merge(Vec<Arc<SortedRun>>),
    Flush(Arc<Vec<Arc<SortedRun>>>, RowNumber),
    End,
}

/// A row that the batch of its run writes along with the other changes.
pub(crate) struct PendingRun {
    number: RowNumber,
    run: Bytes,
}

impl PendingRun {
    pub(crate) fn bytes(&self) -> u64 {
        self.run.len() as u64
    }
}

impl RunBuffer {
    pub(crate) fn open(
        database: &Database,
        tables: Keyspace,
        values: Arc<ValueCache>,
        bytes_max: usize,
    ) -> Result<Arc<RunBuffer>, Error> {
        let pending = PendingRuns::open(database)?;
        let (recent, first_row, next_row) = pending.read()?;
        let view = ReadView {
            sequence: values.last_batch(),
            snapshot: database.snapshot(),
            runs: Arc::clone(recent.runs()),
        };
        Ok(Arc::new(RunBuffer {
            database: database.clone(),
            tables,
            pending,
            values,
            bytes_max,
            state: Mutex::new(State {
                recent,
                first_row,
                next_row,
                last_write: Instant::now(),
                is_flush_requested: false,
                is_over: false,
                failure: None,
            }),
            work: Condvar::new(),
            flushed: Condvar::new(),
            view: RwLock::new(Arc::new(view)),
        }))
    }

    pub(crate) fn start(self: &Arc<RunBuffer>) -> Result<JoinHandle<()>, Error> {
        let run_buffer = Arc::clone(self);
        let builder = std::thread::Builder::new().name("orrery-runs".to_owned());
        builder
            .spawn(move || run_buffer.run())
            .map_err(Error::Thread)
    }

    pub(crate) fn view(&self) -> Arc<ReadView> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `commit` write a batch together with the row of its run, then publishes both to
    /// readers.
    pub(crate) fn write(
        &self,
        run: Option<SortedRun>,
        commit: impl FnOnce(Option<PendingRun>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut state = self.state();
        // Back pressure: writers outran the flush by a whole buffer. A failed thread never flushes
        // again, so the failure ends the wait.
        while run.is_some() && state.recent.bytes() >= 2 * self.bytes_max && state.failure.is_none()
        {
            state = self
                .flushed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failure) = &state.failure {
            return Err(Error::Flush(Arc::clone(failure)));
        }
        let row = run.as_ref().map(|run| PendingRun {
            number: state.next_row,
            run: run.encode(),
        });
        // The lock is held during the commit. Rows are numbered in commit order, and a flush that
        // takes `next_row` as its end covers exactly the runs in the list.
        commit(row)?;
        if let Some(run) = run {
            let was_worth_a_table = state.recent.bytes() >= IDLE_BYTES_MIN;
            state.next_row = state.next_row.next();
            state.recent.push(run);
            state.last_write = Instant::now();
            let is_worth_a_table = state.recent.bytes() >= IDLE_BYTES_MIN;
            // The thread waits an hour while the runs are smaller than `IDLE_BYTES_MIN`, so
            // crossing that size must wake it.
            if is_worth_a_table != was_worth_a_table || self.is_work(&state) {
                self.work.notify_one();
            }
        }
        self.publish_view(&state);
        Ok(())
    }

    pub(crate) fn put_row(&self, batch: &mut fjall::OwnedWriteBatch, row: PendingRun) {
        self.pending.put(batch, row.number, row.run);
    }

    /// Publishes a new view. The caller holds the lock of `state`: the engine's snapshot, the runs
    /// and the batch sequence must come from the same moment, with no batch in between.
    fn publish_view(&self, state: &State) {
        let view = ReadView {
            sequence: self.values.last_batch(),
            snapshot: self.database.snapshot(),
            runs: Arc::clone(state.recent.runs()),
        };
        let mut published = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *published = Arc::new(view);
    }

    /// Flushes every run to tables of the engine.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        let mut state = self.state();
        while !state.recent.runs().is_empty() && state.failure.is_none() {
            state.is_flush_requested = true;
            self.work.notify_one();
            state = self
                .flushed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        match &state.failure {
            Some(failure) => Err(Error::Flush(Arc::clone(failure))),
            None => Ok(()),
        }
    }

    /// Ends the thread. Rows of the engine keep the runs that are still in memory.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.work.notify_one();
    }

    fn is_work(&self, state: &State) -> bool {
        self.is_time_to_write(state) || state.recent.merge_candidates().is_some()
    }

    fn is_time_to_write(&self, state: &State) -> bool {
        let bytes = state.recent.bytes();
        let is_idle = bytes >= IDLE_BYTES_MIN && state.last_write.elapsed() >= IDLE;
        bytes > 0 && (bytes >= self.bytes_max || state.is_flush_requested || is_idle)
    }

    fn run(&self) {
        loop {
            let result = match self.next_work() {
                Work::Merge(parts) => {
                    // The merge runs without the lock; writers push further runs meanwhile, behind
                    // the settled parts.
                    let one = MergeIterator::into_one(&parts);
                    let mut state = self.state();
                    state.recent.replace(&parts, one);
                    self.publish_view(&state);
                    Ok(())
                }
                Work::Flush(runs, row) => self.flush_runs(&runs, row),
                Work::End => return,
            };
            if let Err(error) = result {
                tracing::error!(%error, "index entries could not be written out");
                let mut state = self.state();
                state.recent.cancel_flush();
                state.failure = Some(Arc::new(error));
                self.flushed.notify_all();
                return;
            }
        }
    }

    fn next_work(&self) -> Work {
        let mut state = self.state();
        loop {
            if state.is_over {
                return Work::End;
            }
            if self.is_time_to_write(&state) {
                return Work::Flush(state.recent.begin_flush(), state.next_row);
            }
            if let Some(parts) = state.recent.merge_candidates() {
                return Work::Merge(parts);
            }
            // `RETRY` past the idle time makes sure that the next look finds the time elapsed.
            let patience = if state.recent.bytes() >= IDLE_BYTES_MIN {
                IDLE.saturating_sub(state.last_write.elapsed()) + RETRY
            } else {
                Duration::from_hours(1)
            };
            let waited = self.work.wait_timeout(state, patience);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes the oldest runs into tables of the engine. `end` is the number of the row after their
    /// last row.
    fn flush_runs(&self, runs: &[Arc<SortedRun>], end: RowNumber) -> Result<(), Error> {
        while self.tables.l0_table_count() >= UNMERGED_TABLES_MAX {
            if self.state().is_over {
                self.state().recent.cancel_flush();
                return Ok(());
            }
            std::thread::sleep(RETRY);
        }
        let mut entries = MergeIterator::new(runs, &[], None).peekable();
        while entries.peek().is_some() {
            let mut table = self.tables.start_ingestion()?;
            let mut bytes = 0;
            while bytes < TABLE_BYTES
                && let Some(entry) = entries.next()
            {
                let key = entry.shared_key();
                bytes += key.len();
                // The tables below may hold an older live entry of the key, so a tombstone is
                // written and not dropped.
                if entry.is_live() {
                    table.write(key, Bytes::new())?;
                } else {
                    table.write_tombstone(key)?;
                }
            }
            // The early sync shortens the sync inside `finish`, during which the engine blocks all
            // writers.
            sync_newest(&self.tables.path().join(TABLES), "");
            table.finish()?;
        }
        let mut state = self.state();
        state.recent.finish_flush();
        let first = std::mem::replace(&mut state.first_row, end);
        state.is_flush_requested &= !state.recent.runs().is_empty();
        self.publish_view(&state);
        drop(state);
        self.flushed.notify_all();
        // The rows go last. A crash before this line finds the runs in tables and in rows, which is
        // harmless; in the other order the entries would be lost.
        self.pending.remove(first, end)
    }
}
