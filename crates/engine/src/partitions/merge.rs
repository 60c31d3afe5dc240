//! Two neighbouring physical partitions become one.

use std::sync::Arc;

use orrery_keys::EpkRange;
use orrery_model::{ContainerAddress, Failure, GoneKind, RangeId};
use orrery_partition::{Container, Counters, Heir, Partition};

use super::reshape::Recut;
use super::{lineage, next_range};
use crate::Engine;
use crate::catalogue::{Catalogue, ContainerEntry};

impl Engine {
    /// Joins two neighbours, if one partition can hold what both hold and have.
    pub async fn merge_partitions(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        ranges: [RangeId; 2],
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let limits = self.limits;
        self.recut(address, |catalogue| {
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
            Ok(Recut {
                database: database.database.id.clone(),
                entry: Arc::clone(entry),
                heirs: vec![heir(&entry.container, &left, &right)],
                retired: vec![left, right],
            })
        })
        .await
    }
}

/// The two partitions in the order of their ranges.
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

/// The throughput of the container must fit into one partition less.
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

fn heir(container: &Container, left: &Partition, right: &Partition) -> Heir {
    let range = EpkRange::new(left.range.min.clone(), right.range.max.clone());
    let ancestors = lineage(&[&left.ancestors, &right.ancestors], &[left.id, right.id]);
    let id = RangeId(next_range(container));
    let partition = Partition::new(id, range, Counters::default());
    Heir {
        partition: Arc::new(partition.descending_from(ancestors)),
        share: 1.0,
    }
}
