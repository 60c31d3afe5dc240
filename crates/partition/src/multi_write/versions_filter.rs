//! A filter of documents that may have hidden versions, which spares most writes a lookup.
//!
//! Almost no document has hidden versions. The filter may contain a document without hidden
//! versions, but never lacks a document that has some. Each pruning walk reads every row and
//! rebuilds the filter.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_storage::Storage;

use crate::Error;
use crate::keyspaces::VERSIONS;

#[derive(Debug)]
pub(crate) struct VersionsFilter {
    hashers: [RandomState; 2],
    sets: Mutex<Sets>,
}

#[derive(Debug, Default)]
struct Sets {
    known: HashSet<[u64; 2]>,
    /// The rows that the current walk has seen, and rows added since its start.
    walked: Option<HashSet<[u64; 2]>>,
}

impl VersionsFilter {
    /// Builds the filter from a state without writers.
    pub(super) fn of(storage: &Storage) -> Result<VersionsFilter, Error> {
        let rows = VersionsFilter {
            hashers: Default::default(),
            sets: Mutex::default(),
        };
        for row in storage.snapshot().range(VERSIONS, &[], None) {
            rows.add(&row?.0);
        }
        Ok(rows)
    }

    pub(crate) fn add(&self, key: &[u8]) {
        let hash = self.hash(key);
        let mut sets = self.lock();
        sets.known.insert(hash);
        if let Some(walked) = &mut sets.walked {
            walked.insert(hash);
        }
    }

    pub(crate) fn may_have(&self, key: &[u8]) -> bool {
        let sets = self.lock();
        !sets.known.is_empty() && sets.known.contains(&self.hash(key))
    }

    /// Starts rebuilding the filter at the start of a pruning walk.
    pub(super) fn begin_walk(&self) {
        self.lock().walked = Some(HashSet::new());
    }

    /// Adds a row that the pruning walk keeps.
    pub(super) fn note_row(&self, key: &[u8]) {
        let hash = self.hash(key);
        if let Some(walked) = &mut self.lock().walked {
            walked.insert(hash);
        }
    }

    /// Replaces the filter at the end of the walk.
    pub(super) fn end_walk(&self) {
        let mut sets = self.lock();
        if let Some(walked) = sets.walked.take() {
            sets.known = walked;
        }
    }

    /// Two independent hashes of a key: a collision would go unnoticed, so it must be practically
    /// impossible.
    fn hash(&self, key: &[u8]) -> [u64; 2] {
        let [first, second] = &self.hashers;
        [first.hash_one(key), second.hash_one(key)]
    }

    fn lock(&self) -> MutexGuard<'_, Sets> {
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::Batch;

    use super::*;
    use crate::keyspaces::NAMES;

    #[test]
    fn a_walk_forgets_what_it_does_not_see() {
        let storage = Storage::in_memory(&NAMES);
        let mut batch = Batch::default();
        batch.put(VERSIONS, "a", "");
        storage.write(batch).unwrap();
        let rows = VersionsFilter::of(&storage).unwrap();
        rows.add(b"b");
        let has = |key: &str| rows.may_have(key.as_bytes());
        assert!(has("a") && has("b") && !has("c"));
        rows.begin_walk();
        rows.note_row(b"a");
        rows.add(b"c");
        assert!(has("a") && has("b") && has("c"));
        rows.end_walk();
        assert!(has("a") && !has("b") && has("c"));
    }
}
