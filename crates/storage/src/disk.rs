//! The engine on disk: fjall, an LSM tree.
//!
//! Its journal is never synced by us on the write path; the commit log in front of it is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, FilterPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable};

use crate::value_cache::{Moment, ValueCache};
use crate::{Batch, Error, Options, Space};

/// Reopening replays the journal, so it is kept small.
const JOURNAL_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// A memtable of this size is written out; with its sealed predecessor this bounds write memory.
const MEMTABLE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The same for the map of runs. Its keys come in random order, so every table that is written out
/// is merged with all others: fewer and larger ones are what a write costs.
const RUNS_MEMTABLE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Tables of runs that are written out before they are merged: more make a merge rarer and a seek
/// look into more of them.
const RUNS_TABLES_BEFORE_MERGE: u8 = 8;
/// Of the map whose values are kept one by one: those that are often read do not need their block,
/// and scans like it large.
const KEPT_BLOCK_BYTES: u32 = 16 * 1024;
/// With two or more, the engine's first worker turns round and round while another compacts.
const WORKERS: usize = 1;
/// A memtable that the engine finds full it reports to its worker with every batch, until the worker
/// comes to it; behind a long compaction these reports fill the worker's queue, and the worker then
/// waits for itself. So memtables are rotated here, before the engine finds them full.
const MEMTABLE_HEADROOM: u64 = 4;
/// What an entry of a memtable takes beside its key and value.
const MEMTABLE_ENTRY_BYTES: u64 = 64;

/// Eighths of the cache for values; the rest is for blocks, which writes and ranges read.
const VALUES_EIGHTHS: u64 = 5;

pub(crate) struct Disk {
    database: Database,
    spaces: Vec<Keyspace>,
    /// Bytes in the memtable of each space that were written since its last rotation, and how many
    /// there may be.
    memtables: Vec<(AtomicU64, u64)>,
    kept: Space,
    values: Arc<ValueCache>,
}

impl Disk {
    pub(crate) fn open(directory: &Path, names: &[&str], options: Options) -> Result<Disk, Error> {
        let values_bytes = options.cache_bytes / 8 * VALUES_EIGHTHS;
        let database = Database::builder(directory)
            .cache_size(options.cache_bytes - values_bytes)
            .max_journaling_size(JOURNAL_BYTES_MAX)
            .worker_threads(WORKERS)
            .open()
            .map_err(|error| match error {
                fjall::Error::InvalidVersion(_) => Error::Version,
                other => Error::Engine(other),
            })?;
        let spaces = names
            .iter()
            .zip(0..)
            .map(|(name, number)| {
                database.keyspace(name, || keyspace_options(Space(number), options))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let memtables = (0..).take(spaces.len()).map(|number| {
            let bytes_max = memtable_bytes_max(Space(number), options);
            (AtomicU64::new(0), bytes_max)
        });
        Ok(Disk {
            database,
            memtables: memtables.collect(),
            spaces,
            kept: options.kept,
            values: Arc::new(ValueCache::new(values_bytes)),
        })
    }

    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[usize::from(space.0)]
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
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
        self.values.write(&keys, || self.write_through(batch))
    }

    fn write_through(&self, batch: Batch) -> Result<(), Error> {
        let database = self.database.clone();
        let mut write = OwnedWriteBatch::with_capacity(database, batch.changes.len());
        for (space, key, value) in batch.changes {
            let bytes = key.len() + value.as_ref().map_or(0, Bytes::len);
            let (written, _) = &self.memtables[usize::from(space.0)];
            written.fetch_add(bytes as u64 + MEMTABLE_ENTRY_BYTES, Ordering::Relaxed);
            match value {
                Some(value) => write.insert(self.space(space), key, value),
                None => write.remove(self.space(space), key),
            }
        }
        write.commit()?;
        self.rotate_memtables()
    }

    fn rotate_memtables(&self) -> Result<(), Error> {
        for (keyspace, (written, bytes_max)) in self.spaces.iter().zip(&self.memtables) {
            if written.load(Ordering::Relaxed) >= *bytes_max {
                written.store(0, Ordering::Relaxed);
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    pub(crate) fn persist(&self) -> Result<(), Error> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    /// Writes every memtable out, so that the next start has no journal to replay.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        for space in &self.spaces {
            space.rotate_memtable_and_wait()?;
        }
        self.persist()
    }

    pub(crate) fn snapshot(&self) -> DiskSnapshot {
        DiskSnapshot {
            kept: self.kept,
            values: Arc::clone(&self.values),
            // Before the snapshot, which then has at least what had been written.
            moment: self.values.now(),
            snapshot: self.database.snapshot(),
            spaces: self.spaces.clone(),
        }
    }

    pub(crate) fn disk_bytes(&self) -> Result<u64, Error> {
        Ok(self.database.disk_space()?)
    }
}

fn memtable_bytes_max(space: Space, of_store: Options) -> u64 {
    if space == of_store.runs {
        RUNS_MEMTABLE_BYTES_MAX
    } else {
        MEMTABLE_BYTES_MAX
    }
}

fn keyspace_options(space: Space, of_store: Options) -> KeyspaceCreateOptions {
    let memtable_bytes = memtable_bytes_max(space, of_store) * MEMTABLE_HEADROOM;
    let options = KeyspaceCreateOptions::default().max_memtable_size(memtable_bytes);
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
    values: Arc<ValueCache>,
    moment: Moment,
    snapshot: fjall::Snapshot,
    spaces: Vec<Keyspace>,
}

impl DiskSnapshot {
    fn space(&self, space: Space) -> &Keyspace {
        &self.spaces[usize::from(space.0)]
    }

    pub(crate) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.snapshot.get(self.space(space), key)?.map(Bytes::from))
    }

    pub(crate) fn get_kept(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if space == self.kept {
            let read = || self.get(space, key);
            self.values.get_at(self.moment, key, read)
        } else {
            self.get(space, key)
        }
    }

    pub(crate) fn range(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> fjall::Iter {
        let space = self.space(space);
        match to {
            Some(to) => self.snapshot.range(space, from.to_vec()..to.to_vec()),
            None => self.snapshot.range(space, from.to_vec()..),
        }
    }
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
