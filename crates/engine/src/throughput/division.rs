//! Divides a container's throughput over its physical partitions.

use orrery_model::{Offer, RangeId};

/// Request units per second of each partition, in the order of `partitions`.
///
/// Partitions have equal shares unless custom shares are set. Partitions without a custom share
/// divide the remainder of the offer; they are the children of a partition that had a custom share.
/// A partition gets at most its limit; throughput above the limit waits for a split.
pub(super) fn divide(offer: &Offer, partitions: &[RangeId], partition_max: u32) -> Vec<u32> {
    let capped = partition_shares(offer, partitions).into_iter();
    capped.map(|units| units.clamp(1, partition_max)).collect()
}

/// The shares without the limit of a single partition.
pub(crate) fn partition_shares(offer: &Offer, partitions: &[RangeId]) -> Vec<u32> {
    let named = &offer.distribution.shares;
    let share = |id: &RangeId| {
        let found = named.iter().find(|(named, _)| named == id);
        found.map(|(_, units)| *units)
    };
    let given: u32 = partitions.iter().filter_map(share).sum();
    let others = partitions.iter().filter(|id| share(id).is_none()).count();
    let left = offer.throughput.max().saturating_sub(given);
    let equal = left / u32::try_from(others).unwrap_or(u32::MAX).max(1);
    let units = partitions.iter().map(|id| share(id).unwrap_or(equal));
    units.collect()
}

#[cfg(test)]
mod tests {
    use orrery_keys::OfferRid;
    use orrery_model::{Etag, Throughput, ThroughputDistribution};

    use super::*;

    #[test]
    fn equal_parts_shares_and_children() {
        let partitions = |ids: &[u32]| ids.iter().copied().map(RangeId).collect::<Vec<_>>();
        for (units, named, ids, expected) in [
            (400, &[][..], &[0][..], &[400][..]),
            (18_000, &[], &[0, 1, 2], &[6_000; 3]),
            (1_000, &[], &[0, 1, 2], &[333; 3]),
            // The offer exceeds the limits of all partitions together.
            (40_000, &[], &[0, 1], &[10_000; 2]),
            (
                25_000,
                &[(0, 5_000), (1, 20_000)],
                &[0, 1],
                &[5_000, 10_000],
            ),
            // Partition 1 has split into 2 and 3.
            (
                25_000,
                &[(0, 5_000), (1, 20_000)],
                &[0, 2, 3],
                &[5_000, 10_000, 10_000],
            ),
            (
                21_000,
                &[(0, 6_000), (1, 15_000)],
                &[0, 2, 3],
                &[6_000, 7_500, 7_500],
            ),
        ] {
            let offer = Offer {
                rid: OfferRid::new(1),
                resource: String::new(),
                owner: String::new(),
                throughput: Throughput::Manual(units),
                max_ever: units,
                distribution: ThroughputDistribution {
                    shares: named
                        .iter()
                        .map(|(id, units)| (RangeId(*id), *units))
                        .collect(),
                    ..ThroughputDistribution::default()
                },
                etag: Etag::of_write(0, 1, 0, 0),
                modified_seconds: 0,
            };
            assert_eq!(
                divide(&offer, &partitions(ids), 10_000),
                expected,
                "{units} {named:?}"
            );
        }
    }
}
