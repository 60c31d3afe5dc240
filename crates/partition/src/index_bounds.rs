//! A cache of the first and the last value of each index.
//!
//! Looking up both values costs two searches in the index, more than the rest of a plan, and the
//! planner only needs them to estimate the size of ranges. The result of a query never depends on
//! this cache.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use orrery_index::IndexHash;

/// Maximum age of a cached value.
const SECONDS_MAX: u64 = 10;
/// A cached value also expires when the number of entries changes by more than one in this number.
const GROWTH: u64 = 8;
const INDEXES_MAX: usize = 1_024;

/// The cache of one container.
#[derive(Debug, Default)]
pub(crate) struct IndexBoundsCache(Mutex<HashMap<IndexHash, CachedBounds>>);

/// The first and the last value, encoded.
pub(crate) type IndexBounds = (Vec<u8>, Vec<u8>);

#[derive(Debug)]
struct CachedBounds {
    extent: IndexBounds,
    entries: u64,
    second: u64,
}

impl IndexBoundsCache {
    /// The bounds of an index that has `entries` entries now: cached, or from `find`.
    pub(crate) fn of(
        &self,
        index: IndexHash,
        entries: u64,
        second: u64,
        find: impl FnOnce() -> Option<IndexBounds>,
    ) -> Option<IndexBounds> {
        let is_fresh = |known: &&CachedBounds| {
            entries.abs_diff(known.entries) <= known.entries / GROWTH
                && second.abs_diff(known.second) < SECONDS_MAX
        };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&index).filter(is_fresh) {
            return Some(known.extent.clone());
        }
        // `find` reads the index, so the lock is released meanwhile. Two threads may look up the
        // same bounds, which is harmless.
        drop(known);
        let extent = find()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= INDEXES_MAX {
            known.clear();
        }
        let found = CachedBounds {
            extent: extent.clone(),
            entries,
            second,
        };
        known.insert(index, found);
        Some(extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_looked_up_when_they_are_old_or_the_index_has_grown() {
        let extents = IndexBoundsCache::default();
        let mut looked_up = 0;
        for (entries, second, is_new) in [
            (800, 100, true),
            (800, 109, false),
            (900, 100, false),
            (901, 100, true),
            (901, 110, true),
            (100, 110, true),
            (100, 90, true),
        ] {
            let before = looked_up;
            let extent = extents.of(IndexHash(1), entries, second, || {
                looked_up += 1;
                Some((vec![1], vec![2]))
            });
            assert_eq!(extent, Some((vec![1], vec![2])));
            assert_eq!(looked_up > before, is_new, "{entries} at {second}");
        }
        assert_eq!(extents.of(IndexHash(2), 0, 0, || None), None);
    }
}
