//! Indexes: which entries a document has under a policy, and which entries answer a predicate.
//!
//! An entry is a key without a value:
//!
//! ```text
//! container (4, big endian) | path hash (8, big endian) | value, sortable | place of the document
//! ```
//!
//! The place is the document's key without its container, so that the entries of one value stand
//! in the order of documents, and those of one logical or physical partition are one run of them.
//! A composite index has entries of the same shape: its hash is that of its paths and directions,
//! its value the values one after the other.
//!
//! Knows bytes, policies and predicates; reads and writes nothing. `partition` keeps the entries.

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
    Access, AccessKind, AccessPlan, AccessRequest, AccessTag, Considered, Direction, EntryScan,
    Estimate, Extreme, IndexUsage, OrderTerm, Places, PlanNode, QueryShape, Run, Statistics, Take,
    plan_access, resume_access,
};
pub use definition::IndexDefinition;
pub use entries::{Difference, Entries};
pub use hash::IndexHash;
pub use spatial::Grid;
pub use statistics::{PathFigures, PathStatistics};
pub use value::{
    ByteRange, Decoded, STRING_BYTES_CUT_MIN, byte_range, decode, encode, encode_ordered, skip,
    successor, type_end, type_start,
};
