//! Physical partitions that live: they split when they grow or when more throughput is asked for,
//! and merge when somebody asks.
//!
//! On one node neither moves data. A split is a change of the catalogue that the committer carries
//! out between two groups; writes that were under way find the heir by their key, and reads by name
//! of a range that is gone are told so. Where every region writes, the hub decides for all.

mod balance;
mod count;
mod crowds;
mod merge;
mod reshape;
mod split;

use orrery_model::RangeId;
use orrery_partition::Container;

pub(crate) use balance::Looks;
pub use split::Cut;

/// From where on partitions are too big.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLimits {
    /// Bytes of JSON that one holds before it splits.
    pub bytes: u64,
    /// Request units a second that one can be given.
    pub throughput: u32,
    /// Bytes of JSON from which on a logical partition takes no more.
    pub logical_bytes: u64,
}

impl Default for PartitionLimits {
    fn default() -> PartitionLimits {
        PartitionLimits {
            bytes: 50 << 30,
            throughput: 10_000,
            logical_bytes: 20 << 30,
        }
    }
}

/// The number that the next partition of a container gets; none is given twice.
fn next_range(container: &Container) -> u32 {
    let partitions = container.partitions.iter();
    let known = partitions.flat_map(|one| one.ancestors.iter().chain([&one.id]));
    known.map(|range| range.0 + 1).max().unwrap_or_default()
}

fn lineage(ancestors: &[&[RangeId]], parents: &[RangeId]) -> Vec<RangeId> {
    let mut all: Vec<RangeId> = ancestors.concat();
    all.extend(parents);
    all.sort_unstable();
    all.dedup();
    all
}
