//! One interface over the two engines.

use std::path::Path;

use bytes::Bytes;

use crate::disk::{Disk, DiskRange, DiskSnapshot};
use crate::memory::{Memory, MemoryRange, MemorySnapshot};
use crate::{Batch, Error, Space};

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of blocks and values kept in memory for reads.
    pub cache_bytes: u64,
    /// The map whose values [`Storage::get_kept`] keeps one by one.
    pub kept: Space,
    /// A map of many small keys without values that are read in runs and seldom one by one.
    pub runs: Space,
    /// Bytes of such keys that gather in memory before they are written out.
    pub runs_bytes: usize,
    /// Whether the store was whole before: `Storage::open` then reports a missing file as lost and
    /// does not make it anew.
    pub is_established: bool,
}

pub struct Storage {
    engine: Engine,
}

enum Engine {
    Disk(Disk),
    Memory(Memory),
}

impl Storage {
    /// Opens or creates a store on disk whose maps are called `names`, in that order.
    pub fn open(directory: &Path, names: &[&str], options: Options) -> Result<Storage, Error> {
        Ok(Storage {
            engine: Engine::Disk(Disk::open(directory, names, options)?),
        })
    }

    /// A store that ends with the process.
    pub fn in_memory(names: &[&str]) -> Storage {
        Storage {
            engine: Engine::Memory(Memory::new(names.len())),
        }
    }

    /// The newest value of a key.
    pub fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            Engine::Disk(disk) => disk.get(space, key),
            Engine::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// The newest value of a key that is expected to be asked for again.
    pub fn get_kept(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            Engine::Disk(disk) => disk.get_kept(space, key),
            Engine::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// Applies a batch: readers see all of it or nothing. It survives the end of the process only
    /// by luck until [`Storage::persist`].
    pub fn write(&self, batch: Batch) -> Result<(), Error> {
        match &self.engine {
            Engine::Disk(disk) => disk.write(batch),
            Engine::Memory(memory) => {
                memory.write(batch);
                Ok(())
            }
        }
    }

    /// Makes every batch written so far survive a loss of power.
    pub fn persist(&self) -> Result<(), Error> {
        match &self.engine {
            Engine::Disk(disk) => disk.persist(),
            Engine::Memory(_) => Ok(()),
        }
    }

    /// Prepares a quick next start. Called once, before the store is dropped.
    pub fn flush(&self) -> Result<(), Error> {
        match &self.engine {
            Engine::Disk(disk) => disk.flush(),
            Engine::Memory(_) => Ok(()),
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            engine: match &self.engine {
                Engine::Disk(disk) => EngineSnapshot::Disk(disk.snapshot()),
                Engine::Memory(memory) => EngineSnapshot::Memory(memory.snapshot()),
            },
        }
    }

    /// Bytes the engine occupies on disk; none in memory.
    pub fn disk_bytes(&self) -> Result<u64, Error> {
        match &self.engine {
            Engine::Disk(disk) => disk.disk_bytes(),
            Engine::Memory(_) => Ok(0),
        }
    }
}

/// The store as it was at one moment.
pub struct Snapshot {
    engine: EngineSnapshot,
}

enum EngineSnapshot {
    Disk(DiskSnapshot),
    Memory(MemorySnapshot),
}

impl Snapshot {
    pub fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            EngineSnapshot::Disk(disk) => disk.get(space, key),
            EngineSnapshot::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// The value of a key that is expected to be asked for again.
    pub fn get_kept(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>, Error> {
        match &self.engine {
            EngineSnapshot::Disk(disk) => disk.get_kept(space, key),
            EngineSnapshot::Memory(memory) => Ok(memory.get(space, key)),
        }
    }

    /// The entries from `from` up to but without `to`, in key order.
    pub fn range(&self, space: Space, from: &[u8], to: Option<&[u8]>) -> Range {
        let entries = match &self.engine {
            EngineSnapshot::Disk(_) if to.is_some_and(|to| from >= to) => Entries::Empty,
            EngineSnapshot::Disk(disk) => Entries::Disk(disk.range(space, from, to)),
            EngineSnapshot::Memory(memory) => Entries::Memory(memory.range(space, from, to)),
        };
        Range { entries }
    }
}

/// Entries of one map in key order, from either end.
pub struct Range {
    entries: Entries,
}

enum Entries {
    Empty,
    Disk(DiskRange),
    Memory(MemoryRange),
}

impl Iterator for Range {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.entries {
            Entries::Empty => None,
            Entries::Disk(entries) => entries.next(),
            Entries::Memory(entries) => entries.next().map(Ok),
        }
    }
}

impl DoubleEndedIterator for Range {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.entries {
            Entries::Empty => None,
            Entries::Disk(entries) => entries.next_back(),
            Entries::Memory(entries) => entries.next_back().map(Ok),
        }
    }
}
