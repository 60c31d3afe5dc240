//! How the documents of a query are found: the physical plan that `partition` carries out.
//!
//! The filter of a query becomes sets of intervals over indexes (`filter`, `intervals`). Each of
//! the `rules` proposes ways to use them, with a price (`cost`, `estimate`), and the `planner`
//! takes the cheapest.

mod candidate;
mod composed;
mod composite;
mod cost;
mod estimate;
mod explain;
mod filter;
mod intervals;
mod plan;
mod planner;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod usage;
mod wording;

pub use explain::PlanNode;
pub use plan::{AccessKind, AccessPlan, AccessTag, Considered, Estimate};
pub use planner::{plan_access, resume_access};
pub use request::{AccessRequest, Extreme, OrderTerm, QueryShape, Statistics};
pub use usage::IndexUsage;

use crate::IndexHash;

/// Where the candidates of a query come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// All documents of the scope, in the order of places.
    Documents,
    /// There are none.
    Nothing,
    /// So many, of which nothing is read.
    Counted(u64),
    /// Documents found through entries, in the order of places.
    Places(Places),
    /// The documents of these ids, in one logical partition.
    Named(Vec<String>),
    /// Entries in their own order, with or without their documents.
    Entries(EntryScan),
}

impl Access {
    /// Whether documents come in the order of the rows.
    pub fn is_ordered(&self) -> bool {
        matches!(self, Access::Entries(scan) if scan.ordered_columns > 0)
    }

    /// Whether all candidates come from this index.
    fn reads_only(&self, index: IndexHash) -> bool {
        match self {
            Access::Documents | Access::Counted(_) | Access::Named(_) => false,
            Access::Nothing => true,
            Access::Places(places) => places.reads_only(index),
            Access::Entries(scan) => scan.runs.iter().all(|run| run.index == index),
        }
    }
}

/// A set of documents that can be walked in the order of places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Places {
    /// The entries of one value; the run is a point.
    Run(Run),
    /// The documents in any of these, each once.
    Any(Vec<Places>),
    /// The documents in all of these.
    All(Vec<Places>),
    /// The documents of few entries in any order: read, sorted and made single before the first.
    Gathered(Vec<Run>),
}

impl Places {
    fn reads_only(&self, index: IndexHash) -> bool {
        match self {
            Places::Run(run) => run.index == index,
            Places::Any(list) | Places::All(list) => list.iter().all(|one| one.reads_only(index)),
            Places::Gathered(runs) => runs.iter().all(|run| run.index == index),
        }
    }
}

/// Neighbouring entries of one index: those whose bytes after the path hash are from `from` up to
/// but without `to`, places included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub index: IndexHash,
    pub from: Vec<u8>,
    /// None ends with the index.
    pub to: Option<Vec<u8>>,
    /// Whether all entries have one value, whose bytes are `from`; places follow directly.
    pub is_point: bool,
}

/// A walk over entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryScan {
    /// Ascending and disjoint.
    pub runs: Vec<Run>,
    pub direction: Direction,
    /// How many columns of `ORDER BY` follow the order of the entries.
    pub ordered_columns: usize,
    pub take: Take,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// What is made of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The document it leads to. With `once`, several entries may lead to one document.
    Documents { once: bool },
    /// Its value, which is all that the query reads.
    Values,
    /// Its value, and nothing of the other entries with the same value.
    DistinctValues,
    /// The value of the first entry alone.
    FirstValue,
}
