//! Throughput: rates, admission, charging, and reports for operators.
//!
//! Offers define the throughput of a container or database. [`assign`] divides it over physical
//! partitions, whose meters do the counting. Every operation on items asks [`admission`] first and
//! is charged at its end. Reads of the catalogue have a small budget of their own.

mod admission;
mod assign;
mod division;
mod options;
mod redistribution;
mod report;
mod request_budget;
mod serverless;
mod wait_budget;

pub(crate) use admission::{admit, charge};
pub(crate) use assign::ThroughputState;
pub(crate) use division::partition_shares;
pub use options::{ThroughputMode, ThroughputOptions};
pub(crate) use redistribution::check_equal_shares;
pub use report::{ContainerThroughput, PartitionThroughput, ThroughputKind};
pub use request_budget::{Metering, ReadBudget, RequestBudget};
pub(crate) use wait_budget::{WaitBudget, add_up_waits};
