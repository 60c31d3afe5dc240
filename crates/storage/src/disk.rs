//! The engine on disk: fjall, an LSM tree.
//!
//! The write path never syncs the engine's journal. The commit log in front of the engine makes
//! writes durable.

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

use crate::journal::JournalSyncs;
use crate::missing_files::{check_files, check_keyspaces};
use crate::runs::{MergeIterator, PendingRun, ReadView, RunBuffer, RunsRange, SortedRun};
use crate::value_cache::ValueCache;
use crate::{Batch, Error, KeyspaceId, StorageOptions};

/// Upper bound of the journal. A restart replays the whole journal, so it is kept small.
const JOURNAL_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// A keyspace rotates its memtable at this size. With the sealed predecessor this bounds write
/// memory.
const MEMTABLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Level-0 tables of the buffered keyspace before a compaction merges them. A higher limit makes a
/// merge rarer and makes a seek search more tables. One flush of the run buffer creates about four
/// tables.
const RUNS_TABLES_BEFORE_MERGE: u8 = 32;
/// Block size of the keyspace with cached values. A cache miss reads a whole block, and range scans
/// profit from large blocks; this size balances the two.
const KEPT_BLOCK_BYTES: u32 = 8 * 1024;
/// Compaction threads of the engine. With two or more, the first worker spins while another
/// compacts.
const WORKERS: usize = 1;
/// The engine's memtable limit is this many times [`MEMTABLE_BYTES_MAX`]. The engine reports a full
/// memtable to its worker with every batch until the worker handles it. Behind a long compaction
/// these reports fill the worker's queue, and the worker then deadlocks on its own queue. So this
/// module rotates memtables before the engine finds them full.
const MEMTABLE_HEADROOM: u64 = 4;
/// Polling interval of `flush` while the engine writes sealed memtables out.
const FLUSH_LOOK: Duration = Duration::from_millis(1);
/// Estimated overhead of a memtable entry beside its key and value.
const MEMTABLE_ENTRY_BYTES: u64 = 64;

/// Eighths of the cache for the value cache. The rest is for blocks, which writes and ranges read.
const VALUES_EIGHTHS: u64 = 5;

pub(crate) struct DiskEngine {
    database: Database,
    keyspaces: Arc<[Keyspace]>,
    /// Bytes written to each keyspace since the last rotation of its memtable.
    memtables: Vec<AtomicU64>,
    cached_keyspace: KeyspaceId,
    runs: KeyspaceId,
    values: Arc<ValueCache>,
    run_buffer: Arc<RunBuffer>,
    writer: Option<JoinHandle<()>>,
    journal: JournalSyncs,
}

