//! The engine on disk: fjall, an LSM tree.
//!
//! Its journal is never synced by us on the write path; the commit log in front of it is.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, FilterPolicy};
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode,
    Readable,
};

use crate::established::{check_files, check_maps};
use crate::journal::JournalSyncs;
use crate::runs::{Front, Merge, Row, Run, RunsRange, View};
use crate::value_cache::ValueCache;
use crate::{Batch, Error, Options, Space};

/// Reopening replays the journal, so it is kept small.
const JOURNAL_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// A memtable of this size is written out; with its sealed predecessor this bounds write memory.
const MEMTABLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Tables of runs that are written out before they are merged: more make a merge rarer and a seek
/// look into more of them. What is written out at once makes about four.
const RUNS_TABLES_BEFORE_MERGE: u8 = 32;
/// Of the map whose values are kept one by one: a value that is not kept costs its whole block, and
/// scans like it large.
const KEPT_BLOCK_BYTES: u32 = 8 * 1024;
/// With two or more, the engine's first worker turns round and round while another compacts.
const WORKERS: usize = 1;
/// A memtable that the engine finds full it reports to its worker with every batch, until the worker
/// comes to it; behind a long compaction these reports fill the worker's queue, and the worker then
/// waits for itself. So memtables are rotated here, before the engine finds them full.
const MEMTABLE_HEADROOM: u64 = 4;
/// How often whoever waits for memtables to be written out looks for it.
const FLUSH_LOOK: Duration = Duration::from_millis(1);
/// What an entry of a memtable takes beside its key and value.
const MEMTABLE_ENTRY_BYTES: u64 = 64;

/// Eighths of the cache for values; the rest is for blocks, which writes and ranges read.
const VALUES_EIGHTHS: u64 = 5;

pub(crate) struct Disk {
    database: Database,
    spaces: Arc<[Keyspace]>,
    /// Bytes that were written to each space since its memtable was rotated.
    memtables: Vec<AtomicU64>,
    kept: Space,
    runs: Space,
    values: Arc<ValueCache>,
    front: Arc<Front>,
    writer: Option<JoinHandle<()>>,
    journal: JournalSyncs,
}

impl Disk {
    pub(crate) fn open(directory: &Path, names: &[&str], options: Options) -> Result<Disk, Error> {
        let values_bytes = options.cache_bytes / 8 * VALUES_EIGHTHS;
        if options.is_established {
            check_files(directory)?;
        }
        let database = Database::builder(directory)
            .cache_size(options.cache_bytes - values_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .journal_compression(CompressionType::None)
            .worker_threads(WORKERS);
        // Of damaged files the engine asserts what it should ask.
        let opened = catch_unwind(AssertUnwindSafe(|| database.open()));
        let database = opened
            .map_err(|panic| Error::Panicked(text_of(&*panic)))?
            .map_err(|error| match error {
                fjall::Error::InvalidVersion(_) => Error::Version,
                other => Error::Engine(other),
            })?;
        if options.is_established {
            check_maps(&database, names)?;
        }
        let spaces = names
            .iter()
            .zip(0..)
            .map(|(name, number)| {
                database.keyspace(name, || keyspace_options(Space(number), options))
            })
            .collect::<Result<Arc<[_]>, _>>()?;
        let values = Arc::new(ValueCache::new(values_bytes));
        let tables = spaces[usize::from(options.runs.0)].clone();
        let front = Front::open(&database, tables, Arc::clone(&values), options.runs_bytes)?;
        Ok(Disk {
            writer: Some(front.start()?),
            journal: JournalSyncs::start(directory).map_err(Error::Thread)?,
            database,
            memtables: spaces.iter().map(|_| AtomicU64::new(0)).collect(),
            spaces,
            kept: options.kept,
            runs: options.runs,
            values,
            front,
        })
    }

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[usize::from(space.0)]
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.runs {
            return self.snapshot().get(space, key);
        }
        Ok(self.space(space).get(key)?.map(Bytes::from))
    }

    pub(crate) fn get_kept(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.kept {
            self.values.get(key, || self.get(space, key))
        } else {
            self.get(space, key)
        }
    }

    pub(crate) fn write(&self, batch: Batch) -> Result<(), Error> {
        let keys = batch.keys_of(self.kept);
        let mut changes = batch.changes;
        let is_entry = |(space, _, _): &mut (Space, _, _)| *space == self.runs;
        let entries = changes.extract_if(.., is_entry);
        let entries: Vec<_> = entries
            .map(|(_, key, value)| (key, value.is_some()))
            .collect();
        let run = (!entries.is_empty()).then(|| Run::new(entries));
        self.front.write(run, |row| {
            self.values
                .write(&keys, || self.write_through(changes, row))
        })
    }

    fn write_through(
        &self,
        changes: Vec<(Space, Bytes, Option<Bytes>)>,
        row: Option<Row>,
    ) -> Result<(), Error> {
        let database = self.database.clone();
        let mut write = OwnedWriteBatch::with_capacity(database, changes.len() + 1);
        let mut journaled = 0;
        for (space, key, value) in changes {
            let bytes = (key.len() + value.as_ref().map_or(0, Bytes::len)) as u64;
            let written = &self.memtables[usize::from(space.0)];
            written.fetch_add(bytes + MEMTABLE_ENTRY_BYTES, Ordering::Relaxed);
            journaled += bytes;
            match value {
                Some(value) => write.insert(self.space(space), key, value),
                None => write.remove(self.space(space), key),
            }
        }
        if let Some(row) = row {
            journaled += row.bytes();
            self.front.put_row(&mut write, row);
        }
        write.commit()?;
        self.journal.written(journaled);
        self.rotate_memtables()
    }

