//! The planner's statistics, answered from a view.

use std::cell::OnceCell;

use orrery_exec::{DocumentPath, PathStep};
use orrery_index::{EntryRange, IndexDefinition, IndexHash, PathSummary, Statistics};

use super::{View, values_of};
use crate::document_key::prefix_end;
use crate::index_bounds::IndexBounds;
use crate::keyspaces::{DOCUMENTS, INDEX};
use crate::statistics::{ENTRY_PREFIX_BYTES, entry_prefix};

/// Maximum number of entries to count. Counting more, for some 20 microseconds, would cost more
/// than a plan gains.
const DIVE_ENTRIES_MAX: u64 = 48;
/// Minimum number of documents for a plan from averages, which saves counting entries. Half the
/// cost of a count is positioning its cursor.
const GUESS_DOCUMENTS_MIN: u64 = 500;

/// Maximum number of documents that are read to size a small scope.
const SCOPE_DIVE_MAX: usize = 64;
/// A logical partition with at least this estimated number of documents is not counted.
const SCOPE_GUESS_MIN: u64 = 256;

/// The statistics of a view for the indexes that a query may use.
///
/// Read errors count as zero here; the query itself reports the error.
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
    fn of_index(&self, index: IndexHash) -> PathSummary {
        let view = self.view;
        let read = view
            .planner_facts
            .figures(&view.snapshot, view.number(), index);
        read.unwrap_or_default()
    }

    fn stored_count(&self) -> Option<u64> {
        *self.stored.get_or_init(|| self.view.stored_count())
    }

    /// The average number of documents in a logical partition, if the scope is one logical
    /// partition and the key paths are indexed.
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

    fn key_position_of<'a>(&self, run: &EntryRange, key: &'a [u8]) -> Option<&'a [u8]> {
        let values = values_of(self.definition, run.index);
        let mut rest = key.get(ENTRY_PREFIX_BYTES..)?;
        for _ in 0..values {
            rest = orrery_index::skip(rest)?;
        }
        Some(rest)
    }

    fn value_of(&self, index: IndexHash, key: &[u8]) -> Option<Vec<u8>> {
        let rest = key.get(ENTRY_PREFIX_BYTES..)?;
        let mut key_position = rest;
        for _ in 0..values_of(self.definition, index) {
            key_position = orrery_index::skip(key_position)?;
        }
        Some(rest[..rest.len() - key_position.len()].to_vec())
    }
}

impl Statistics for ViewStatistics<'_> {
    fn documents(&self) -> u64 {
        self.of_index(IndexHash::ROOT).entries + self.of_index(IndexHash::UNINDEXED).entries
    }

    fn indexed_documents(&self) -> u64 {
        self.of_index(IndexHash::ROOT).entries
    }

    fn path(&self, index: IndexHash) -> Option<PathSummary> {
        let figures = self.of_index(index);
        (figures.entries > 0).then_some(figures)
    }

    fn dive_entries_max(&self) -> u64 {
        DIVE_ENTRIES_MAX
    }

    fn guess_documents_min(&self) -> u64 {
        GUESS_DOCUMENTS_MIN
    }

    fn count(&self, run: &EntryRange, limit: u64) -> u64 {
        let view = self.view;
        let (from, to) = view.bounds(run);
        let entries = view.snapshot.range(INDEX, &from, to.as_deref());
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // A point range already includes the bounds of the scope, so every entry in it counts.
        if run.is_point {
            return entries.take(limit).count() as u64;
        }
        let leads_into_scope = |(key, _): &(bytes::Bytes, bytes::Bytes)| {
            let key_position = self.key_position_of(run, key);
            key_position.is_some_and(|key_position| view.is_in_scope(key_position))
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
        // The scope is larger than most, so it counts as the whole container.
        self.documents().max(counted as u64)
    }

    fn extent(&self, index: IndexHash) -> Option<(Vec<u8>, Vec<u8>)> {
        let (container, second) = (&self.view.container, self.view.now_seconds);
        let entries = self.of_index(index).entries;
        let find = || self.find_index_bounds(index);
        container.index_bounds().of(index, entries, second, find)
    }
}

impl ViewStatistics<'_> {
    fn find_index_bounds(&self, index: IndexHash) -> Option<IndexBounds> {
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
