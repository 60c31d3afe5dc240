//! Assigns throughput rates to physical partitions.
//!
//! The engine assigns rates when it opens the account, after a container is created, after an offer
//! changes, and after a split or merge.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use orrery_model::{ContainerAddress, Offer, limits};
use orrery_partition::{Container, Rates, ThroughputBudget};

use super::division::divide;
use super::{ThroughputMode, ThroughputOptions, WaitBudget};
use crate::{Catalogue, Engine};

/// The account's throughput state in memory.
pub(crate) struct ThroughputState {
    pub(super) options: ThroughputOptions,
    /// The budget for reads of the catalogue.
    pub(super) metadata: ThroughputBudget,
    /// The pools that containers of a database share, by offer id.
    pools: Mutex<HashMap<u32, Arc<ThroughputBudget>>>,
}

impl ThroughputState {
    pub(crate) fn new(options: ThroughputOptions, now_ms: u64) -> ThroughputState {
        ThroughputState {
            options,
            metadata: ThroughputBudget::new(limits::METADATA_RUS, now_ms),
            pools: Mutex::default(),
        }
    }

    /// The wait budget of a new bulk request whose client waits for so long.
    pub(crate) fn bulk_wait_budget(&self, patience: Duration) -> WaitBudget {
        WaitBudget::new(self.options.bulk_patience.min(patience))
    }

    fn pool(&self, offer: &Offer, now_ms: u64) -> Arc<ThroughputBudget> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(offer.rid.id()).or_default();
        pool.set(Some(offer.throughput.max()), false, now_ms);
        Arc::clone(pool)
    }
}

impl Engine {
    /// Divides a container's throughput over its physical partitions.
    pub(crate) fn assign_rates(&self, catalogue: &Catalogue, container: &Container) {
        let now_ms = self.clock.monotonic_ms();
        match self.throughput.options.mode {
            ThroughputMode::Off => {}
            ThroughputMode::Serverless => {
                let rates = Rates {
                    units: Some(limits::SERVERLESS_PARTITION_RUS),
                    ..Rates::default()
                };
                for partition in &container.partitions {
                    partition.meter().set(&rates, now_ms);
                }
            }
            ThroughputMode::Provisioned => self.assign_provisioned(catalogue, container, now_ms),
        }
    }

    /// Assigns new rates to every container that a changed offer covers.
    ///
    /// A container with more throughput than its partitions can have must split, so this function
    /// also wakes the sweep.
    pub(crate) fn throughput_changed(&self, offer: &Offer) {
        let catalogue = self.catalogue();
        for database in catalogue.databases.values() {
            let shares = database.database.offer == Some(offer.rid);
            let containers = database.containers.values();
            let concerned =
                containers.filter(|entry| entry.offer.map_or(shares, |own| own == offer.rid));
            for entry in concerned {
                self.assign_rates(&catalogue, &entry.container);
            }
        }
        // More throughput may require more partitions, so the sweep runs without waiting for its
        // interval.
        self.wake.notify_one();
    }

    pub(crate) fn assign_all_rates(&self, catalogue: &Catalogue) {
        let databases = catalogue.databases.values();
        for entry in databases.flat_map(|database| database.containers.values()) {
            self.assign_rates(catalogue, &entry.container);
        }
    }

    fn assign_provisioned(&self, catalogue: &Catalogue, container: &Container, now_ms: u64) {
        let Ok((database, entry)) = catalogue.container(ContainerAddress::Rid(container.rid))
        else {
            return;
        };
        let offer = |rid: orrery_keys::OfferRid| catalogue.offers.get(&rid.id());
        if let Some(own) = entry.offer.and_then(offer) {
            let ids: Vec<_> = container.partitions.iter().map(|part| part.id).collect();
            let buckets = &own.distribution.buckets;
            let default_bucket = buckets.iter().find(|bucket| bucket.is_default);
            for (partition, units) in
                container
                    .partitions
                    .iter()
                    .zip(divide(own, &ids, self.limits.throughput))
            {
                let mut rates = Rates {
                    units: Some(units),
                    bursts: self.throughput.options.burst_capacity,
                    default_bucket: default_bucket.map(|bucket| bucket.id),
                    ..Rates::default()
                };
                for bucket in buckets {
                    let part = units * u32::from(bucket.percent_max) / 100;
                    rates.buckets[usize::from(bucket.id) - 1] = Some(part.max(1));
                }
                partition.meter().set(&rates, now_ms);
            }
            return;
        }
        let rates = match database.database.offer.and_then(offer) {
            Some(shared) => {
                let max = shared.throughput.max();
                Rates {
                    // Below this limit the shared pool alone is restrictive.
                    units: (max > self.limits.throughput).then_some(self.limits.throughput),
                    pool: Some(self.throughput.pool(shared, now_ms)),
                    ..Rates::default()
                }
            }
            // A container from a time when the account was serverless has no offer.
            None => Rates {
                units: Some(limits::MANUAL_RUS_MIN),
                ..Rates::default()
            },
        };
        for partition in &container.partitions {
            partition.meter().set(&rates, now_ms);
        }
    }
}
