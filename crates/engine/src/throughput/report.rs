//! Throughput reports for operators: rates, usage and hot keys.

use std::sync::Arc;

use orrery_model::{ContainerAddress, Failure, Offer, Throughput};
use orrery_partition::{Container, HotKey, MeterReport, Partition};

use super::ThroughputMode;
use crate::Engine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThroughputKind {
    Manual,
    Autoscale,
    /// The container uses part of its database's throughput.
    Shared,
    Serverless,
    Off,
}

/// The throughput of a container.
#[derive(Debug, Clone)]
pub struct ContainerThroughput {
    pub kind: ThroughputKind,
    /// Request units per second; absent if nothing is provisioned.
    pub provisioned: Option<u32>,
    /// Whether partitions have custom shares.
    pub is_custom: bool,
    pub partitions: Vec<PartitionThroughput>,
}

#[derive(Debug, Clone)]
pub struct PartitionThroughput {
    pub partition: Arc<Partition>,
    pub meter: MeterReport,
    /// Hot keys, hottest first.
    pub hot_keys: Vec<HotKey>,
}

impl Engine {
    /// The rates and the usage of a container, per physical partition.
    pub fn container_throughput(
        &self,
        container: &Container,
    ) -> Result<ContainerThroughput, Failure> {
        let catalogue = self.catalogue();
        let (database, entry) = catalogue.container(ContainerAddress::Rid(container.rid))?;
        let offer = |rid: orrery_keys::OfferRid| catalogue.offers.get(&rid.id());
        let own = entry.offer.and_then(offer);
        let shared = database.database.offer.and_then(offer);
        let (kind, offer) = match (self.throughput.options.mode, own, shared) {
            (ThroughputMode::Off, _, _) => (ThroughputKind::Off, own.or(shared)),
            (ThroughputMode::Serverless, _, _) => (ThroughputKind::Serverless, None),
            (ThroughputMode::Provisioned, Some(own), _) => match own.throughput {
                Throughput::Manual(_) => (ThroughputKind::Manual, Some(own)),
                Throughput::Autoscale { .. } => (ThroughputKind::Autoscale, Some(own)),
            },
            (ThroughputMode::Provisioned, None, shared) => (ThroughputKind::Shared, shared),
        };
        let now_ms = self.clock.monotonic_ms();
        let partitions = entry.container.partitions.iter();
        let partitions = partitions.map(|partition| PartitionThroughput {
            partition: Arc::clone(partition),
            meter: partition.meter().report(now_ms),
            hot_keys: partition.meter().hot_keys(now_ms),
        });
        Ok(ContainerThroughput {
            kind,
            is_custom: own.is_some_and(|own| !own.distribution.shares.is_empty()),
            provisioned: offer.map(|offer| offer.throughput.max()),
            partitions: partitions.collect(),
        })
    }

    /// The usage of one physical partition.
    pub fn partition_use(&self, partition: &Partition) -> MeterReport {
        partition.meter().report(self.clock.monotonic_ms())
    }

    /// The current throughput of an offer. With autoscale it is the demand of the hottest partition
    /// times the number of partitions, between a tenth of the maximum and the maximum.
    pub fn offer_current(&self, offer: &Offer) -> u32 {
        let Throughput::Autoscale { max, .. } = offer.throughput else {
            return offer.throughput.current();
        };
        let now_ms = self.clock.monotonic_ms();
        let mut needed: f64 = 0.0;
        for database in self.catalogue().databases.values() {
            if database.database.offer == Some(offer.rid) {
                let sharing = database.containers.values();
                let sharing = sharing.filter(|entry| entry.offer.is_none());
                let parts = sharing.flat_map(|entry| &entry.container.partitions);
                needed = parts
                    .map(|partition| partition.meter().report(now_ms).used.units())
                    .sum();
            }
            let owners = database.containers.values();
            for entry in owners.filter(|entry| entry.offer == Some(offer.rid)) {
                let parts = entry.container.partitions.iter();
                let used = parts.map(|partition| partition.meter().report(now_ms).used.units());
                let hottest = used.fold(0.0, f64::max);
                needed = hottest * entry.container.partitions.len() as f64;
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest number there is"
        )]
        let needed = needed.ceil() as u32;
        needed.clamp(max / 10, max)
    }
}
