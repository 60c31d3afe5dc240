//! Offers: the provisioned throughput of databases and containers.

use std::sync::Arc;

use orrery_json::Value;
use orrery_keys::OfferRid;
use orrery_model::{Distribution, Failure, Migrate, Offer, OwnerUsage, Precondition, Throughput};

use crate::catalogue::Catalogue;
use crate::databases::check_match;
use crate::entries::Change;
use crate::throughput::check_undivided;
use crate::{Engine, entries};

/// Adds the offer of a resource that is being created.
pub(crate) fn new_offer(
    catalogue: &mut Catalogue,
    changes: &mut Vec<Change>,
    resource: String,
    owner: String,
    throughput: Throughput,
    now_seconds: u64,
) -> OfferRid {
    let rid = catalogue.next_offer();
    let offer = Offer {
        rid,
        resource,
        owner,
        max_ever: throughput.max(),
        throughput,
        distribution: Distribution::default(),
        etag: catalogue.next_change(now_seconds),
        modified_seconds: now_seconds,
    };
    changes.push(entries::put_offer(&offer));
    catalogue.offers.insert(rid.id(), Arc::new(offer));
    rid
}

impl Engine {
    pub async fn replace_offer(
        &self,
        rid: OfferRid,
        body: &Value,
        migrate: Option<Migrate>,
        if_match: Option<&Precondition>,
    ) -> Result<Arc<Offer>, Failure> {
        if let Ok(offer) = self.catalogue().offer(rid) {
            self.check_throughput(Some(offer.throughput))?;
        }
        let now_seconds = self.now_seconds();
        let changed = self.change_catalogue(|catalogue, changes| {
            let old = Arc::clone(catalogue.offer(rid)?);
            check_match(if_match, &old.etag)?;
            if self.is_scaling(catalogue, &old) {
                return Err(Failure::OfferReplacePending);
            }
            let throughput = old.replacement(body, migrate, usage(catalogue, &old))?;
            check_undivided(&old, throughput)?;
            let offer = Arc::new(Offer {
                max_ever: old.max_ever.max(throughput.max()),
                throughput,
                etag: catalogue.next_change(now_seconds),
                modified_seconds: now_seconds,
                ..Offer::clone(&old)
            });
            changes.push(entries::put_offer(&offer));
            catalogue.offers.insert(rid.id(), Arc::clone(&offer));
            Ok(offer)
        });
        let offer = changed.await?;
        self.throughput_changed(&offer);
        Ok(offer)
    }

    /// Whether partitions are still to be split for what an offer gives.
    pub fn is_offer_pending(&self, offer: &Offer) -> bool {
        self.is_scaling(&self.catalogue(), offer)
    }

    fn is_scaling(&self, catalogue: &Catalogue, offer: &Offer) -> bool {
        let databases = catalogue.databases.values();
        let mut containers = databases.flat_map(|database| database.containers.values());
        let owner = containers.find(|entry| entry.offer == Some(offer.rid));
        owner.is_some_and(|entry| {
            entry.container.partitions.len() < self.partitions_wanted(catalogue, entry)
        })
    }

    /// The least throughput an offer may be set to.
    pub fn offer_minimum(&self, offer: &Offer) -> u32 {
        offer.minimum(usage(&self.catalogue(), offer))
    }
}

/// What the owner of an offer holds.
fn usage(catalogue: &Catalogue, offer: &Offer) -> OwnerUsage {
    for database in catalogue.databases.values() {
        let bytes = |shared_only: bool| -> u64 {
            let containers = database.containers.values();
            let counted = containers.filter(|entry| !shared_only || entry.offer.is_none());
            let partitions = counted.flat_map(|entry| &entry.container.partitions);
            partitions.map(|partition| partition.counters().bytes).sum()
        };
        if database.database.offer == Some(offer.rid) {
            let sharing = database
                .containers
                .values()
                .filter(|entry| entry.offer.is_none())
                .count();
            return OwnerUsage {
                storage_bytes: bytes(true),
                shared_containers: Some(sharing),
            };
        }
        let owner = database
            .containers
            .values()
            .find(|entry| entry.offer == Some(offer.rid));
        if let Some(owner) = owner {
            let partitions = owner.container.partitions.iter();
            let storage_bytes = partitions.map(|partition| partition.counters().bytes).sum();
            return OwnerUsage {
                storage_bytes,
                shared_containers: None,
            };
        }
    }
    OwnerUsage::default()
}
