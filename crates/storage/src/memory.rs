//! The engine in memory: one persistent map for each keyspace, so that a snapshot clones only the
//! roots.

use std::ops::Bound;
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use imbl::OrdMap;

use crate::{Batch, KeyspaceId};

type Map = OrdMap<Bytes, Bytes>;

pub(crate) struct MemoryEngine {
    maps: RwLock<Vec<Map>>,
}

impl MemoryEngine {
    pub(crate) fn new(spaces: usize) -> MemoryEngine {
        MemoryEngine {
            maps: RwLock::new(vec![Map::new(); spaces]),
        }
    }

    /// An engine that begins with the contents of a snapshot.
    pub(crate) fn of(snapshot: &MemorySnapshot) -> MemoryEngine {
        MemoryEngine {
            maps: RwLock::new(snapshot.maps.clone()),
        }
    }

    pub(crate) fn get(&self, space: KeyspaceId, key: &[u8]) -> Option<Bytes> {
        let maps = self.maps.read().unwrap_or_else(PoisonError::into_inner);
        maps[usize::from(space.0)].get(key).cloned()
    }

    pub(crate) fn write(&self, batch: Batch) {
        // One lock covers all maps: a reader takes its snapshot either before or after the whole
        // batch.
        let mut maps = self.maps.write().unwrap_or_else(PoisonError::into_inner);
        for (space, key, value) in batch.changes {
            let map = &mut maps[usize::from(space.0)];
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
    }

    pub(crate) fn snapshot(&self) -> MemorySnapshot {
        let maps = self.maps.read().unwrap_or_else(PoisonError::into_inner);
        MemorySnapshot { maps: maps.clone() }
    }
}

pub(crate) struct MemorySnapshot {
    maps: Vec<Map>,
}

impl MemorySnapshot {
    pub(crate) fn get(&self, space: KeyspaceId, key: &[u8]) -> Option<Bytes> {
        self.maps[usize::from(space.0)].get(key).cloned()
    }

    pub(crate) fn range(&self, space: KeyspaceId, from: &[u8], to: Option<&[u8]>) -> MemoryRange {
        MemoryRange {
            map: self.maps[usize::from(space.0)].clone(),
            from: Bound::Included(Bytes::copy_from_slice(from)),
            to: to.map_or(Bound::Unbounded, |to| {
                Bound::Excluded(Bytes::copy_from_slice(to))
            }),
        }
    }
}

/// Seeks each next entry from the key of the previous one, so the iterator owns its map and borrows
/// nothing.
pub(crate) struct MemoryRange {
    map: Map,
    from: Bound<Bytes>,
    to: Bound<Bytes>,
}

impl Iterator for MemoryRange {
    type Item = (Bytes, Bytes);

    fn next(&mut self) -> Option<(Bytes, Bytes)> {
        if is_empty(&self.from, &self.to) {
            return None;
        }
        let bounds = (self.from.clone(), self.to.clone());
        let (key, value) = self.map.range(bounds).next()?;
        let entry = (key.clone(), value.clone());
        self.from = Bound::Excluded(entry.0.clone());
        Some(entry)
    }
}

impl DoubleEndedIterator for MemoryRange {
    fn next_back(&mut self) -> Option<(Bytes, Bytes)> {
        if is_empty(&self.from, &self.to) {
            return None;
        }
        let bounds = (self.from.clone(), self.to.clone());
        let (key, value) = self.map.range(bounds).next_back()?;
        let entry = (key.clone(), value.clone());
        self.to = Bound::Excluded(entry.0.clone());
        Some(entry)
    }
}

fn is_empty(from: &Bound<Bytes>, to: &Bound<Bytes>) -> bool {
    match (from, to) {
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
        _ => false,
    }
}