    fn rotate_memtables(&self) -> Result<(), Error> {
        for (keyspace, written) in self.spaces.iter().zip(&self.memtables) {
            if written.load(Ordering::Relaxed) >= MEMTABLE_BYTES_MAX {
                written.store(0, Ordering::Relaxed);
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    pub(crate) fn persist(&self) -> Result<(), Error> {
        self.journal.sync();
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    /// Writes every memtable out, so that the next start has no journal to replay.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.front.flush()?;
        for space in self.spaces.iter() {
            space.rotate_memtable()?;
        }
        for space in self.spaces.iter() {
            while space.sealed_memtable_count() > 0 {
                // If writing them out has failed, nobody tries again; this is who says so.
                self.database.persist(PersistMode::Buffer)?;
                thread::sleep(FLUSH_LOOK);
            }
        }
        self.persist()
    }

    pub(crate) fn snapshot(&self) -> DiskSnapshot {
        DiskSnapshot {
            kept: self.kept,
            runs: self.runs,
            values: Arc::clone(&self.values),
            view: self.front.view(),
            spaces: Arc::clone(&self.spaces),
        }
    }

    pub(crate) fn disk_bytes(&self) -> Result<u64, Error> {
        Ok(self.database.disk_space()?)
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_default()
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.front.end();
        if let Some(writer) = self.writer.take() {
            // It has said in the log why it ended early, if it did.
            let _ = writer.join();
        }
    }
}

fn keyspace_options(space: Space, of_store: Options) -> KeyspaceCreateOptions {
    let options =
        KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES_MAX * MEMTABLE_HEADROOM);
    if space == of_store.runs {
        // A filter answers whether a key is there, which nobody asks.
        let compaction = Leveled::default().with_l0_threshold(RUNS_TABLES_BEFORE_MERGE);
        options
            .filter_policy(FilterPolicy::disabled())
            .compaction_strategy(Arc::new(compaction))
    } else {
        // What is read is mostly in the page cache, where unpacking costs more than reading.
        let options = options.data_block_compression_policy(CompressionPolicy::disabled());
        if space == of_store.kept {
            options.data_block_size_policy(BlockSizePolicy::all(KEPT_BLOCK_BYTES))
        } else {
            options
        }
    }
}

pub(crate) struct DiskSnapshot {
    kept: Space,
    runs: Space,
    values: Arc<ValueCache>,
    view: Arc<View>,
    spaces: Arc<[Keyspace]>,
}

impl DiskSnapshot {
    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[usize::from(space.0)]
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.runs {
            let mut newest_first = self.view.runs.iter().rev();
            if let Some(is_there) = newest_first.find_map(|run| run.find(key)) {
                return Ok(is_there.then(Bytes::new));
            }
        }
        let value = self.view.snapshot.get(self.space(space), key)?;
        Ok(value.map(Bytes::from))
    }

    pub(crate) fn get_kept(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.kept {
            let read = || self.get(space, key);
            self.values.get_at(self.view.moment, key, read)
        } else {
            self.get(space, key)
        }
    }

    pub(crate) fn range(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> DiskRange {
        let behind = match to {
            Some(to) => {
                let range = from.to_vec()..to.to_vec();
                self.view.snapshot.range(self.space(space), range)
            }
            None => self.view.snapshot.range(self.space(space), from.to_vec()..),
        };
        if space == self.runs {
            let recent = Merge::new(&self.view.runs, from, to);
            if !recent.is_empty() {
                let range = RunsRange::new(recent, Behind(behind));
                return DiskRange::Runs(Box::new(range));
            }
        }
        DiskRange::Engine(behind)
    }
}

/// Entries of one map, from either end.
pub(crate) enum DiskRange {
    Engine(fjall::Iter),
    Runs(Box<RunsRange<Behind>>),
}

impl Iterator for DiskRange {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            DiskRange::Engine(entries) => entries.next().map(entry),
            DiskRange::Runs(keys) => keys.next().map(without_value),
        }
    }
}

impl DoubleEndedIterator for DiskRange {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            DiskRange::Engine(entries) => entries.next_back().map(entry),
            DiskRange::Runs(keys) => keys.next_back().map(without_value),
        }
    }
}

/// The keys that the engine has of the map of runs.
pub(crate) struct Behind(fjall::Iter);

impl Iterator for Behind {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(key)
    }
}

impl DoubleEndedIterator for Behind {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(key)
    }
}

fn entry(guard: fjall::Guard) -> Result<(Bytes, Bytes), Error> {
    let (key, value) = guard.into_inner()?;
    Ok((key.into(), value.into()))
}

fn key(guard: fjall::Guard) -> Result<Bytes, Error> {
    Ok(guard.key()?.into())
}

fn without_value(key: Result<Bytes, Error>) -> Result<(Bytes, Bytes), Error> {
    Ok((key?, Bytes::new()))
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn memtables_are_written_out_before_the_engine_finds_them_full() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            cache_bytes: 1 << 20,
            kept: Space(0),
            runs: Space(1),
            runs_bytes: 1 << 20,
            is_established: false,
        };
        let disk = Disk::open(directory.path(), &["documents", "runs"], options).unwrap();
        let value = Bytes::from(vec![7; 1 << 20]);
        // Full by our measure, and far from full by that of the engine.
        for number in 0..=MEMTABLE_BYTES_MAX >> 20 {
            let mut batch = Batch::default();
            batch.put(Space(0), number.to_be_bytes().to_vec(), value.clone());
            disk.write(batch).unwrap();
        }
        let begun = Instant::now();
        while disk.space(Space(0)).table_count() == 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "nothing was written out"
            );
            sleep(Duration::from_millis(10));
        }
    }
}
