//! The runs in memory, and which of them to merge.

use std::ops::Range;
use std::sync::Arc;

use super::range::Merge;
use super::run::Run;

/// Runs whose sum is not more are merged by whoever writes, at once: it takes some ten microseconds.
const AT_ONCE_BYTES: usize = 256 * 1024;
/// A run that is as large is merged at once only with those before it, when it is made: whoever
/// merges it later finds it in its place.
const SETTLED_BYTES: usize = AT_ONCE_BYTES / 2 + 1;
/// Settled runs of one size that become one.
const FAN_IN: usize = 4;
/// Sizes, each `FAN_IN` times the one before; the last is not merged any more.
const SIZES: u32 = 4;

/// Runs that the tables of the engine lack, the oldest first.
#[derive(Default)]
pub(crate) struct Recent {
    runs: Arc<Vec<Arc<Run>>>,
    bytes: usize,
    /// As many of the oldest as are being written out, which stay as they are.
    leaving: usize,
}

impl Recent {
    pub(crate) fn runs(&self) -> &Arc<Vec<Arc<Run>>> {
        &self.runs
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, run: Run) {
        self.bytes += run.bytes();
        let leaving = self.leaving;
        let runs = Arc::make_mut(&mut self.runs);
        runs.push(Arc::new(run));
        while let [.., before, last] = &runs[leaving..]
            && before.bytes() < SETTLED_BYTES
            && before.bytes() <= 2 * last.bytes()
            && before.bytes() + last.bytes() <= AT_ONCE_BYTES
        {
            let parts = before.bytes() + last.bytes();
            let one = Merge::into_one(&runs[runs.len() - 2..]);
            self.bytes = self.bytes - parts + one.bytes();
            runs.truncate(runs.len() - 2);
            runs.push(Arc::new(one));
        }
    }

    /// Adjacent runs that should become one.
    pub(crate) fn alike(&self) -> Option<Vec<Arc<Run>>> {
        let staying = &self.runs[self.leaving..];
        let windows = staying.windows(FAN_IN);
        let mut alike = windows.filter(|window| {
            let size = size(&window[0]);
            size.is_some_and(|size| size + 1 < SIZES)
                && window.iter().all(|run| self::size(run) == size)
        });
        alike.next().map(<[_]>::to_vec)
    }

    /// Puts the one that some became in their place. They are still there, side by side; if they were
    /// not, they would stay what they are.
    pub(crate) fn replace(&mut self, parts: &[Arc<Run>], one: Run) {
        let Some(place) = self.place_of(parts) else {
            debug_assert!(false, "settled runs stay where they are");
            return;
        };
        let parts_bytes: usize = parts.iter().map(|run| run.bytes()).sum();
        self.bytes = self.bytes - parts_bytes + one.bytes();
        Arc::make_mut(&mut self.runs).splice(place, [Arc::new(one)]);
    }

    fn place_of(&self, parts: &[Arc<Run>]) -> Option<Range<usize>> {
        let mut windows = self.runs.windows(parts.len());
        let is_here = |window: &[Arc<Run>]| {
            let mut pairs = window.iter().zip(parts);
            pairs.all(|(run, part)| Arc::ptr_eq(run, part))
        };
        let from = windows.position(is_here)?;
        Some(from..from + parts.len())
    }

    /// All runs there are, which now leave.
    pub(crate) fn leave(&mut self) -> Arc<Vec<Arc<Run>>> {
        self.leaving = self.runs.len();
        Arc::clone(&self.runs)
    }

    /// Those that were leaving have left.
    pub(crate) fn have_left(&mut self) {
        let runs = Arc::make_mut(&mut self.runs);
        runs.drain(..self.leaving);
        self.leaving = 0;
        self.bytes = self.runs.iter().map(|run| run.bytes()).sum();
    }

    /// Those that were leaving stay.
    pub(crate) fn remain(&mut self) {
        self.leaving = 0;
    }
}

/// The class of a run by its bytes; none while it may still be merged at once.
fn size(run: &Run) -> Option<u32> {
    let times = run.bytes() / SETTLED_BYTES;
    (times > 0).then(|| (times.ilog2() / FAN_IN.ilog2()).min(SIZES - 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;

    use super::*;

    fn all(recent: &Recent) -> BTreeMap<Bytes, bool> {
        let merge = Merge::new(recent.runs(), &[], None);
        merge
            .map(|found| (found.shared_key(), found.is_there()))
            .collect()
    }

    #[test]
    fn few_runs_hold_many_batches_and_the_newest_word_counts() {
        let mut recent = Recent::default();
        let mut expected = BTreeMap::new();
        let mut most = 0;
        // Merging takes a while, in which others write.
        let mut merging: Option<(Vec<Arc<Run>>, u32)> = None;
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
            recent.push(Run::new(changes));
            match &mut merging {
                Some((parts, 0)) => {
                    recent.replace(parts, Merge::into_one(parts));
                    merging = None;
                }
                Some((_, patience)) => *patience -= 1,
                None => merging = recent.alike().map(|parts| (parts, batch % 150)),
            }
            most = most.max(recent.runs().len());
        }
        assert_eq!(all(&recent), expected);
        assert!(most < 60, "{most} runs");
        let bytes: usize = recent.runs().iter().map(|run| run.bytes()).sum();
        assert_eq!(recent.bytes(), bytes);
    }

    #[test]
    fn what_leaves_is_left_alone() {
        let mut recent = Recent::default();
        recent.push(Run::new(vec![("a".into(), true)]));
        let leaving = recent.leave();
        recent.push(Run::new(vec![("b".into(), true)]));
        recent.push(Run::new(vec![("a".into(), false)]));
        assert_eq!((leaving.len(), recent.runs().len()), (1, 2));
        recent.have_left();
        let left = [("a".into(), false), ("b".into(), true)];
        assert_eq!(all(&recent), BTreeMap::from(left));
    }
}
