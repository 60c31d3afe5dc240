//! Gives physical partitions their rates.
//!
//! Called for every container when the account is opened, for a new one, for all that an offer is
//! about when it changes, and after partitions were split or merged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_model::{ContainerAddress, Offer, limits};
use orrery_partition::{Budget, Container, Rates};

use super::division::divide;
use super::{ThroughputMode, ThroughputOptions};
use crate::{Catalogue, Engine};

/// What the account keeps of throughput while it runs.
pub(crate) struct ThroughputState {
    pub(super) options: ThroughputOptions,
    /// For reads of the catalogue.
    pub(super) metadata: Budget,
    /// What the containers of a database share, by the number of its offer.
    pools: Mutex<HashMap<u32, Arc<Budget>>>,
}

impl ThroughputState {
    pub(crate) fn new(options: ThroughputOptions, now_ms: u64) -> ThroughputState {
        ThroughputState {
            options,
            metadata: Budget::new(limits::METADATA_RUS, now_ms),
            pools: Mutex::default(),
        }
    }

    fn pool(&self, offer: &Offer, now_ms: u64) -> Arc<Budget> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools.entry(offer.rid.id()).or_default();
        pool.set(Some(offer.throughput.max()), false, now_ms);
        Arc::clone(pool)
    }
}

impl Engine {
    /// Divides what a container may use over its physical partitions.
    pub(crate) fn assign(&self, catalogue: &Catalogue, container: &Container) {
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

    /// Called when an offer has changed: assigns every container that it is about.
    ///
    /// A container whose partitions cannot have what it now has is to be split; this is the place
    /// that knows of it first.
    pub(crate) fn throughput_changed(&self, offer: &Offer) {
        let catalogue = self.catalogue();
        for database in catalogue.databases.values() {
            let shares = database.database.offer == Some(offer.rid);
            let containers = database.containers.values();
            let concerned =
                containers.filter(|entry| entry.offer.map_or(shares, |own| own == offer.rid));
            for entry in concerned {
                self.assign(&catalogue, &entry.container);
            }
        }
        // More may need more partitions.
        self.wake.notify_one();
    }

    pub(crate) fn assign_all(&self, catalogue: &Catalogue) {
        let databases = catalogue.databases.values();
        for entry in databases.flat_map(|database| database.containers.values()) {
            self.assign(catalogue, &entry.container);
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
                    // The pool limits already what is below.
                    units: (max > self.limits.throughput).then_some(self.limits.throughput),
                    pool: Some(self.throughput.pool(shared, now_ms)),
                    ..Rates::default()
                }
            }
            // Made while the account was serverless.
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
