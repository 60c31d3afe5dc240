//! Partitions that have grown too big, or that cannot have the throughput they should, are split.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use orrery_model::{ContainerAddress, Failure, RangeId};
use orrery_partition::{Container, Partition};

use super::Cut;
use crate::catalogue::{Catalogue, ContainerEntry};
use crate::throughput::shares;
use crate::{Engine, Role};

/// Where every region writes, a cut waits for a majority of them, and other work in the background
/// with it. If that took too long nobody knows what becomes of it, and the next one is not soon.
const REST_MS: u64 = 60_000;

/// The bytes that partitions had when they were last looked at, so that nobody looks again before
/// they have grown.
#[derive(Debug)]
pub(crate) struct Looks {
    growth: f64,
    last: Mutex<HashMap<(u32, RangeId), u64>>,
    rests_until_ms: AtomicU64,
}

impl Looks {
    /// The next look is due when there is such a part more.
    pub(crate) fn after_growth(growth: f64) -> Looks {
        Looks {
            growth,
            last: Mutex::default(),
            rests_until_ms: AtomicU64::new(0),
        }
    }

    /// Looks at everything again.
    pub(crate) fn forget(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clear();
        self.rests_until_ms.store(0, Ordering::Relaxed);
    }

    fn rest(&self, now_ms: u64) {
        let until = now_ms.saturating_add(REST_MS);
        self.rests_until_ms.store(until, Ordering::Relaxed);
    }

    fn is_resting(&self, now_ms: u64) -> bool {
        now_ms < self.rests_until_ms.load(Ordering::Relaxed)
    }

    /// Whether to look now, which counts as a look.
    pub(super) fn is_due(&self, container: &Container, partition: &Partition, bytes: u64) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (container.rid.id(), partition.id);
        let then = last.get(&place).copied().unwrap_or(0);
        let is_due = bytes as f64 >= then as f64 * (1.0 + self.growth);
        if is_due {
            last.insert(place, bytes);
        }
        is_due
    }
}

impl Engine {
    /// Splits what is too big, once.
    pub async fn balance(self: &Arc<Self>) -> Result<(), Failure> {
        if self.role() == Role::Follower {
            return Ok(());
        }
        let catalogue = self.catalogue();
        for database in catalogue.databases.values() {
            for entry in database.containers.values() {
                let balanced = self.balance_container(&catalogue, entry).await;
                if balanced == Err(Failure::Timeout) {
                    self.splits.rest(self.clock.monotonic_ms());
                }
                balanced?;
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
        let is_resting = self.splits.is_resting(self.clock.monotonic_ms());
        if is_resting || self.check_catalogue_writer().is_err() {
            return self.watch_crowds(container).await;
        }
        let address = ContainerAddress::Rid(container.rid);
        for partition in &container.partitions {
            let bytes = partition.counters().bytes;
            // One logical partition may be all that is in it: then it cannot be split.
            if bytes > self.limits.bytes && self.splits.is_due(container, partition, bytes) {
                match self.split_partition(address, partition.id, Cut::Data).await {
                    Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                    Err(Failure::BadRequest(reason)) => {
                        tracing::warn!(range = %partition.id, bytes, %reason, "a partition is too big and cannot be split");
                    }
                    Err(failure) => {
                        self.splits.forget();
                        return Err(failure);
                    }
                }
            }
        }
        self.watch_crowds(container).await?;
        self.split_by_share(catalogue, entry).await?;
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

    /// Splits the partitions that were given more throughput than one can have.
    async fn split_by_share(
        self: &Arc<Self>,
        catalogue: &Catalogue,
        entry: &ContainerEntry,
    ) -> Result<(), Failure> {
        let offer = entry.offer.and_then(|rid| catalogue.offers.get(&rid.id()));
        let Some(offer) = offer.filter(|offer| !offer.distribution.shares.is_empty()) else {
            return Ok(());
        };
        let container = &entry.container;
        let ids: Vec<_> = container.partitions.iter().map(|one| one.id).collect();
        for (range, units) in ids.iter().zip(shares(offer, &ids)) {
            if units > self.limits.throughput {
                let address = ContainerAddress::Rid(container.rid);
                match self.split_partition(address, *range, Cut::KeyRange).await {
                    Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                    Err(failure) => return Err(failure),
                }
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
