//! What the planner asks about the size of things, answered from the view itself.

use orrery_index::{IndexDefinition, IndexHash, PathStatistics, Run, Statistics};

use super::{View, values_of};
use crate::document_key::prefix_end;
use crate::spaces::{DOCUMENTS, INDEX};
use crate::statistics::{ENTRY_PREFIX_BYTES, entry_prefix, of_index};

/// Reading more would cost more than a plan is worth: some 20 microseconds.
const DIVE_ENTRIES_MAX: u64 = 48;

/// The statistics of a view under the indexes that a query may use.
///
/// What cannot be read counts as nothing here; the query that follows says why.
pub struct ViewStatistics<'a> {
    pub view: &'a View,
    pub definition: &'a IndexDefinition,
}

impl ViewStatistics<'_> {
    fn entries(&self, index: IndexHash) -> u64 {
        let view = self.view;
        let statistics = of_index(&view.snapshot, view.number(), index);
        statistics.map_or(0, |statistics| statistics.entries)
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
        self.entries(IndexHash::ROOT) + self.entries(IndexHash::UNINDEXED)
    }

    fn indexed_documents(&self) -> u64 {
        self.entries(IndexHash::ROOT)
    }

    fn path(&self, index: IndexHash) -> Option<PathStatistics> {
        let view = self.view;
        let statistics = of_index(&view.snapshot, view.number(), index).ok()?;
        (statistics.entries > 0).then_some(statistics)
    }

    fn dive_entries_max(&self) -> u64 {
        DIVE_ENTRIES_MAX
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
        self.view.visible_count()
    }

    fn documents_in_scope(&self, limit: u64) -> u64 {
        if let Some(count) = self.view.stored_count() {
            return count.min(limit);
        }
        let (from, to) = self.view.scope.bounds();
        let documents = self.view.snapshot.range(DOCUMENTS, from, to);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        documents.take(limit).count() as u64
    }

    fn extent(&self, index: IndexHash) -> Option<(Vec<u8>, Vec<u8>)> {
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
