//! Partitions that have grown too big, or that cannot have the throughput they should, are split.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_model::{ContainerAddress, Failure, RangeId};
use orrery_partition::{Container, Partition};

use super::Cut;
use crate::Engine;
use crate::catalogue::{Catalogue, ContainerEntry};

/// Partitions that could not be split, with the bytes they had then: one logical partition may be
/// all that is in them.
#[derive(Debug, Default)]
pub(crate) struct Unsplittable(Mutex<HashMap<(u32, RangeId), u64>>);

impl Unsplittable {
    /// Whether there is no point in trying again yet: it has not grown by half.
    fn holds(&self, container: &Container, partition: &Partition, bytes: u64) -> bool {
        let tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let then = tried.get(&(container.rid.id(), partition.id));
        then.is_some_and(|then| bytes < then + then / 2)
    }

    fn note(&self, container: &Container, partition: &Partition, bytes: u64) {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tried.insert((container.rid.id(), partition.id), bytes);
    }
}

impl Engine {
    /// Splits what is too big, once.
    pub async fn balance(self: &Arc<Self>) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        for database in catalogue.databases.values() {
            for entry in database.containers.values() {
                self.balance_container(&catalogue, entry).await?;
            }
        }
        Ok(())
    }

    async fn balance_container(
        self: &Arc<Self>,
        catalogue: &Catalogue,
        entry: &ContainerEntry,
    ) -> Result<(), Failure> {
        let container = &entry.container;
        let address = ContainerAddress::Rid(container.rid);
        for partition in &container.partitions {
            let bytes = partition.counters().bytes;
            if bytes > self.limits.bytes && !self.unsplittable.holds(container, partition, bytes) {
                match self.split_partition(address, partition.id, Cut::Data).await {
                    Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                    Err(Failure::BadRequest(_)) => {
                        self.unsplittable.note(container, partition, bytes);
                    }
                    Err(failure) => return Err(failure),
                }
            }
        }
        let wanted = self.partitions_wanted(catalogue, entry);
        for _ in container.partitions.len()..wanted {
            let now = self.catalogue();
            let Ok((_, entry)) = now.container(address) else {
                return Ok(());
            };
            let Some(range) = widest(&entry.container) else {
                return Ok(());
            };
            match self.split_partition(address, range, Cut::KeyRange).await {
                Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// How many partitions the throughput of a container needs.
    pub(crate) fn partitions_wanted(&self, catalogue: &Catalogue, entry: &ContainerEntry) -> usize {
        let offer = entry.offer.and_then(|rid| catalogue.offers.get(&rid.id()));
        let provisioned = offer.map_or(0, |offer| offer.throughput.max());
        let wanted = provisioned.div_ceil(self.limits.throughput.max(1));
        usize::try_from(wanted).unwrap_or(usize::MAX)
    }
}

/// The partition with the widest range of hashes, of equals the one with the most bytes.
fn widest(container: &Container) -> Option<RangeId> {
    let key = container.definition.key();
    let widest = container.partitions.iter().max_by(|one, other| {
        let bytes = |partition: &Partition| partition.counters().bytes;
        let widths = key.width(&one.range).total_cmp(&key.width(&other.range));
        widths.then(bytes(one).cmp(&bytes(other)))
    });
    widest.map(|partition| partition.id)
}
