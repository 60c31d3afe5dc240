//! Which documents may have a row of hidden versions, so that a write need not look for one.
//!
//! Almost none have. It may name one that has none any more, and never lacks one that has; a walk
//! of the pruning, which sees every row, begins it anew.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_storage::Storage;

use crate::Error;
use crate::spaces::VERSIONS;

#[derive(Debug)]
pub(crate) struct Rows {
    hashers: [RandomState; 2],
    sets: Mutex<Sets>,
}

#[derive(Debug, Default)]
struct Sets {
    known: HashSet<[u64; 2]>,
    /// What a walk has seen so far, and what was added since it began.
    walked: Option<HashSet<[u64; 2]>>,
}

impl Rows {
    /// Of a state to which nobody writes yet.
    pub(super) fn of(storage: &Storage) -> Result<Rows, Error> {
        let rows = Rows {
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

    /// A walk over all rows begins.
    pub(super) fn begin_walk(&self) {
        self.lock().walked = Some(HashSet::new());
    }

    /// The walk has seen a row, which stays.
    pub(super) fn seen(&self, key: &[u8]) {
        let hash = self.hash(key);
        if let Some(walked) = &mut self.lock().walked {
            walked.insert(hash);
        }
    }

    /// The walk has seen all.
    pub(super) fn end_walk(&self) {
        let mut sets = self.lock();
        if let Some(walked) = sets.walked.take() {
            sets.known = walked;
        }
    }

    /// Two hashes, because one that is shared by chance would not be noticed.
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
    use crate::spaces::NAMES;

    #[test]
    fn a_walk_forgets_what_it_does_not_see() {
        let storage = Storage::in_memory(&NAMES);
        let mut batch = Batch::default();
        batch.put(VERSIONS, "a", "");
        storage.write(batch).unwrap();
        let rows = Rows::of(&storage).unwrap();
        rows.add(b"b");
        let has = |key: &str| rows.may_have(key.as_bytes());
        assert!(has("a") && has("b") && !has("c"));
        rows.begin_walk();
        rows.seen(b"a");
        rows.add(b"c");
        assert!(has("a") && has("b") && has("c"));
        rows.end_walk();
        assert!(has("a") && !has("b") && has("c"));
    }
}
