//! Merges two neighbouring physical partitions into one.

use std::sync::Arc;

use orrery_keys::EpkRange;
use orrery_model::{ContainerAddress, Failure, GoneKind, RangeId};
use orrery_partition::{ChildPartition, Container, Counters, Partition};

use super::repartitioning::RepartitioningPlan;
use super::{next_range, with_lineage};
use crate::Engine;
use crate::catalogue::{Catalogue, ContainerEntry};

impl Engine {
    /// Merges two neighbours, if one partition can hold their bytes and their throughput.
    pub async fn merge_partitions(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        ranges: [RangeId; 2],
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let limits = self.limits;
        self.repartition(address, |catalogue| {
            let (database, entry) = catalogue.container(address)?;
            let (left, right) = neighbours(&entry.container, ranges)?;
            let bytes = left.counters().bytes + right.counters().bytes;
            if bytes > limits.bytes {
                return Err(Failure::bad_request(format!(
                    "The physical partitions {} and {} hold {bytes} bytes together; one may hold {}.",
                    left.id, right.id, limits.bytes
                )));
            }
            check_throughput(catalogue, entry, limits.throughput)?;
            Ok(RepartitioningPlan {
                database: database.database.id.clone(),
                entry: Arc::clone(entry),
                children: vec![merged_partition(&entry.container, &left, &right)],
                parents: vec![left, right],
            })
        })
        .await
    }
}

/// The two partitions in the order of their key ranges.
fn neighbours(
    container: &Container,
    ranges: [RangeId; 2],
) -> Result<(Arc<Partition>, Arc<Partition>), Failure> {
    let find = |id| {
        let found = container.partition(id).cloned();
        found.ok_or(Failure::Gone(GoneKind::PartitionKeyRange))
    };
    let (one, other) = (find(ranges[0])?, find(ranges[1])?);
    if one.range.max == other.range.min {
        Ok((one, other))
    } else if other.range.max == one.range.min {
        Ok((other, one))
    } else {
        Err(Failure::bad_request(format!(
            "The physical partitions {} and {} are not neighbours; only neighbours can be merged.",
            one.id, other.id
        )))
    }
}

/// Checks that the container's throughput fits into one partition less.
fn check_throughput(
    catalogue: &Catalogue,
    entry: &ContainerEntry,
    throughput_max: u32,
) -> Result<(), Failure> {
    let offer = entry.offer.and_then(|rid| catalogue.offers.get(&rid.id()));
    let Some(provisioned) = offer.map(|offer| offer.throughput.max()) else {
        return Ok(());
    };
    let left = entry.container.partitions.len() - 1;
    if u64::from(provisioned) > left as u64 * u64::from(throughput_max) {
        return Err(Failure::bad_request(format!(
            "The container has {provisioned} request units a second, more than {left} physical partitions of at most \
             {throughput_max} can have. Lower its throughput first."
        )));
    }
    Ok(())
}

fn merged_partition(container: &Container, left: &Partition, right: &Partition) -> ChildPartition {
    let range = EpkRange::new(left.range.min.clone(), right.range.max.clone());
    let id = RangeId(next_range(container));
    let partition = Partition::new(id, range, Counters::default());
    ChildPartition {
        partition: Arc::new(with_lineage(partition, &[left, right])),
        share: 1.0,
    }
}
