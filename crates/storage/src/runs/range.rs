//! Runs read as one, from either end, and in front of what the engine has.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;

use super::run::{Run, RunBuilder};
use crate::Error;

/// Some runs as one: of equal keys the newest run's counts.
pub(crate) struct Merge {
    /// Newest first.
    sources: Vec<Source>,
}

struct Source {
    run: Arc<Run>,
    /// What is left of it.
    from: usize,
    to: usize,
}

impl Source {
    fn first(&self) -> Option<&[u8]> {
        (self.from < self.to).then(|| self.run.key(self.from))
    }

    fn last(&self) -> Option<&[u8]> {
        (self.from < self.to).then(|| self.run.key(self.to - 1))
    }
}

/// A key of some run.
pub(crate) struct Found {
    run: Arc<Run>,
    at: usize,
}

impl Found {
    pub(crate) fn key(&self) -> &[u8] {
        self.run.key(self.at)
    }

    pub(crate) fn shared_key(&self) -> Bytes {
        self.run.shared_key(self.at)
    }

    pub(crate) fn is_there(&self) -> bool {
        self.run.is_there(self.at)
    }
}

impl Merge {
    /// The keys of runs, the oldest first, from `from` up to but without `to`.
    pub(crate) fn new(runs: &[Arc<Run>], from: &[u8], to: Option<&[u8]>) -> Merge {
        let sources = runs.iter().rev().filter_map(|run| {
            let from = run.lower_bound(from);
            let to = to.map_or(run.len(), |to| run.lower_bound(to));
            let run = Arc::clone(run);
            (from < to).then_some(Source { run, from, to })
        });
        Merge {
            sources: sources.collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// One run out of several, the oldest first.
    pub(crate) fn into_one(runs: &[Arc<Run>]) -> Run {
        let keys = runs.iter().map(|run| run.len()).sum();
        let bytes = runs.iter().map(|run| run.bytes()).sum();
        let mut one = RunBuilder::with_capacity(keys, bytes);
        let mut merge = Merge::new(runs, &[], None);
        while let Some((source, at)) = merge.take_first() {
            let run = &merge.sources[source].run;
            one.push(run.key(at), run.is_there(at));
        }
        one.finish()
    }

    /// Takes the first key off every source that begins with it: the newest of these, and its place.
    fn take_first(&mut self) -> Option<(usize, usize)> {
        let mut least: Option<(usize, &[u8])> = None;
        for (number, source) in self.sources.iter().enumerate() {
            if let Some(key) = source.first()
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

    fn found(&self, (source, at): (usize, usize)) -> Found {
        let run = Arc::clone(&self.sources[source].run);
        Found { run, at }
    }
}

impl Iterator for Merge {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let place = self.take_first()?;
        Some(self.found(place))
    }
}

impl DoubleEndedIterator for Merge {
    fn next_back(&mut self) -> Option<Found> {
        let place = self.take_last()?;
        Some(self.found(place))
    }
}

/// What is there, of the runs in memory and the keys behind them.
pub(crate) struct RunsRange<B: Iterator> {
    recent: Ends<Merge>,
    behind: Ends<B>,
}

impl<B> RunsRange<B>
where
    B: DoubleEndedIterator<Item = Result<Bytes, Error>>,
{
    pub(crate) fn new(recent: Merge, behind: B) -> RunsRange<B> {
        RunsRange {
            recent: Ends::new(recent),
            behind: Ends::new(behind),
        }
    }

    /// The next key from one end. `order` is that of a nearer key to a farther one.
    fn advance(
        &mut self,
        recent: impl Fn(&mut Ends<Merge>) -> &mut Option<Found>,
        behind: impl Fn(&mut Ends<B>) -> &mut Option<Result<Bytes, Error>>,
        nearer: Ordering,
    ) -> Option<Result<Bytes, Error>> {
        loop {
            let newer = recent(&mut self.recent);
            let older = behind(&mut self.behind);
            let order = match (&*newer, &*older) {
                (_, Some(Err(_))) | (None, _) => return older.take(),
                (Some(_), None) => nearer,
                (Some(newer), Some(Ok(older))) => newer.key().cmp(older),
            };
            if order == nearer.reverse() {
                return older.take();
            }
            if order == Ordering::Equal {
                older.take();
            }
            if let Some(found) = newer.take()
                && found.is_there()
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

/// An iterator whose next items from both ends can be looked at.
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

    /// What comes first; taken away, the next does.
    fn first(&mut self) -> &mut Option<I::Item> {
        if self.first.is_none() {
            self.first = self.between.next();
        }
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
