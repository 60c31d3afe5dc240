//! The common interface of the disk engine and the memory engine.

use std::path::Path;

use bytes::Bytes;

use crate::disk::{DiskEngine, DiskRange, DiskSnapshot};
use crate::memory::{MemoryEngine, MemoryRange, MemorySnapshot};
use crate::{Batch, Error, KeyspaceId};

#[derive(Debug, Clone, Copy)]
pub struct StorageOptions {
    /// Bytes of blocks and values kept in memory for reads.
    pub cache_bytes: u64,
    /// The keyspace whose values [`Storage::get_cached`] caches one by one.
    pub cached_keyspace: KeyspaceId,
    /// A keyspace of many small keys without values. Queries read its keys in ranges and seldom one
    /// by one.
    pub buffered_keyspace: KeyspaceId,
    /// Bytes of keys of `buffered_keyspace` that gather in memory before a background thread writes
    /// them into tables of the engine.
    pub run_buffer_bytes: usize,
    /// The number of keyspaces that an earlier start is known to have created with all their files, in
    /// the order of their names. `Storage::open` reports a missing one as lost and does not create
    /// it anew.
    pub required_keyspaces: usize,
}

pub struct Storage {
    engine: StorageEngine,
}

enum StorageEngine {
    Disk(DiskEngine),
    Memory(MemoryEngine),
}

impl Storage {
    /// Opens or creates a store on disk whose keyspaces are called `names`. The position of a name
    /// is its [`KeyspaceId`].
    pub fn open(
        directory: &Path,
        names: &[&str],
        options: StorageOptions,
    ) -> Result<Storage, Error> {
        Ok(Storage {
            engine: StorageEngine::Disk(DiskEngine::open(directory, names, options)?),
        })
    }

    /// A store in memory. Its contents end with the process.
    pub fn in_memory(names: &[&str]) -> Storage {
        Storage {
            engine: StorageEngine::Memory(MemoryEngine::new(names.len())),
        }
    }

    /// A store in memory that begins with the contents of a snapshot of another store in memory: what
    /// a simulation finds after a crash. `None` if the other store is on disk.
    pub fn in_memory_of(snapshot: &Snapshot) -> Option<Storage> {
        match &snapshot.engine {
            EngineSnapshot::Disk(_) => None,
            EngineSnapshot::Memory(memory) => Some(Storage {
                engine: StorageEngine::Memory(MemoryEngine::of(memory)),
            }),
        }
    }

    /// The newest value of a key.
    pub fn get(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            StorageEngine::Disk(disk) => disk.get(space, key),
            StorageEngine::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// The newest value of a key. The value cache stores the value because the caller expects
    /// further reads.
    pub fn get_cached(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            StorageEngine::Disk(disk) => disk.get_cached(space, key),
            StorageEngine::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// Applies a batch atomically: a reader sees all changes of the batch or none. A crash may lose
    /// the batch until [`Storage::persist`] returns.
    pub fn write(&self, batch: Batch) -> Result<(), Error> {
        match &self.engine {
            StorageEngine::Disk(disk) => disk.write(batch),
            StorageEngine::Memory(memory) => {
                memory.write(batch);
                Ok(())
            }
        }
    }

    /// Makes every batch written so far survive a loss of power.
    pub fn persist(&self) -> Result<(), Error> {
        match &self.engine {
            StorageEngine::Disk(disk) => disk.persist(),
            StorageEngine::Memory(_) => Ok(()),
        }
    }

    /// Writes the memtables out so that the next start replays no journal. The owner calls this
    /// once, before it drops the store.
    pub fn flush(&self) -> Result<(), Error> {
        match &self.engine {
            StorageEngine::Disk(disk) => disk.flush(),
            StorageEngine::Memory(_) => Ok(()),
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            engine: match &self.engine {
                StorageEngine::Disk(disk) => EngineSnapshot::Disk(disk.snapshot()),
                StorageEngine::Memory(memory) => EngineSnapshot::Memory(memory.snapshot()),
            },
        }
    }

    /// Bytes that the engine occupies on disk; zero for the memory engine.
    pub fn disk_bytes(&self) -> Result<u64, Error> {
        match &self.engine {
            StorageEngine::Disk(disk) => disk.disk_bytes(),
            StorageEngine::Memory(_) => Ok(0),
        }
    }
}

/// An immutable view of the store after one batch.
pub struct Snapshot {
    engine: EngineSnapshot,
}

enum EngineSnapshot {
    Disk(DiskSnapshot),
    Memory(MemorySnapshot),
}

impl Snapshot {
    pub fn get(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            EngineSnapshot::Disk(disk) => disk.get(space, key),
            EngineSnapshot::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// The value that a key has in this snapshot. The value cache stores the value because the
    /// caller expects further reads.
    pub fn get_cached(&self, space: KeyspaceId, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            EngineSnapshot::Disk(disk) => disk.get_cached(space, key),
            EngineSnapshot::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// The entries from `from` up to but without `to`, in key order.
    pub fn range(&self, space: KeyspaceId, from: &[u8], to: Option<&[u8]>) -> Range {
        let entries = match &self.engine {
            // An empty range is answered here, so the engine only sees ranges with `from` below
            // `to`.
            EngineSnapshot::Disk(_) if to.is_some_and(|to| from >= to) => EngineRange::Empty,
            EngineSnapshot::Disk(disk) => EngineRange::Disk(disk.range(space, from, to)),
            EngineSnapshot::Memory(memory) => EngineRange::Memory(memory.range(space, from, to)),
        };
        Range { entries }
    }
}

/// Entries of one keyspace in key order, readable from either end.
pub struct Range {
    entries: EngineRange,
}

enum EngineRange {
    Empty,
    Disk(DiskRange),
    Memory(MemoryRange),
}

impl Iterator for Range {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.entries {
            EngineRange::Empty => None,
            EngineRange::Disk(entries) => entries.next(),
            EngineRange::Memory(entries) => entries.next().map(Ok),
        }
    }
}

impl DoubleEndedIterator for Range {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.entries {
            EngineRange::Empty => None,
            EngineRange::Disk(entries) => entries.next_back(),
            EngineRange::Memory(entries) => entries.next_back().map(Ok),
        }
    }
}
