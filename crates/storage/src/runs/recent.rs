//! The runs in memory, and the policy that selects runs to merge.

use std::ops::Range;
use std::sync::Arc;

use super::range::MergeIterator;
use super::run::SortedRun;

/// Two runs whose total is not larger are merged by the writer itself: that takes some ten
/// microseconds.
const AT_ONCE_BYTES: usize = 256 * 1024;
/// A run of this size is settled: a writer merges it only with its predecessors, when it creates
/// it. Afterwards the run stays in place, so the background merge finds its inputs adjacent.
const SETTLED_BYTES: usize = AT_ONCE_BYTES / 2 + 1;
/// Number of settled runs of one size class that the background thread merges into one.
const FAN_IN: usize = 4;
/// Number of size classes, each `FAN_IN` times the previous one. Runs of the last class stay
/// unmerged.
const SIZES: u32 = 4;

/// Runs that are not yet in tables of the engine, ordered oldest first.
#[derive(Default)]
pub(crate) struct RecentRuns {
    runs: Arc<Vec<Arc<SortedRun>>>,
    bytes: usize,
    /// Number of oldest runs that a flush is writing out. No merge may touch these runs.
    flushing: usize,
}

impl RecentRuns {
    pub(crate) fn runs(&self) -> &Arc<Vec<Arc<SortedRun>>> {
        &self.runs
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, run: SortedRun) {
        self.bytes += run.bytes();
        let leaving = self.flushing;
        let runs = Arc::make_mut(&mut self.runs);
        runs.push(Arc::new(run));
        // The writer merges small tails here, so that a single small batch does not leave a run of
        // its own for every reader to search.
        while let [.., before, last] = &runs[leaving..]
            && before.bytes() < SETTLED_BYTES
            && before.bytes() <= 2 * last.bytes()
            && before.bytes() + last.bytes() <= AT_ONCE_BYTES
        {
            let parts = before.bytes() + last.bytes();
            let one = MergeIterator::into_one(&runs[runs.len() - 2..]);
            self.bytes = self.bytes - parts + one.bytes();
            runs.truncate(runs.len() - 2);
            runs.push(Arc::new(one));
        }
    }

    /// The oldest adjacent runs of one size class that the background thread should merge.
    pub(crate) fn merge_candidates(&self) -> Option<Vec<Arc<SortedRun>>> {
        let staying = &self.runs[self.flushing..];
        let windows = staying.windows(FAN_IN);
        let mut alike = windows.filter(|window| {
            let size = size(&window[0]);
            size.is_some_and(|size| size + 1 < SIZES)
                && window.iter().all(|run| self::size(run) == size)
        });
        alike.next().map(<[_]>::to_vec)
    }

    /// Replaces the runs `parts` by their merge `one`. The parts are still adjacent in the list,
    /// because only the background thread touches settled runs. If they are missing, the list stays
    /// unchanged.
    pub(crate) fn replace(&mut self, parts: &[Arc<SortedRun>], one: SortedRun) {
        let Some(indexes) = self.indexes_of(parts) else {
            debug_assert!(false, "settled runs stay where they are");
            return;
        };
        let parts_bytes: usize = parts.iter().map(|run| run.bytes()).sum();
        self.bytes = self.bytes - parts_bytes + one.bytes();
        Arc::make_mut(&mut self.runs).splice(indexes, [Arc::new(one)]);
    }

    fn indexes_of(&self, parts: &[Arc<SortedRun>]) -> Option<Range<usize>> {
        let mut windows = self.runs.windows(parts.len());
        let is_here = |window: &[Arc<SortedRun>]| {
            let mut pairs = window.iter().zip(parts);
            pairs.all(|(run, part)| Arc::ptr_eq(run, part))
        };
        let from = windows.position(is_here)?;
        Some(from..from + parts.len())
    }

    /// Marks all current runs as being flushed and returns them.
    pub(crate) fn begin_flush(&mut self) -> Arc<Vec<Arc<SortedRun>>> {
        self.flushing = self.runs.len();
        Arc::clone(&self.runs)
    }

    /// Removes the runs that the flush has written to tables.
    pub(crate) fn finish_flush(&mut self) {
        let runs = Arc::make_mut(&mut self.runs);
        runs.drain(..self.flushing);
        self.flushing = 0;
        self.bytes = self.runs.iter().map(|run| run.bytes()).sum();
    }

    /// Keeps the runs whose flush did not complete.
    pub(crate) fn cancel_flush(&mut self) {
        self.flushing = 0;
    }
}

/// The size class of a run by its bytes. `None` while a writer may still merge the run itself.
fn size(run: &SortedRun) -> Option<u32> {
    let times = run.bytes() / SETTLED_BYTES;
    (times > 0).then(|| (times.ilog2() / FAN_IN.ilog2()).min(SIZES - 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;

    use super::*;

    fn all(recent: &RecentRuns) -> BTreeMap<Bytes, bool> {
        let merge = MergeIterator::new(recent.runs(), &[], None);
        merge
            .map(|found| (found.shared_key(), found.is_live()))
            .collect()
    }

    #[test]
    fn merging_bounds_the_runs_and_the_newest_change_wins() {
        let mut recent = RecentRuns::default();
        let mut expected = BTreeMap::new();
        let mut most = 0;
        // A background merge takes some time, during which writers push further runs.
        let mut merging: Option<(Vec<Arc<SortedRun>>, u32)> = None;
        for batch in 0..4000_u32 {
            let changes: Vec<_> = (0..40_u32)
                .map(|entry| {
                    let number = batch.wrapping_mul(2_654_435_761).rotate_left(entry) % 60_000;
                    (
                        Bytes::from(format!("{number:050}")),
                        (batch ^ entry) % 3 > 0,
                    )
                })
                .collect();
            expected.extend(changes.iter().cloned());
            recent.push(SortedRun::new(changes));
            match &mut merging {
                Some((parts, 0)) => {
                    recent.replace(parts, MergeIterator::into_one(parts));
                    merging = None;
                }
                Some((_, patience)) => *patience -= 1,
                None => merging = recent.merge_candidates().map(|parts| (parts, batch % 150)),
            }
            most = most.max(recent.runs().len());
        }
        assert_eq!(all(&recent), expected);
        assert!(most < 60, "{most} runs");
        let bytes: usize = recent.runs().iter().map(|run| run.bytes()).sum();
        assert_eq!(recent.bytes(), bytes);
    }

    #[test]
    fn flushing_runs_are_not_merged() {
        let mut recent = RecentRuns::default();
        recent.push(SortedRun::new(vec![("a".into(), true)]));
        let leaving = recent.begin_flush();
        recent.push(SortedRun::new(vec![("b".into(), true)]));
        recent.push(SortedRun::new(vec![("a".into(), false)]));
        assert_eq!((leaving.len(), recent.runs().len()), (1, 2));
        recent.finish_flush();
        let left = [("a".into(), false), ("b".into(), true)];
        assert_eq!(all(&recent), BTreeMap::from(left));
    }
}