impl DiskEngine {
    pub(crate) fn open(
        directory: &Path,
        names: &[&str],
        options: StorageOptions,
    ) -> Result<DiskEngine, Error> {
        let values_bytes = options.cache_bytes / 8 * VALUES_EIGHTHS;
        if options.required_keyspaces > 0 {
            check_files(directory)?;
        }
        let database = Database::builder(directory)
            .cache_size(options.cache_bytes - values_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .journal_compression(CompressionType::None)
            .worker_threads(WORKERS);
        // The engine asserts invariants on damaged files and panics instead of returning an error.
        let opened = catch_unwind(AssertUnwindSafe(|| database.open()));
        let database = opened
            .map_err(|panic| Error::Panicked(text_of(&*panic)))?
            .map_err(|error| match error {
                fjall::Error::InvalidVersion(_) => Error::Version,
                other => Error::Engine(other),
            })?;
        // This check comes before `Database::keyspace`, which silently creates a keyspace that is
        // missing.
        if options.required_keyspaces > 0 {
            check_keyspaces(&database, names, options.required_keyspaces)?;
        }
        let spaces = names
            .iter()
            .zip(0..)
            .map(|(name, number)| {
                database.keyspace(name, || keyspace_options(KeyspaceId(number), options))
            })
            .collect::<Result<Arc<[_]>, _>>()?;
        let values = Arc::new(ValueCache::new(values_bytes));
        let tables = spaces[usize::from(options.buffered_keyspace.0)].clone();
        let front = RunBuffer::open(
            &database,
            tables,
            Arc::clone(&values),
            options.run_buffer_bytes,
        )?;
        Ok(DiskEngine {
            writer: Some(front.start()?),
            journal: JournalSyncs::start(directory).map_err(Error::Thread)?,
            database,
            memtables: spaces.iter().map(|_| AtomicU64::new(0)).collect(),
            keyspaces: spaces,
            cached_keyspace: options.cached_keyspace,
            runs: options.buffered_keyspace,
            values,
            run_buffer: front,
        })
    }

    fn keyspace(&self, space: KeyspaceId) -> &Keyspace {
        &self.keyspaces[usize::from(space.0)]
    }

    pub(crate) fn get(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.runs {
            return self.snapshot().get(space, key);
        }
        Ok(self.keyspace(space).get(key)?.map(Bytes::from))
    }

    pub(crate) fn get_cached(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.cached_keyspace {
            self.values.get(key, || self.get(space, key))
        } else {
            self.get(space, key)
        }
    }

    pub(crate) fn write(&self, batch: Batch) -> Result<(), Error> {
        // The buffered keyspace leaves the batch here: its keys become one sorted run. The engine's
        // memtables receive all other changes.
        let keys = batch.keys_of(self.cached_keyspace);
        let mut changes = batch.changes;
        let is_entry = |(space, _, _): &mut (KeyspaceId, _, _)| *space == self.runs;
        let entries = changes.extract_if(.., is_entry);
        let entries: Vec<_> = entries
            .map(|(_, key, value)| (key, value.is_some()))
            .collect();
        let run = (!entries.is_empty()).then(|| SortedRun::new(entries));
        // The lock of the run buffer is outermost: no reader takes a view between the commit of the
        // batch and the publication of its run.
        self.run_buffer.write(run, |row| {
            self.values
                .write(&keys, || self.write_through(changes, row))
        })
    }

    fn write_through(
        &self,
        changes: Vec<(KeyspaceId, Bytes, Option<Bytes>)>,
        row: Option<PendingRun>,
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
                Some(value) => write.insert(self.keyspace(space), key, value),
                None => write.remove(self.keyspace(space), key),
            }
        }
        if let Some(row) = row {
            journaled += row.bytes();
            self.run_buffer.put_row(&mut write, row);
        }
        // The counters above grow before the commit. A commit that fails leaves them too high,
        // which only rotates a memtable early.
        write.commit()?;
        self.journal.written(journaled);
        self.rotate_memtables()
    }

    fn rotate_memtables(&self) -> Result<(), Error> {
        for (keyspace, written) in self.keyspaces.iter().zip(&self.memtables) {
            if written.load(Ordering::Relaxed) >= MEMTABLE_BYTES_MAX {
                written.store(0, Ordering::Relaxed);
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    pub(crate) fn persist(&self) -> Result<(), Error> {
        // The early sync leaves the engine few dirty bytes to sync while it blocks all writers.
        self.journal.sync();
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    /// Writes every memtable out, so that the next start has no journal to replay.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.run_buffer.flush()?;
        for space in self.keyspaces.iter() {
            space.rotate_memtable()?;
        }
        for space in self.keyspaces.iter() {
            while space.sealed_memtable_count() > 0 {
                // If the worker fails to write a memtable, the engine does not retry and this loop
                // would never end. `persist` returns the worker's error.
                self.database.persist(PersistMode::Buffer)?;
                thread::sleep(FLUSH_LOOK);
            }
        }
        self.persist()
    }

    pub(crate) fn snapshot(&self) -> DiskSnapshot {
        DiskSnapshot {
            cached_keyspace: self.cached_keyspace,
            runs: self.runs,
            values: Arc::clone(&self.values),
            view: self.run_buffer.view(),
            keyspaces: Arc::clone(&self.keyspaces),
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

impl Drop for DiskEngine {
    fn drop(&mut self) {
        self.run_buffer.end();
        if let Some(writer) = self.writer.take() {
            // A writer thread that ended early has logged its error.
            let _ = writer.join();
        }
    }
}

fn keyspace_options(space: KeyspaceId, of_store: StorageOptions) -> KeyspaceCreateOptions {
    let options =
        KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES_MAX * MEMTABLE_HEADROOM);
    if space == of_store.buffered_keyspace {
        // A Bloom filter serves point reads, and no reader looks up single keys in this keyspace.
        let compaction = Leveled::default().with_l0_threshold(RUNS_TABLES_BEFORE_MERGE);
        options
            .filter_policy(FilterPolicy::disabled())
            .compaction_strategy(Arc::new(compaction))
    } else {
        // Most tables that readers touch are in the page cache, where decompression costs more than
        // reading.
        let options = options.data_block_compression_policy(CompressionPolicy::disabled());
        if space == of_store.cached_keyspace {
            options.data_block_size_policy(BlockSizePolicy::all(KEPT_BLOCK_BYTES))
        } else {
            options
        }
    }
}

pub(crate) struct DiskSnapshot {
    cached_keyspace: KeyspaceId,
    runs: KeyspaceId,
    values: Arc<ValueCache>,
    view: Arc<ReadView>,
    keyspaces: Arc<[Keyspace]>,
}

impl DiskSnapshot {
    fn space(&self, space: KeyspaceId) -> &Keyspace {
        &self.keyspaces[usize::from(space.0)]
    }

    pub(crate) fn get(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.runs {
            // The runs in memory are newer than every table of the engine, and a tombstone in a run
            // hides the key in the tables.
            let mut newest_first = self.view.runs.iter().rev();
            if let Some(is_there) = newest_first.find_map(|run| run.find(key)) {
                return Ok(is_there.then(Bytes::new));
            }
        }
        let value = self.view.snapshot.get(self.space(space), key)?;
        Ok(value.map(Bytes::from))
    }

    pub(crate) fn get_cached(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.cached_keyspace {
            let read = || self.get(space, key);
            self.values.get_at(self.view.sequence, key, read)
        } else {
            self.get(space, key)
        }
    }

    pub(crate) fn range(&self, space: KeyspaceId, from: &[u8], to: Option<&[u8]>) -> DiskRange {
        let behind = match to {
            Some(to) => {
                let range = from.to_vec()..to.to_vec();
                self.view.snapshot.range(self.space(space), range)
            }
            None => self.view.snapshot.range(self.space(space), from.to_vec()..),
        };
        if space == self.runs {
            let recent = MergeIterator::new(&self.view.runs, from, to);
            if !recent.is_empty() {
                let range = RunsRange::new(recent, EngineKeys(behind));
                return DiskRange::Runs(Box::new(range));
            }
        }
        DiskRange::Engine(behind)
    }
}

/// Entries of one keyspace, from either end.
pub(crate) enum DiskRange {
    Engine(fjall::Iter),
    Runs(Box<RunsRange<EngineKeys>>),
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

/// The keys that the engine's tables have in the buffered keyspace.
pub(crate) struct EngineKeys(fjall::Iter);

impl Iterator for EngineKeys {
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(key)
    }
}

impl DoubleEndedIterator for EngineKeys {
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
        let options = StorageOptions {
            cache_bytes: 1 << 20,
            cached_keyspace: KeyspaceId(0),
            buffered_keyspace: KeyspaceId(1),
            run_buffer_bytes: 1 << 20,
            required_keyspaces: 0,
        };
        let disk = DiskEngine::open(directory.path(), &["documents", "runs"], options).unwrap();
        let value = Bytes::from(vec![7; 1 << 20]);
        // Full by `MEMTABLE_BYTES_MAX`, and far below the engine's own limit.
        for number in 0..=MEMTABLE_BYTES_MAX >> 20 {
            let mut batch = Batch::default();
            batch.put(KeyspaceId(0), number.to_be_bytes().to_vec(), value.clone());
            disk.write(batch).unwrap();
        }
        let begun = Instant::now();
        while disk.keyspace(KeyspaceId(0)).table_count() == 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "nothing was written out"
            );
            sleep(Duration::from_millis(10));
        }
    }
}
