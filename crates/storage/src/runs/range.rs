//! Merges runs with each other and with the keys of the engine, from either end.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use super::run::{SortedRun, SortedRunBuilder};
use crate::Error;

/// Several runs merged into one sequence. Of equal keys the entry of the newest run wins.
pub(crate) struct MergeIterator {
    /// Newest first.
    sources: Vec<RunCursor>,
}

struct RunCursor {
    run: Arc<SortedRun>,
    /// The positions that the iterator has not yet returned.
    from: usize,
    to: usize,
}

impl RunCursor {
    fn first(&self) -> Option<&[u8]> {
        (self.from < self.to).then(|| self.run.key(self.from))
    }

    fn last(&self) -> Option<&[u8]> {
        (self.from < self.to).then(|| self.run.key(self.to - 1))
    }
}

/// One entry of a run.
pub(crate) struct RunKey {
    run: Arc<SortedRun>,
    at: usize,
}

impl RunKey {
    pub(crate) fn key(&self) -> &[u8] {
        self.run.key(self.at)
    }

    pub(crate) fn shared_key(&self) -> Bytes {
        self.run.shared_key(self.at)
    }

    pub(crate) fn is_live(&self) -> bool {
        self.run.is_live(self.at)
    }
}

impl MergeIterator {
    /// Merges the keys from `from` up to but without `to`. `runs` are ordered oldest first.
    pub(crate) fn new(runs: &[Arc<SortedRun>], from: &[u8], to: Option<&[u8]>) -> MergeIterator {
        let sources = runs.iter().rev().filter_map(|run| {
            let from = run.lower_bound(from);
            let to = to.map_or(run.len(), |to| run.lower_bound(to));
            let run = Arc::clone(run);
            (from < to).then_some(RunCursor { run, from, to })
        });
        MergeIterator {
            sources: sources.collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Merges several runs, ordered oldest first, into one run.
    pub(crate) fn into_one(runs: &[Arc<SortedRun>]) -> SortedRun {
        let keys = runs.iter().map(|run| run.len()).sum();
        let bytes = runs.iter().map(|run| run.bytes()).sum();
        let mut one = SortedRunBuilder::with_capacity(keys, bytes);
        let mut merge = MergeIterator::new(runs, &[], None);
        while let Some((source, at)) = merge.take_first() {
            let run = &merge.sources[source].run;
            one.push(run.key(at), run.is_live(at));
        }
        one.finish()
    }

    /// Advances every source that begins with the least key. Returns the newest of these sources
    /// and the position of the key in it.
    fn take_first(&mut self) -> Option<(usize, usize)> {
        let mut least: Option<(usize, &[u8])> = None;
        for (number, source) in self.sources.iter().enumerate() {
            if let Some(key) = source.first()
                // The comparison is strict, so the newest source wins: sources are ordered newest
                // first.
                && least.is_none_or(|(_, least)| key < least)
            {
                least = Some((number, key));
            }
        }
        let newest = least?.0;
        let at = self.sources[newest].from;
        self.sources[newest].from += 1;
        let (before, older) = self.sources.split_at_mut(newest + 1);
        let key = before[newest].run.key(at);
        // Older entries of the same key are skipped; the newest entry overrides them.
        for source in older {
            if source.first() == Some(key) {
                source.from += 1;
            }
        }
        Some((newest, at))
    }

    fn take_last(&mut self) -> Option<(usize, usize)> {
        let mut greatest: Option<(usize, &[u8])> = None;
        for (number, source) in self.sources.iter().enumerate() {
            if let Some(key) = source.last()
                && greatest.is_none_or(|(_, greatest)| key > greatest)
            {
                greatest = Some((number, key));
            }
        }
        let newest = greatest?.0;
        self.sources[newest].to -= 1;
        let at = self.sources[newest].to;
        let (before, older) = self.sources.split_at_mut(newest + 1);
        let key = before[newest].run.key(at);
        for source in older {
            if source.last() == Some(key) {
                source.to -= 1;
            }
        }
        Some((newest, at))
    }

    fn found(&self, (source, at): (usize, usize)) -> RunKey {
        let run = Arc::clone(&self.sources[source].run);
        RunKey { run, at }
    }
}

impl Iterator for MergeIterator {
    type Item = RunKey;

    fn next(&mut self) -> Option<RunKey> {
        let index = self.take_first()?;
        Some(self.found(index))
    }
}

impl DoubleEndedIterator for MergeIterator {
    fn next_back(&mut self) -> Option<RunKey> {
        let index = self.take_last()?;
        Some(self.found(index))
    }
}

/// The live keys of the runs in memory merged with the keys of the tables behind them.
pub(crate) struct RunsRange<B: Iterator> {
    recent: Ends<MergeIterator>,
    behind: Ends<B>,
}

impl<B> RunsRange<B>
where
    B: DoubleEndedIterator<Item = Result<Bytes, Error>>,
{
    pub(crate) fn new(recent: MergeIterator, behind: B) -> RunsRange<B> {
        RunsRange {
            recent: Ends::new(recent),
            behind: Ends::new(behind),
        }
    }

    /// The next live key from one end. `nearer` is the ordering of a key closer to that end against
    /// a farther one.
    fn advance(
        &mut self,
        recent: impl Fn(&mut Ends<MergeIterator>) -> &mut Option<RunKey>,
        behind: impl Fn(&mut Ends<B>) -> &mut Option<Result<Bytes, Error>>,
        nearer: Ordering,
    ) -> Option<Result<Bytes, Error>> {
        loop {
            let newer = recent(&mut self.recent);
            let older = behind(&mut self.behind);
            let order = match (&*newer, &*older) {
                // An error of the engine comes out first, before any key that sorts after the
                // failed position.
                (_, Some(Err(_))) | (None, _) => return older.take(),
                (Some(_), None) => nearer,
                (Some(newer), Some(Ok(older))) => newer.key().cmp(older),
            };
            if order == nearer.reverse() {
                return older.take();
            }
            // The run's entry overrides the table's entry of the same key, whether it is live or a
            // tombstone.
            if order == Ordering::Equal {
                older.take();
            }
            if let Some(found) = newer.take()
                && found.is_live()
            {
                return Some(Ok(found.shared_key()));
            }
        }
    }
}

impl<B> Iterator for RunsRange<B>
where
    B: DoubleEndedIterator<Item = Result<Bytes, Error>>,
{
    type Item = Result<Bytes, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance(Ends::first, Ends::first, Ordering::Less)
    }
}

impl<B> DoubleEndedIterator for RunsRange<B>
where
    B: DoubleEndedIterator<Item = Result<Bytes, Error>>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        self.advance(Ends::last, Ends::last, Ordering::Greater)
    }
}

/// An iterator with one item of lookahead at both ends.
struct Ends<I: Iterator> {
    between: I,
    first: Option<I::Item>,
    last: Option<I::Item>,
}

impl<I: DoubleEndedIterator> Ends<I> {
    fn new(between: I) -> Ends<I> {
        Ends {
            between,
            first: None,
            last: None,
        }
    }

    /// The item at the front. Once the caller takes it, the next call loads the following item.
    fn first(&mut self) -> &mut Option<I::Item> {
        if self.first.is_none() {
            self.first = self.between.next();
        }
        // The iterator is exhausted: the only item left is the lookahead of the other end.
        if self.first.is_none() {
            &mut self.last
        } else {
            &mut self.first
        }
    }

    fn last(&mut self) -> &mut Option<I::Item> {
        if self.last.is_none() {
            self.last = self.between.next_back();
        }
        if self.last.is_none() {
            &mut self.first
        } else {
            &mut self.last
        }
    }
}
