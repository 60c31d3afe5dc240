//! What the planner is told: the query, the indexes and the size of things.

use orrery_exec::{DocumentPath, Narrowing};

use super::Run;
use crate::{IndexDefinition, IndexHash, PathFigures};

/// A query, as far as it matters for finding its documents.
#[derive(Clone, Copy)]
pub struct AccessRequest<'a> {
    /// The indexes that can be relied on; while a policy changes, those of both policies.
    pub definition: &'a IndexDefinition,
    pub statistics: &'a dyn Statistics,
    pub narrowing: &'a Narrowing,
    pub shape: QueryShape,
    /// Whether all documents that the query sees are in one logical partition.
    pub is_one_partition: bool,
    /// Empty when rows are not sorted, or not by plain paths of the document.
    pub order: &'a [OrderTerm],
    /// The only path that the program reads, when an entry may stand for its document.
    pub covering: Option<&'a DocumentPath>,
    /// Whether nothing of the documents is read, only their number.
    pub reads_nothing: bool,
    /// Set when the query is one `MIN` or `MAX` over the covering path.
    pub extreme: Option<Extreme>,
    /// How many rows the page can give at most.
    pub page_rows: Option<u64>,
}

/// What becomes of the rows that the documents give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryShape {
    /// They leave as they come; a page ends anywhere.
    Stream,
    Sorted,
    Distinct,
    Grouped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    pub path: DocumentPath,
    pub descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    Min,
    Max,
}

/// What is known of the documents and entries of a container.
///
/// Numbers may be out of date, except that `documents`, `indexed_documents`, `scope_count`, and the
/// `entries` and `composed` of a path belong to the state that the query reads.
pub trait Statistics {
    /// Documents of the container.
    fn documents(&self) -> u64;
    /// Those of them that were written with their index entries.
    fn indexed_documents(&self) -> u64;
    fn path(&self, index: IndexHash) -> Option<PathFigures>;
    /// How many entries it is worth to count to learn the size of a run.
    fn dive_entries_max(&self) -> u64 {
        256
    }
    /// From how many documents in the scope on a plan may rest on averages. Among fewer counting
    /// costs little, and what is explained is exact.
    fn guess_documents_min(&self) -> u64 {
        2_000
    }
    /// Entries of the run that lead into the scope of the query, counted up to `limit`.
    fn count(&self, run: &Run, limit: u64) -> u64;
    /// About how many documents the query could see.
    fn documents_in_scope(&self) -> u64;
    /// How many documents the query sees, if that is known without reading them.
    fn scope_count(&self) -> Option<u64> {
        None
    }
    /// The first and the last value of an index, as bytes.
    fn extent(&self, index: IndexHash) -> Option<(Vec<u8>, Vec<u8>)>;
}
