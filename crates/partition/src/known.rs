//! What plans ask of a container, kept for as long as the state does not change.
//!
//! A plan needs a handful of small rows: which policy the index follows, how many documents there
//! are, the statistics of a few indexes. Reading them costs more than the rest of the plan, and
//! between two writes they are the same for everybody. So batches are counted ([`Batches`]): a
//! snapshot that no batch overlapped is of one *moment*, and what one view of a moment has read,
//! decoded, the next one finds ([`KnownOf`]). A snapshot that was taken while a batch was written
//! belongs to no moment and reads for itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use orrery_index::{IndexDefinition, IndexHash, PathFigures};
use orrery_storage::Snapshot;

use crate::Error;
use crate::statistics::PagesRead;

/// How many batches had been written, all of them wholly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

/// The batches of a store.
#[derive(Debug, Default)]
pub(crate) struct Batches {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Batches {
    /// Writes a batch. One that fails never ends, so that no later snapshot has a moment.
    pub(crate) fn write<E>(&self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        write()?;
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// A snapshot and its moment, if it has one.
    pub(crate) fn snapshot<S>(&self, take: impl FnOnce() -> S) -> (S, Option<Moment>) {
        let ended = self.ended.load(Ordering::SeqCst);
        let snapshot = take();
        let begun = self.begun.load(Ordering::SeqCst);
        (snapshot, (begun == ended).then_some(Moment(ended)))
    }
}

/// The newest that is known of a container.
#[derive(Debug, Default)]
pub(crate) struct KnownOf(Mutex<Option<(Moment, Arc<Known>)>>);

impl KnownOf {
    /// What is known at a moment; what is found out of it is known to the next who asks.
    pub(crate) fn at(&self, moment: Option<Moment>) -> Arc<Known> {
        let Some(moment) = moment else {
            return Arc::default();
        };
        let mut newest = lock(&self.0);
        match &*newest {
            Some((known_at, known)) if *known_at == moment => Arc::clone(known),
            // Somebody was faster with a newer snapshot.
            Some((known_at, _)) if known_at.0 > moment.0 => Arc::default(),
            _ => {
                let known = Arc::<Known>::default();
                *newest = Some((moment, Arc::clone(&known)));
                known
            }
        }
    }
}

/// Of a container in one state.
#[derive(Debug, Default)]
pub(crate) struct Known {
    index: OnceLock<KnownIndex>,
    /// By the position of the physical partition; none when its count is not exact.
    counts: Mutex<Vec<(usize, Option<u64>)>>,
    pages: Mutex<PagesRead>,
    figures: Mutex<Vec<(IndexHash, PathFigures)>>,
}

/// The indexes that every document has.
#[derive(Debug)]
pub(crate) enum KnownIndex {
    Nothing,
    /// Those of the container's policy.
    Settled,
    /// While a policy changes: what the policies in force have in common.
    Common(IndexDefinition),
}

/// Indexes whose figures are remembered: more than most queries of a container ask for.
const FIGURES_MAX: usize = 256;

impl Known {
    pub(crate) fn index(
        &self,
        read: impl FnOnce() -> Result<KnownIndex, Error>,
    ) -> Result<&KnownIndex, Error> {
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
        let known = lock(&self.counts)
            .iter()
            .find(|(known, _)| *known == partition)
            .map(|(_, count)| *count);
        if let Some(count) = known {
            return Ok(count);
        }
        let count = read()?;
        lock(&self.counts).push((partition, count));
        Ok(count)
    }

    /// What the statistics say of an index of the container.
    pub(crate) fn figures(
        &self,
        snapshot: &Snapshot,
        container: u32,
        index: IndexHash,
    ) -> Result<PathFigures, Error> {
        let known = lock(&self.figures)
            .iter()
            .find(|(known, _)| *known == index)
            .map(|(_, figures)| *figures);
        if let Some(figures) = known {
            return Ok(figures);
        }
        let read = lock(&self.pages).of_index(snapshot, container, index)?;
        let figures = read.figures();
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
    fn a_snapshot_has_a_moment_unless_a_batch_overlaps_it() {
        let batches = Batches::default();
        let moment = || batches.snapshot(|| ()).1;
        assert_eq!(moment(), Some(Moment(0)));
        let written = batches.write(|| {
            assert_eq!(moment(), None);
            Ok::<(), ()>(())
        });
        assert_eq!(written, Ok(()));
        assert_eq!(moment(), Some(Moment(1)));
        let (_, overlapped) = batches.snapshot(|| batches.write(|| Ok::<(), ()>(())));
        assert_eq!(overlapped, None);
        assert_eq!(moment(), Some(Moment(2)));
        assert_eq!(batches.write(|| Err(())), Err(()));
        assert_eq!(moment(), None);
    }

    #[test]
    fn what_is_known_is_known_at_its_moment_only() {
        let known = KnownOf::default();
        let count = |moment: Option<u64>, read: u64| {
            let known = known.at(moment.map(Moment));
            known.count(0, || Ok(Some(read))).unwrap()
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
