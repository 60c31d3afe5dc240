//! The life of physical partitions: they split when they grow or need more throughput, and merge on
//! request.
//!
//! Neither operation moves data on a node. A split is a catalogue change that the committer carries
//! out between two groups. In-flight writes find the child partition by their key; reads that name
//! a superseded range fail with `Gone`. In a multi-write account the hub decides for all regions.

mod auto_split;
mod count;
mod merge;
mod oversized_partitions;
mod repartitioning;
mod split;

use orrery_partition::{Container, FormerRange, Partition};

pub(crate) use auto_split::GrowthChecks;
pub use split::SplitMethod;

/// Limits above which partitions are too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLimits {
    /// JSON bytes above which a physical partition splits.
    pub bytes: u64,
    /// Request units per second that one physical partition can have.
    pub throughput: u32,
    /// JSON bytes above which a logical partition accepts no more data.
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

/// The id of a container's next partition. Ids are never reused: stored entries and session tokens
/// name the partition in which they were made.
fn next_range(container: &Container) -> u32 {
    let partitions = container.partitions.iter();
    let known = partitions.flat_map(|one| one.ancestors.iter().chain([&one.id]));
    known.map(|range| range.0 + 1).max().unwrap_or_default()
}

/// The child partition with its ancestors: the parents and all ancestors of the parents.
fn with_lineage(child: Partition, parents: &[&Partition]) -> Partition {
    let mut ids = Vec::new();
    let mut ranges = Vec::new();
    for parent in parents {
        ids.extend(parent.ancestors.iter().copied().chain([parent.id]));
        ranges.extend(parent.former_ranges.iter().cloned());
        ranges.push(FormerRange {
            id: parent.id,
            range: parent.range.clone(),
        });
    }
    ids.sort_unstable();
    ids.dedup();
    ranges.sort_unstable_by_key(|one| one.id);
    ranges.dedup_by_key(|one| one.id);
    child.with_ancestors(ids, ranges)
}
