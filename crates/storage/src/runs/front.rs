//! What everybody shares: the runs in memory, the state as readers see it, and the thread that
//! merges runs and writes them out.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{Database, Keyspace};

use super::pending::{Pending, RowNumber};
use super::range::Merge;
use super::recent::Recent;
use super::run::Run;
use crate::Error;
use crate::ahead::sync_newest;
use crate::value_cache::{Moment, ValueCache};

/// Bytes of keys in one table: the engine takes no batch while it syncs a new table.
const TABLE_BYTES: usize = 8 * 1024 * 1024;
/// Where the engine has them, named by their numbers.
const TABLES: &str = "tables";
/// With so many tables that the engine has not merged yet, nothing is written out.
const UNMERGED_TABLES_MAX: usize = 128;
/// How long nothing was written before what is in memory is written out, if it is worth a table.
const IDLE: Duration = Duration::from_secs(1);
const IDLE_BYTES_MIN: usize = 1024 * 1024;
const RETRY: Duration = Duration::from_millis(20);

/// The state as it was after some batch.
pub(crate) struct View {
    pub(crate) moment: Moment,
    pub(crate) snapshot: fjall::Snapshot,
    /// The oldest first.
    pub(crate) runs: Arc<Vec<Arc<Run>>>,
}

pub(crate) struct Front {
    database: Database,
    /// Where runs are written to.
    tables: Keyspace,
    pending: Pending,
    values: Arc<ValueCache>,
    /// What is gathered before it is written out.
    bytes_max: usize,
    state: Mutex<State>,
    /// Told when there may be work for the thread.
    work: Condvar,
    /// Told when runs have left, or never will.
    left: Condvar,
    view: RwLock<Arc<View>>,
}

struct State {
    recent: Recent,
    /// Rows from this one on are in the engine.
    first_row: RowNumber,
    next_row: RowNumber,
    last_write: Instant,
    /// Somebody waits until everything is written out.
    is_asked: bool,
    is_over: bool,
    failure: Option<Arc<Error>>,
}

enum Work {
    Merge(Vec<Arc<Run>>),
    WriteOut(Arc<Vec<Arc<Run>>>, RowNumber),
    End,
}

/// A row to be written with the batch that it belongs to.
pub(crate) struct Row {
    number: RowNumber,
    run: Bytes,
}

impl Row {
    pub(crate) fn bytes(&self) -> u64 {
        self.run.len() as u64
    }
}

