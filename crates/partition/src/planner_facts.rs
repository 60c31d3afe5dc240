//! A cache of the facts that the planner needs about a container, valid for one state.
//!
//! A plan needs a few small rows: the indexing policy in force, the number of documents, the
//! statistics of a few indexes. Reading these rows costs more than the rest of the plan, and they
//! do not change between two batches. So batches are counted ([`BatchCounter`]): a snapshot that
//! overlaps no batch belongs to one batch sequence, and views with the same sequence share decoded
//! facts ([`PlannerFactsCache`]). A snapshot that overlaps a batch has no sequence and reads the
//! rows itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use orrery_index::{IndexDefinition, IndexHash, PathSummary};
use orrery_storage::Snapshot;

use crate::Error;
use crate::statistics::StatisticsReader;

/// Number of batches that are completely written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchSequence(u64);

/// Counts the batches of a store.
#[derive(Debug, Default)]
pub(crate) struct BatchCounter {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl BatchCounter {
    /// Writes a batch. A failed batch never ends, so no later snapshot has a sequence.
    pub(crate) fn write<E>(&self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        write()?;
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Takes a snapshot, with its sequence if no batch overlaps it.
    pub(crate) fn snapshot<S>(&self, take: impl FnOnce() -> S) -> (S, Option<BatchSequence>) {
        // `ended` is loaded before the snapshot and `begun` after it. If both are equal, no batch
        // overlapped the snapshot.
        let ended = self.ended.load(Ordering::SeqCst);
        let snapshot = take();
        let begun = self.begun.load(Ordering::SeqCst);
        (snapshot, (begun == ended).then_some(BatchSequence(ended)))
    }
}

/// The newest facts of a container.
#[derive(Debug, Default)]
pub(crate) struct PlannerFactsCache(Mutex<Option<(BatchSequence, Arc<PlannerFacts>)>>);

impl PlannerFactsCache {
    /// The facts at a sequence. Views share them and add what they have read.
    pub(crate) fn at(&self, batch: Option<BatchSequence>) -> Arc<PlannerFacts> {
        let Some(batch) = batch else {
            return Arc::default();
        };
        let mut newest = lock(&self.0);
        match &*newest {
            Some((facts_batch, facts)) if *facts_batch == batch => Arc::clone(facts),
            // Another view has a newer snapshot.
            Some((facts_batch, _)) if facts_batch.0 > batch.0 => Arc::default(),
            _ => {
                let facts = Arc::<PlannerFacts>::default();
                *newest = Some((batch, Arc::clone(&facts)));
                facts
            }
        }
    }
}

/// Facts about a container in one state.
#[derive(Debug, Default)]
pub(crate) struct PlannerFacts {
    index: OnceLock<EffectiveIndex>,
    /// Document counts by index of the physical partition; `None` when the count is not exact.
    counts: Mutex<Vec<(usize, Option<u64>)>>,
    pages: Mutex<StatisticsReader>,
    figures: Mutex<Vec<(IndexHash, PathSummary)>>,
}

/// The indexes that every document has.
#[derive(Debug)]
pub(crate) enum EffectiveIndex {
    Nothing,
    /// The indexes of the container's policy.
    Settled,
    /// During a policy change: the indexes that all policies in force have in common.
    Common(IndexDefinition),
}

/// Maximum number of cached index statistics, more than the queries of most containers need.
const FIGURES_MAX: usize = 256;

impl PlannerFacts {
    pub(crate) fn index(
        &self,
        read: impl FnOnce() -> Result<EffectiveIndex, Error>,
    ) -> Result<&EffectiveIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let index = read()?;
        Ok(self.index.get_or_init(|| index))
    }

    pub(crate) fn count(
        &self,
        partition: usize,
        read: impl FnOnce() -> Result<Option<u64>, Error>,
    ) -> Result<Option<u64>, Error> {
        let found = lock(&self.counts)
            .iter()
            .find(|(counted, _)| *counted == partition)
            .map(|(_, count)| *count);
        if let Some(count) = found {
            return Ok(count);
        }
        let count = read()?;
        lock(&self.counts).push((partition, count));
        Ok(count)
    }

    /// The statistics of an index of the container.
    pub(crate) fn figures(
        &self,
        snapshot: &Snapshot,
        container: u32,
        index: IndexHash,
    ) -> Result<PathSummary, Error> {
        let found = lock(&self.figures)
            .iter()
            .find(|(known, _)| *known == index)
            .map(|(_, figures)| *figures);
        if let Some(figures) = found {
            return Ok(figures);
        }
        let read = lock(&self.pages).of_index(snapshot, container, index)?;
        let figures = read.summary();
        let mut all = lock(&self.figures);
        if all.len() >= FIGURES_MAX {
            all.clear();
        }
        all.push((index, figures));
        Ok(figures)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_a_sequence_unless_a_batch_overlaps_it() {
        let batches = BatchCounter::default();
        let batch = || batches.snapshot(|| ()).1;
        assert_eq!(batch(), Some(BatchSequence(0)));
        let written = batches.write(|| {
            assert_eq!(batch(), None);
            Ok::<(), ()>(())
        });
        assert_eq!(written, Ok(()));
        assert_eq!(batch(), Some(BatchSequence(1)));
        let (_, overlapped) = batches.snapshot(|| batches.write(|| Ok::<(), ()>(())));
        assert_eq!(overlapped, None);
        assert_eq!(batch(), Some(BatchSequence(2)));
        assert_eq!(batches.write(|| Err(())), Err(()));
        assert_eq!(batch(), None);
    }

    #[test]
    fn facts_are_shared_only_within_one_batch_sequence() {
        let cache = PlannerFactsCache::default();
        let count = |batch: Option<u64>, read: u64| {
            let facts = cache.at(batch.map(BatchSequence));
            facts.count(0, || Ok(Some(read))).unwrap()
        };
        assert_eq!(count(Some(4), 1), Some(1));
        assert_eq!(count(Some(4), 2), Some(1));
        assert_eq!(count(None, 2), Some(2));
        assert_eq!(count(Some(3), 3), Some(3));
        assert_eq!(count(Some(4), 2), Some(1));
        assert_eq!(count(Some(5), 5), Some(5));
        assert_eq!(count(Some(4), 6), Some(6));
        assert_eq!(count(Some(5), 7), Some(5));
    }
}
