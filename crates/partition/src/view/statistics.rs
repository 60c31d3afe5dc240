//! What the planner asks about the size of things, answered from the view itself.

use std::cell::OnceCell;

use orrery_exec::{DocumentPath, PathStep};
use orrery_index::{IndexDefinition, IndexHash, PathFigures, Run, Statistics};

use super::{View, values_of};
use crate::document_key::prefix_end;
use crate::extents::Extent;
use crate::spaces::{DOCUMENTS, INDEX};
use crate::statistics::{ENTRY_PREFIX_BYTES, entry_prefix};

/// Reading more would cost more than a plan is worth: some 20 microseconds.
const DIVE_ENTRIES_MAX: u64 = 48;
/// Half of that is finding the first, which a scan of so many documents is no reason for.
const GUESS_DOCUMENTS_MIN: u64 = 500;

/// Documents that are counted to learn whether a scope is small; each is read for that.
const SCOPE_DIVE_MAX: usize = 64;
/// A logical partition that should have so many is taken to have them.
const SCOPE_GUESS_MIN: u64 = 256;

/// The statistics of a view under the indexes that a query may use.
///
/// What cannot be read counts as nothing here; the query that follows says why.
pub struct ViewStatistics<'a> {
    view: &'a View,
    definition: &'a IndexDefinition,
    stored: OnceCell<Option<u64>>,
}

impl<'a> ViewStatistics<'a> {
    pub fn new(view: &'a View, definition: &'a IndexDefinition) -> ViewStatistics<'a> {
        ViewStatistics {
            view,
            definition,
            stored: OnceCell::new(),
        }
    }
}

impl ViewStatistics<'_> {
    fn of_index(&self, index: IndexHash) -> PathFigures {
        let view = self.view;
        let read = view.known.figures(&view.snapshot, view.number(), index);
        read.unwrap_or_default()
    }

    fn stored_count(&self) -> Option<u64> {
        *self.stored.get_or_init(|| self.view.stored_count())
    }

    /// How many documents logical partitions have on average, if the scope is one and the paths of
    /// the key are indexed.
    fn logical_documents(&self) -> Option<u64> {
        let (from, to) = self.view.scope.bounds();
        if prefix_end(from).as_deref() != to {
            return None;
        }
        let key = self.view.container.definition.key();
        let mut keys = 0;
        for path in key.paths() {
            let steps = path.segments().iter().cloned().map(PathStep::Name);
            let path = DocumentPath(steps.collect());
            if !self.definition.covers(&path) {
                return None;
            }
            let distinct = self.of_index(IndexHash::of_path(&path)).distinct;
            keys = keys.max(distinct);
        }
        Some(self.documents() / keys.max(1))
    }

    fn place_of<'a>(&self, run: &Run, key: &'a [u8]) -> Option<&'a [u8]> {
        let values = values_of(self.definition, run.index);
        let mut rest = key.get(ENTRY_PREFIX_BYTES..)?;
        for _ in 0..values {
            rest = orrery_index::skip(rest)?;
        }
        Some(rest)
    }

    fn value_of(&self, index: IndexHash, key: &[u8]) -> Option<Vec<u8>> {
        let rest = key.get(ENTRY_PREFIX_BYTES..)?;
        let mut place = rest;
        for _ in 0..values_of(self.definition, index) {
            place = orrery_index::skip(place)?;
        }
        Some(rest[..rest.len() - place.len()].to_vec())
    }
}

impl Statistics for ViewStatistics<'_> {
    fn documents(&self) -> u64 {
        self.of_index(IndexHash::ROOT).entries + self.of_index(IndexHash::UNINDEXED).entries
    }

    fn indexed_documents(&self) -> u64 {
        self.of_index(IndexHash::ROOT).entries
    }

    fn path(&self, index: IndexHash) -> Option<PathFigures> {
        let figures = self.of_index(index);
        (figures.entries > 0).then_some(figures)
    }

    fn dive_entries_max(&self) -> u64 {
        DIVE_ENTRIES_MAX
    }

    fn guess_documents_min(&self) -> u64 {
        GUESS_DOCUMENTS_MIN
    }

    fn count(&self, run: &Run, limit: u64) -> u64 {
        let view = self.view;
        let (from, to) = view.bounds(run);
        let entries = view.snapshot.range(INDEX, &from, to.as_deref());
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if run.is_point {
            return entries.take(limit).count() as u64;
        }
        let leads_into_scope = |(key, _): &(bytes::Bytes, bytes::Bytes)| {
            let place = self.place_of(run, key);
            place.is_some_and(|place| view.is_in_scope(place))
        };
        let entries = entries.take(limit).filter_map(Result::ok);
        entries.filter(leads_into_scope).count() as u64
    }

    fn scope_count(&self) -> Option<u64> {
        self.stored_count().filter(|_| self.view.shows_all_stored())
    }

    fn documents_in_scope(&self) -> u64 {
        if let Some(count) = self.stored_count() {
            return count;
        }
        let guess = self.logical_documents();
        if let Some(guess) = guess
            && guess >= SCOPE_GUESS_MIN
        {
            return guess;
        }
        let (from, to) = self.view.scope.bounds();
        let documents = self.view.snapshot.range(DOCUMENTS, from, to);
        let counted = documents.take(SCOPE_DIVE_MAX).count();
        if counted < SCOPE_DIVE_MAX {
            return counted as u64;
        }
        // Larger than most: as if it were all.
        self.documents().max(counted as u64)
    }

    fn extent(&self, index: IndexHash) -> Option<(Vec<u8>, Vec<u8>)> {
        let (container, second) = (&self.view.container, self.view.now_seconds);
        let entries = self.of_index(index).entries;
        let find = || self.find_extent(index);
        container.extents().of(index, entries, second, find)
    }
}

impl ViewStatistics<'_> {
    fn find_extent(&self, index: IndexHash) -> Option<Extent> {
        let prefix = entry_prefix(self.view.number(), index);
        let end = prefix_end(&prefix);
        let mut range = self.view.snapshot.range(INDEX, &prefix, end.as_deref());
        let (first, _) = range.next()?.ok()?;
        let last = range.next_back().and_then(Result::ok);
        let first = self.value_of(index, &first)?;
        let last = last.and_then(|(key, _)| self.value_of(index, &key));
        Some((first.clone(), last.unwrap_or(first)))
    }
}