impl Front {
    pub(crate) fn open(
        database: &Database,
        tables: Keyspace,
        values: Arc<ValueCache>,
        bytes_max: usize,
    ) -> Result<Arc<Front>, Error> {
        let pending = Pending::open(database)?;
        let (recent, first_row, next_row) = pending.read()?;
        let view = View {
            moment: values.now(),
            snapshot: database.snapshot(),
            runs: Arc::clone(recent.runs()),
        };
        Ok(Arc::new(Front {
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
                is_asked: false,
                is_over: false,
                failure: None,
            }),
            work: Condvar::new(),
            left: Condvar::new(),
            view: RwLock::new(Arc::new(view)),
        }))
    }

    pub(crate) fn start(self: &Arc<Front>) -> Result<JoinHandle<()>, Error> {
        let front = Arc::clone(self);
        let builder = std::thread::Builder::new().name("orrery-runs".to_owned());
        builder.spawn(move || front.run()).map_err(Error::Thread)
    }

    pub(crate) fn view(&self) -> Arc<View> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&view)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `commit` write a batch along with the row for its run, then shows both.
    pub(crate) fn write(
        &self,
        run: Option<Run>,
        commit: impl FnOnce(Option<Row>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut state = self.state();
        while run.is_some() && state.recent.bytes() >= 2 * self.bytes_max && state.failure.is_none()
        {
            state = self
                .left
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failure) = &state.failure {
            return Err(Error::WritingOut(Arc::clone(failure)));
        }
        let row = run.as_ref().map(|run| Row {
            number: state.next_row,
            run: run.encode(),
        });
        commit(row)?;
        if let Some(run) = run {
            let was_worth_a_table = state.recent.bytes() >= IDLE_BYTES_MIN;
            state.next_row = state.next_row.next();
            state.recent.push(run);
            state.last_write = Instant::now();
            let is_worth_a_table = state.recent.bytes() >= IDLE_BYTES_MIN;
            if is_worth_a_table != was_worth_a_table || self.is_work(&state) {
                self.work.notify_one();
            }
        }
        self.show(&state);
        Ok(())
    }

    pub(crate) fn put_row(&self, batch: &mut fjall::OwnedWriteBatch, row: Row) {
        self.pending.put(batch, row.number, row.run);
    }

    /// The engine's state may be looked at only while nobody else writes.
    fn show(&self, state: &State) {
        let view = View {
            moment: self.values.now(),
            snapshot: self.database.snapshot(),
            runs: Arc::clone(state.recent.runs()),
        };
        let mut shown = self.view.write().unwrap_or_else(PoisonError::into_inner);
        *shown = Arc::new(view);
    }

    /// Writes everything out.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        let mut state = self.state();
        while !state.recent.runs().is_empty() && state.failure.is_none() {
            state.is_asked = true;
            self.work.notify_one();
            state = self
                .left
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        match &state.failure {
            Some(failure) => Err(Error::WritingOut(Arc::clone(failure))),
            None => Ok(()),
        }
    }

    /// Ends the thread; what is in memory is in rows.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.work.notify_one();
    }

    fn is_work(&self, state: &State) -> bool {
        self.is_time_to_write(state) || state.recent.alike().is_some()
    }

    fn is_time_to_write(&self, state: &State) -> bool {
        let bytes = state.recent.bytes();
        let is_idle = bytes >= IDLE_BYTES_MIN && state.last_write.elapsed() >= IDLE;
        bytes > 0 && (bytes >= self.bytes_max || state.is_asked || is_idle)
    }

    fn run(&self) {
        loop {
            let result = match self.next_work() {
                Work::Merge(parts) => {
                    let one = Merge::into_one(&parts);
                    let mut state = self.state();
                    state.recent.replace(&parts, one);
                    self.show(&state);
                    Ok(())
                }
                Work::WriteOut(runs, row) => self.write_out(&runs, row),
                Work::End => return,
            };
            if let Err(error) = result {
                tracing::error!(%error, "index entries could not be written out");
                let mut state = self.state();
                state.recent.remain();
                state.failure = Some(Arc::new(error));
                self.left.notify_all();
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
                return Work::WriteOut(state.recent.leave(), state.next_row);
            }
            if let Some(parts) = state.recent.alike() {
                return Work::Merge(parts);
            }
            let patience = if state.recent.bytes() >= IDLE_BYTES_MIN {
                IDLE.saturating_sub(state.last_write.elapsed()) + RETRY
            } else {
                Duration::from_hours(1)
            };
            let waited = self.work.wait_timeout(state, patience);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Makes tables of the oldest runs, which `end` follows.
    fn write_out(&self, runs: &[Arc<Run>], end: RowNumber) -> Result<(), Error> {
        while self.tables.l0_table_count() >= UNMERGED_TABLES_MAX {
            if self.state().is_over {
                self.state().recent.remain();
                return Ok(());
            }
            std::thread::sleep(RETRY);
        }
        let mut entries = Merge::new(runs, &[], None).peekable();
        while entries.peek().is_some() {
            let mut table = self.tables.start_ingestion()?;
            let mut bytes = 0;
            while bytes < TABLE_BYTES
                && let Some(entry) = entries.next()
            {
                let key = entry.shared_key();
                bytes += key.len();
                if entry.is_there() {
                    table.write(key, Bytes::new())?;
                } else {
                    table.write_tombstone(key)?;
                }
            }
            sync_newest(&self.tables.path().join(TABLES), "");
            table.finish()?;
        }
        let mut state = self.state();
        state.recent.have_left();
        let first = std::mem::replace(&mut state.first_row, end);
        state.is_asked &= !state.recent.runs().is_empty();
        self.show(&state);
        drop(state);
        self.left.notify_all();
        self.pending.remove(first, end)
    }
}
