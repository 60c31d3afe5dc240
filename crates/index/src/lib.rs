//! Indexes: the entries that a document has under a policy, and the entries that answer a
//! predicate.
//!
//! An entry is a key without a value:
//!
//! ```text
//! container (4, big endian) | path hash (8, big endian) | value, sortable | key position
//! ```
//!
//! The key position is the document key without its container. Entries with equal values are therefore
//! sorted in document order, and within them each logical or physical partition is one contiguous
//! range. An entry of a composite index has the same layout: its hash covers the paths and
//! directions of the index, and its value is the concatenation of the parts.
//!
//! This crate knows bytes, policies and predicates, and performs no I/O. The `partition` crate
//! stores the entries.

mod access;
mod automaton;
mod definition;
#[cfg(test)]
mod definition_tests;
mod entries;
#[cfg(test)]
mod entries_tests;
mod hash;
#[cfg(test)]
mod path_text;
mod spatial;
mod statistics;
mod value;
mod walk;

pub use access::{
    AccessKind, AccessPath, AccessPlan, AccessRequest, AccessTag, AlternativePlan, DocumentSet,
    EntryOutput, EntryRange, EntryScan, Estimate, IndexUsage, MinMax, OrderTerm, PlanNode,
    QueryShape, ScanDirection, Statistics, plan_access, resume_access,
};
pub use definition::IndexDefinition;
pub use entries::{Difference, Entries};
pub use hash::IndexHash;
pub use spatial::Grid;
pub use statistics::{PathStatistics, PathSummary};
pub use value::{
    ByteRange, DecodedValue, STRING_BYTES_CUT_MIN, byte_range, decode, encode, encode_ordered,
    skip, successor, type_end, type_start,
};
