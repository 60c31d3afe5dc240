//! A container's throughput, divided over its physical partitions.

use orrery_model::{Offer, RangeId, limits};

/// Request units a second of each partition, in the order of `partitions`.
///
/// All get the same. No partition gets more than one can have: what is beyond waits for a split.
pub(super) fn divide(offer: &Offer, partitions: &[RangeId]) -> Vec<u32> {
    let count = u32::try_from(partitions.len()).unwrap_or(u32::MAX).max(1);
    let equal = (offer.throughput.max() / count).clamp(1, limits::PARTITION_RUS_MAX);
    partitions.iter().map(|_| equal).collect()
}
