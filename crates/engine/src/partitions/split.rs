//! Splits one physical partition into two.

use std::sync::Arc;

use orrery_keys::{Epk, EpkRange};
use orrery_model::{ContainerAddress, Failure, GoneKind, RangeId};
use orrery_partition::{ChildPartition, Container, Counters, Partition, Sample};
use tokio::task::spawn_blocking;

use super::repartitioning::RepartitioningPlan;
use super::{next_range, with_lineage};
use crate::Engine;
use crate::catalogue::ContainerEntry;
use crate::engine::stopping_failure;

/// The choice of a split point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitMethod {
    /// The middle of the partition's data.
    MiddleOfData,
    /// The middle of the partition's key range.
    MiddleOfRange,
    At(Epk),
}

/// The split point, and the fraction of the data in front of it.
struct SplitPoint {
    at: Epk,
    share: f64,
}

impl Engine {
    /// Splits a physical partition in two. Requests continue meanwhile, and no data moves.
    pub async fn split_partition(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        range: RangeId,
        cut: SplitMethod,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let container = {
            let catalogue = self.catalogue();
            let (_, entry) = catalogue.container(address)?;
            Arc::clone(&entry.container)
        };
        // The split point is found before the lock is taken, because sampling reads from disk.
        let partition = find(&container, range)?;
        let split_point = self.find_split_point(&container, &partition, cut).await?;
        self.repartition(address, |catalogue| {
            let (database, entry) = catalogue.container(address)?;
            // The partition may have been split or merged while the point was searched.
            let parent = find(&entry.container, range)?;
            Ok(RepartitioningPlan {
                database: database.database.id.clone(),
                entry: Arc::clone(entry),
                children: child_partitions(&entry.container, &parent, &split_point)?,
                parents: vec![parent],
            })
        })
        .await
    }

    async fn find_split_point(
        self: &Arc<Self>,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
        cut: SplitMethod,
    ) -> Result<SplitPoint, Failure> {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        let partition = Arc::clone(partition);
        let find = move || {
            let key = container.definition.key();
            let mut sample = Sample::default();
            let at = match cut {
                SplitMethod::At(at) => Some(at),
                SplitMethod::MiddleOfRange => key.middle(&partition.range),
                SplitMethod::MiddleOfData => {
                    sample = engine.store.sample(&container, &partition)?;
                    // An empty partition has no middle of data.
                    if sample.is_empty() {
                        key.middle(&partition.range)
                    } else {
                        sample.split_point(&partition.range)
                    }
                }
            };
            let inside = |at: &Epk| partition.range.min < *at && *at < partition.range.max;
            let at = at.filter(inside).ok_or_else(|| {
                Failure::bad_request(format!(
                    "The physical partition {} cannot be cut there: a cut is inside of its range {} and between two \
                     logical partitions.",
                    partition.id, partition.range
                ))
            })?;
            // Without a sample the fraction follows from the widths of the hash ranges. A later
            // count corrects it.
            let left = EpkRange::new(partition.range.min.clone(), at.clone());
            let by_width = key.width(&left) / key.width(&partition.range).max(f64::MIN_POSITIVE);
            let share = sample.share_before(&at).unwrap_or(by_width).clamp(0.0, 1.0);
            Ok(SplitPoint { at, share })
        };
        spawn_blocking(find)
            .await
            .unwrap_or_else(|_| Err(stopping_failure()))
    }
}

fn find(container: &Container, range: RangeId) -> Result<Arc<Partition>, Failure> {
    let partition = container.partition(range).cloned();
    partition.ok_or(Failure::Gone(GoneKind::PartitionKeyRange))
}

fn child_partitions(
    container: &Container,
    parent: &Partition,
    split_point: &SplitPoint,
) -> Result<Vec<ChildPartition>, Failure> {
    // The parent may have changed since the search, so the point is checked against its present
    // range.
    if !(parent.range.min < split_point.at && split_point.at < parent.range.max) {
        return Err(Failure::Gone(GoneKind::PartitionKeyRange));
    }
    let first = next_range(container);
    let ranges = [
        EpkRange::new(parent.range.min.clone(), split_point.at.clone()),
        EpkRange::new(split_point.at.clone(), parent.range.max.clone()),
    ];
    let shares = [split_point.share, 1.0 - split_point.share];
    let children = (first..).zip(ranges).zip(shares);
    let children = children.map(|((id, range), share)| {
        let partition = Partition::new(RangeId(id), range, Counters::default());
        ChildPartition {
            partition: Arc::new(with_lineage(partition, &[parent])),
            share,
        }
    });
    Ok(children.collect())
}
