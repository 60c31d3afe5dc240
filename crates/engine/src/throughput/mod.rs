//! Throughput: who may use how much, who is let in, and what operators are told.
//!
//! Offers say what a container or a database may use. [`assign`] divides that over physical
//! partitions, whose meters do the counting; every operation on items asks [`admission`] first and
//! is charged when it is done. Reads of the catalogue have a small budget of their own.

mod admission;
mod assign;
mod division;
mod options;
mod redistribution;
mod report;
mod serverless;
mod terms;

pub(crate) use admission::{admit, charge};
pub(crate) use assign::ThroughputState;
pub(crate) use division::shares;
pub use options::{ThroughputMode, ThroughputOptions};
pub(crate) use redistribution::check_undivided;
pub use report::{ContainerThroughput, PartitionThroughput, ThroughputKind};
pub use terms::{Metering, ReadTerms, Terms};
