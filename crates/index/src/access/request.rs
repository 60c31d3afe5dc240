//! The input of the planner: the query, the indexes and the statistics.

use orrery_exec::{DocumentPath, SargableFilter};

use super::EntryRange;
use crate::{IndexDefinition, IndexHash, PathSummary};

/// The properties of a query that matter for finding its documents.
#[derive(Clone, Copy)]
pub struct AccessRequest<'a> {
    /// The indexes that are complete. During a policy change these are the indexes that both
    /// policies have.
    pub definition: &'a IndexDefinition,
    pub statistics: &'a dyn Statistics,
    pub sargable_filter: &'a SargableFilter,
    pub shape: QueryShape,
    /// Whether all documents in the scope of the query are in one logical partition.
    pub is_one_partition: bool,
    /// The sort order. Empty when rows are not sorted, or are sorted by expressions instead of
    /// document paths.
    pub order: &'a [OrderTerm],
    /// The only path that the program reads, when an entry may replace its document.
    pub covering: Option<&'a DocumentPath>,
    /// Whether the query needs the number of documents and no document content.
    pub reads_nothing: bool,
    /// Set when the query is a single `MIN` or `MAX` over the covering path.
    pub min_max: Option<MinMax>,
    /// Whether the query does not see documents that were written without entries.
    pub only_indexed: bool,
    /// Maximum number of rows of the page.
    pub page_rows: Option<u64>,
}

/// The processing of the rows that the documents yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryShape {
    /// Rows are returned as they arrive, and a page may end after any row.
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
pub enum MinMax {
    Min,
    Max,
}

/// Statistics of the documents and entries of a container.
///
/// The numbers may be stale, except `documents`, `indexed_documents`, `scope_count`, and the
/// `entries` and `non_scalar` of a path: these belong to the snapshot that the query reads.
pub trait Statistics {
    /// Number of documents in the container.
    fn documents(&self) -> u64;
    /// Number of documents that were written with their index entries.
    fn indexed_documents(&self) -> u64;
    fn path(&self, index: IndexHash) -> Option<PathSummary>;
    /// Maximum number of entries that the planner counts to size one range.
    fn dive_entries_max(&self) -> u64 {
        256
    }
    /// Minimum number of documents in scope for a plan from averages. Below it, counting is cheap
    /// and makes the explanation exact.
    fn guess_documents_min(&self) -> u64 {
        2_000
    }
    /// Counts the entries of the range whose documents are in the scope of the query, up to
    /// `limit`.
    fn count(&self, run: &EntryRange, limit: u64) -> u64;
    /// Estimated number of documents in the scope of the query.
    fn documents_in_scope(&self) -> u64;
    /// Exact number of documents in the scope of the query, if known without reading them.
    fn scope_count(&self) -> Option<u64> {
        None
    }
    /// The first and the last value of an index, encoded.
    fn extent(&self, index: IndexHash) -> Option<(Vec<u8>, Vec<u8>)>;
}
