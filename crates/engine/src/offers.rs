//! Offers: the provisioned throughput of databases and containers.

use std::sync::Arc;
use std::time::Duration;

use orrery_json::Value;
use orrery_keys::OfferRid;
use orrery_model::{
    Failure, Offer, OwnerUsage, Precondition, Throughput, ThroughputDistribution,
    ThroughputMigration,
};

use tokio::time::sleep;

use crate::catalogue::Catalogue;
use crate::catalogue_rows::CatalogueWrite;
use crate::databases::check_match;
use crate::throughput::check_equal_shares;
use crate::{Engine, catalogue_rows};

/// Time that a throughput change waits for the splits of the previous change.
const SCALING_TIME: Duration = Duration::from_secs(5);
/// Pause between two checks of these splits.
const SCALING_PAUSE: Duration = Duration::from_millis(10);

/// Adds the offer of a new resource.
pub(crate) fn new_offer(
    catalogue: &mut Catalogue,
    changes: &mut Vec<CatalogueWrite>,
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
        distribution: ThroughputDistribution::default(),
        etag: catalogue.next_etag(now_seconds),
        modified_seconds: now_seconds,
    };
    changes.push(catalogue_rows::put_offer(&offer));
    catalogue.offers.insert(rid.id(), Arc::new(offer));
    rid
}

impl Engine {
    /// Replaces the throughput of an offer and assigns the new rates to the partitions it covers.
    pub async fn replace_offer(
        &self,
        rid: OfferRid,
        body: &Value,
        migrate: Option<ThroughputMigration>,
        if_match: Option<&Precondition>,
    ) -> Result<Arc<Offer>, Failure> {
        if let Ok(offer) = self.catalogue().offer(rid) {
            self.check_throughput(Some(offer.throughput))?;
        }
        // The wait precedes the catalogue lock, because the splits take that lock.
        self.await_scaling(rid).await;
        let now_seconds = self.now_seconds();
        let changed = self.change_catalogue(|catalogue, changes| {
            let old = Arc::clone(catalogue.offer(rid)?);
            check_match(if_match, &old.etag)?;
            // A replace is refused while the splits of an earlier one are pending, as in the
            // service.
            if self.is_scaling(catalogue, &old) {
                return Err(Failure::OfferReplacePending);
            }
            let throughput = old.replacement(body, migrate, usage(catalogue, &old))?;
            check_equal_shares(&old, throughput)?;
            let offer = Arc::new(Offer {
                max_ever: old.max_ever.max(throughput.max()),
                throughput,
                etag: catalogue.next_etag(now_seconds),
                modified_seconds: now_seconds,
                ..Offer::clone(&old)
            });
            changes.push(catalogue_rows::put_offer(&offer));
            catalogue.offers.insert(rid.id(), Arc::clone(&offer));
            Ok(offer)
        });
        let offer = changed.await?;
        // Meters change after the offer is durable.
        self.throughput_changed(&offer);
        Ok(offer)
    }

    /// Waits for the splits that an earlier replace has caused. Orrery splits within moments; the
    /// service takes hours.
    async fn await_scaling(&self, rid: OfferRid) {
        let is_scaling = || {
            let catalogue = self.catalogue();
            let offer = catalogue.offer(rid);
            offer.is_ok_and(|offer| self.is_scaling(&catalogue, offer))
        };
        let mut waited = Duration::ZERO;
        while waited < SCALING_TIME && is_scaling() {
            sleep(SCALING_PAUSE).await;
            waited += SCALING_PAUSE;
        }
    }

    /// Whether partitions must still split before the offer's throughput can be used.
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

    /// The minimum throughput of an offer, from the stored bytes and the number of sharing
    /// containers.
    pub fn offer_minimum(&self, offer: &Offer) -> u32 {
        offer.minimum(usage(&self.catalogue(), offer))
    }
}

/// The resources that the owner of an offer holds.
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
