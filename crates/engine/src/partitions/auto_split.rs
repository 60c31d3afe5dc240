//! Splits partitions that exceed their size limit or their share of throughput.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use orrery_model::{ContainerAddress, Failure, RangeId};
use orrery_partition::{Container, Partition};

use super::SplitMethod;
use crate::catalogue::{Catalogue, ContainerEntry};
use crate::throughput::partition_shares;
use crate::{Engine, ReplicationRole};

/// Pause after a split with unknown outcome. In a multi-write account a split waits for a majority
/// of regions, and the background sweep waits with it.
const BACKOFF_MS: u64 = 60_000;

/// The bytes of each partition at its last check, so that a partition is checked again only after
/// it has grown.
#[derive(Debug)]
pub(crate) struct GrowthChecks {
    growth: f64,
    last: Mutex<HashMap<(u32, RangeId), u64>>,
    backoff_until_ms: AtomicU64,
}

impl GrowthChecks {
    /// Creates the state; a check is due after a partition has grown by this fraction.
    pub(crate) fn after_growth(growth: f64) -> GrowthChecks {
        GrowthChecks {
            growth,
            last: Mutex::default(),
            backoff_until_ms: AtomicU64::new(0),
        }
    }

    /// Forgets all checks, so that every partition is checked again.
    pub(crate) fn reset(&self) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clear();
        self.backoff_until_ms.store(0, Ordering::Relaxed);
    }

    fn back_off(&self, now_ms: u64) {
        let until = now_ms.saturating_add(BACKOFF_MS);
        self.backoff_until_ms.store(until, Ordering::Relaxed);
    }

    fn is_backing_off(&self, now_ms: u64) -> bool {
        now_ms < self.backoff_until_ms.load(Ordering::Relaxed)
    }

    /// Whether a check is due; a positive answer counts as that check.
    pub(super) fn is_due(&self, container: &Container, partition: &Partition, bytes: u64) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (container.rid.id(), partition.id);
        let then = last.get(&key).copied().unwrap_or(0);
        let is_due = bytes as f64 >= then as f64 * (1.0 + self.growth);
        if is_due {
            last.insert(key, bytes);
        }
        is_due
    }
}

impl Engine {
    /// Splits every partition that exceeds a limit, once.
    pub async fn auto_split(self: &Arc<Self>) -> Result<(), Failure> {
        if self.role() == ReplicationRole::Follower {
            return Ok(());
        }
        let catalogue = self.catalogue();
        for database in catalogue.databases.values() {
            for entry in database.containers.values() {
                let balanced = self.auto_split_container(&catalogue, entry).await;
                // A timeout leaves the fate of the split open, so the next attempt waits.
                if balanced == Err(Failure::Timeout) {
                    self.split_checks.back_off(self.clock.monotonic_ms());
                }
                balanced?;
            }
        }
        Ok(())
    }

    async fn auto_split_container(
        self: &Arc<Self>,
        catalogue: &Catalogue,
        entry: &ContainerEntry,
    ) -> Result<(), Failure> {
        let container = &entry.container;
        let is_resting = self.split_checks.is_backing_off(self.clock.monotonic_ms());
        // A region that may not change the catalogue still tracks oversized logical partitions.
        if is_resting || self.check_catalogue_writer().is_err() {
            return self.track_oversized_partitions(container).await;
        }
        let address = ContainerAddress::Rid(container.rid);
        for partition in &container.partitions {
            let bytes = partition.counters().bytes;
            // A single logical partition can fill the physical one, which cannot be split then.
            if bytes > self.limits.bytes && self.split_checks.is_due(container, partition, bytes) {
                match self
                    .split_partition(address, partition.id, SplitMethod::MiddleOfData)
                    .await
                {
                    // `Gone` and `NotFound` mean that another change has replaced the partition or
                    // the container.
                    Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                    Err(Failure::BadRequest(reason)) => {
                        tracing::warn!(range = %partition.id, bytes, %reason, "a partition is too big and cannot be split");
                    }
                    Err(failure) => {
                        // The reset lets the next sweep try the same partition again.
                        self.split_checks.reset();
                        return Err(failure);
                    }
                }
            }
        }
        self.track_oversized_partitions(container).await?;
        self.split_by_share(catalogue, entry).await?;
        let wanted = self.partitions_wanted(catalogue, entry);
        for _ in container.partitions.len()..wanted {
            // Every split changes the catalogue, the splits above as well, so each round counts the
            // partitions again.
            let now = self.catalogue();
            let Ok((_, entry)) = now.container(address) else {
                return Ok(());
            };
            if entry.container.partitions.len() >= wanted {
                return Ok(());
            }
            let Some(range) = widest(&entry.container) else {
                return Ok(());
            };
            match self
                .split_partition(address, range, SplitMethod::MiddleOfRange)
                .await
            {
                Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }

    /// Splits partitions whose assigned throughput exceeds the limit of one partition.
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
        for (range, units) in ids.iter().zip(partition_shares(offer, &ids)) {
            if units > self.limits.throughput {
                let address = ContainerAddress::Rid(container.rid);
                match self
                    .split_partition(address, *range, SplitMethod::MiddleOfRange)
                    .await
                {
                    Ok(_) | Err(Failure::Gone(_) | Failure::NotFound(_)) => {}
                    Err(failure) => return Err(failure),
                }
            }
        }
        Ok(())
    }

    /// The number of partitions that the throughput of a container needs.
    pub(crate) fn partitions_wanted(&self, catalogue: &Catalogue, entry: &ContainerEntry) -> usize {
        let offer = entry.offer.and_then(|rid| catalogue.offers.get(&rid.id()));
        let provisioned = offer.map_or(0, |offer| offer.throughput.max());
        let wanted = provisioned.div_ceil(self.limits.throughput.max(1));
        usize::try_from(wanted).unwrap_or(usize::MAX)
    }
}

/// The partition with the widest range of hashes; among equals the one with the most bytes.
fn widest(container: &Container) -> Option<RangeId> {
    let key = container.definition.key();
    let widest = container.partitions.iter().max_by(|one, other| {
        let bytes = |partition: &Partition| partition.counters().bytes;
        let widths = key.width(&one.range).total_cmp(&key.width(&other.range));
        widths.then(bytes(one).cmp(&bytes(other)))
    });
    widest.map(|partition| partition.id)
}
