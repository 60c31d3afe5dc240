//! The first and the last value of indexes, remembered for a while.
//!
//! Finding them is two searches in the index, which costs more than the rest of a plan, and they
//! only say how large a range is about. What a query answers never depends on them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use orrery_index::IndexHash;

/// How long values may change before they are looked up again.
const SECONDS_MAX: u64 = 10;
/// They are also looked up when there are so much more or fewer entries: one of so many.
const GROWTH: u64 = 8;
const INDEXES_MAX: usize = 1_024;

/// Of one container.
#[derive(Debug, Default)]
pub(crate) struct Extents(Mutex<HashMap<IndexHash, Known>>);

/// The first and the last value, as bytes.
pub(crate) type Extent = (Vec<u8>, Vec<u8>);

#[derive(Debug)]
struct Known {
    extent: Extent,
    entries: u64,
    second: u64,
}

impl Extents {
    /// What is remembered of an index that has so many entries now, or else what `find` gives.
    pub(crate) fn of(
        &self,
        index: IndexHash,
        entries: u64,
        second: u64,
        find: impl FnOnce() -> Option<Extent>,
    ) -> Option<Extent> {
        let is_fresh = |known: &&Known| {
            entries.abs_diff(known.entries) <= known.entries / GROWTH
                && second.abs_diff(known.second) < SECONDS_MAX
        };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&index).filter(is_fresh) {
            return Some(known.extent.clone());
        }
        drop(known);
        let extent = find()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= INDEXES_MAX {
            known.clear();
        }
        let found = Known {
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
        let extents = Extents::default();
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
