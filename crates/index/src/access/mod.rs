//! Access paths: the physical plan by which `partition` finds the documents of a query.
//!
//! The filter of a query becomes sets of intervals over indexes (`filter`, `intervals`). Each of
//! the `rules` proposes access paths with a cost (`cost`, `estimate`), and the `planner` selects
//! the cheapest.

mod candidate;
mod composite;
mod cost;
mod estimate;
mod explain;
mod filter;
mod intervals;
mod non_scalar;
mod plan;
mod planner;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod usage;
mod wording;

pub use explain::PlanNode;
pub use plan::{AccessKind, AccessPlan, AccessTag, AlternativePlan, Estimate};
pub use planner::{plan_access, resume_access};
pub use request::{AccessRequest, MinMax, OrderTerm, QueryShape, Statistics};
pub use usage::IndexUsage;

use crate::IndexHash;

/// The source of the candidate documents of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessPath {
    /// All documents of the scope, in document key order.
    DocumentScan,
    /// No document can match.
    Nothing,
    /// The query needs only the number of documents, which is stored.
    StoredCount(u64),
    /// Documents found through entries, in document key order.
    DocumentSet(DocumentSet),
    /// The documents with these ids, in one logical partition.
    IdLookup(Vec<String>),
    /// Entries in index order, with or without their documents.
    Entries(EntryScan),
}

impl AccessPath {
    /// Whether the access path returns documents in the order of the query's rows.
    pub fn is_ordered(&self) -> bool {
        matches!(self, AccessPath::Entries(scan) if scan.ordered_columns > 0)
    }

    /// Whether the access path reads no index besides this one.
    fn reads_only(&self, index: IndexHash) -> bool {
        match self {
            AccessPath::DocumentScan | AccessPath::StoredCount(_) | AccessPath::IdLookup(_) => {
                false
            }
            AccessPath::Nothing => true,
            AccessPath::DocumentSet(set) => set.reads_only(index),
            AccessPath::Entries(scan) => scan.ranges.iter().all(|run| run.index == index),
        }
    }
}

/// A set of documents that an executor walks in document key order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentSet {
    /// The documents with one value. The entry range is a point.
    Point(EntryRange),
    /// The union of the sets, without duplicates.
    Union(Vec<DocumentSet>),
    /// The intersection of the sets.
    Intersection(Vec<DocumentSet>),
    /// The documents of a small number of entries in any order. The executor reads all entries,
    /// sorts their document keys and removes duplicates before it returns the first document.
    Gathered(Vec<EntryRange>),
}

impl DocumentSet {
    fn reads_only(&self, index: IndexHash) -> bool {
        match self {
            DocumentSet::Point(run) => run.index == index,
            DocumentSet::Union(list) | DocumentSet::Intersection(list) => {
                list.iter().all(|one| one.reads_only(index))
            }
            DocumentSet::Gathered(runs) => runs.iter().all(|run| run.index == index),
        }
    }
}

/// A contiguous range of entries of one index: entries whose bytes after the index hash are from
/// `from` up to but without `to`. These bytes include the document key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRange {
    pub index: IndexHash,
    pub from: Vec<u8>,
    /// `None` for a range up to the end of the index.
    pub to: Option<Vec<u8>>,
    /// Whether all entries have one value, encoded as `from`. The document key follows these bytes
    /// directly.
    pub is_point: bool,
}

/// A walk over index entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryScan {
    /// Ascending, disjoint ranges.
    pub ranges: Vec<EntryRange>,
    pub direction: ScanDirection,
    /// Number of `ORDER BY` columns that the order of the entries satisfies.
    pub ordered_columns: usize,
    pub output: EntryOutput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDirection {
    Forward,
    Backward,
}

/// The output of a walk for each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryOutput {
    /// The document of the entry. With `once`, several entries may refer to one document, and the
    /// executor returns it once.
    Documents { once: bool },
    /// The value of the entry, when the query reads nothing else of the document.
    Values,
    /// The value of the first entry with each distinct value.
    DistinctValues,
    /// The value of the first entry only.
    FirstValue,
}
