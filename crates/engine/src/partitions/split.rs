//! One physical partition becomes two.

use std::sync::Arc;

use orrery_keys::{Epk, EpkRange};
use orrery_model::{ContainerAddress, Failure, GoneKind, RangeId};
use orrery_partition::{Container, Counters, Heir, Partition, Sample};
use tokio::task::spawn_blocking;

use super::reshape::Recut;
use super::{lineage, next_range};
use crate::Engine;
use crate::catalogue::ContainerEntry;
use crate::engine::stopping;

/// Where a partition is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// In the middle of its data.
    Data,
    /// In the middle of its range of keys.
    KeyRange,
    At(Epk),
}

/// Where exactly, and how much of the data is before it.
struct Place {
    at: Epk,
    share: f64,
}

impl Engine {
    /// Cuts a physical partition in two. Nobody waits for it, and nothing is moved.
    pub async fn split_partition(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        range: RangeId,
        cut: Cut,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let container = {
            let catalogue = self.catalogue();
            let (_, entry) = catalogue.container(address)?;
            Arc::clone(&entry.container)
        };
        let partition = find(&container, range)?;
        let place = self.place_of(&container, &partition, cut).await?;
        self.recut(address, |catalogue| {
            let (database, entry) = catalogue.container(address)?;
            let parent = find(&entry.container, range)?;
            Ok(Recut {
                database: database.database.id.clone(),
                entry: Arc::clone(entry),
                heirs: halves(&entry.container, &parent, &place)?,
                retired: vec![parent],
            })
        })
        .await
    }

    async fn place_of(
        self: &Arc<Self>,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
        cut: Cut,
    ) -> Result<Place, Failure> {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        let partition = Arc::clone(partition);
        let find = move || {
            let key = container.definition.key();
            let mut sample = Sample::default();
            let at = match cut {
                Cut::At(at) => Some(at),
                Cut::KeyRange => key.middle(&partition.range),
                Cut::Data => {
                    sample = engine.store.sample(&container, &partition)?;
                    if sample.is_empty() {
                        key.middle(&partition.range)
                    } else {
                        sample.middle(&partition.range)
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
            // Without a sample: hashes are spread evenly, and a count corrects it.
            let left = EpkRange::new(partition.range.min.clone(), at.clone());
            let by_width = key.width(&left) / key.width(&partition.range).max(f64::MIN_POSITIVE);
            let share = sample.share_before(&at).unwrap_or(by_width).clamp(0.0, 1.0);
            Ok(Place { at, share })
        };
        spawn_blocking(find)
            .await
            .unwrap_or_else(|_| Err(stopping()))
    }
}

fn find(container: &Container, range: RangeId) -> Result<Arc<Partition>, Failure> {
    let partition = container.partition(range).cloned();
    partition.ok_or(Failure::Gone(GoneKind::PartitionKeyRange))
}

fn halves(container: &Container, parent: &Partition, place: &Place) -> Result<Vec<Heir>, Failure> {
    if !(parent.range.min < place.at && place.at < parent.range.max) {
        return Err(Failure::Gone(GoneKind::PartitionKeyRange));
    }
    let first = next_range(container);
    let ancestors = lineage(&[&parent.ancestors], &[parent.id]);
    let ranges = [
        EpkRange::new(parent.range.min.clone(), place.at.clone()),
        EpkRange::new(place.at.clone(), parent.range.max.clone()),
    ];
    let shares = [place.share, 1.0 - place.share];
    let heirs = (first..).zip(ranges).zip(shares);
    let heirs = heirs.map(|((id, range), share)| {
        let partition = Partition::new(RangeId(id), range, Counters::default());
        Heir {
            partition: Arc::new(partition.descending_from(ancestors.clone())),
            share,
        }
    });
    Ok(heirs.collect())
}
