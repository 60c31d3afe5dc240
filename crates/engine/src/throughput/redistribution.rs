//! Moves throughput between the physical partitions of a container, and sets its throughput
//! buckets.
//!
//! The change is stored in the offer, so it survives a restart. While partitions have custom
//! shares, the total of the offer cannot be changed: the change would not say which partition gains
//! or loses.

use std::sync::Arc;

use orrery_model::{
    ContainerAddress, DistributionChange, Failure, Offer, PartitionShares, RangeId, Throughput,
    limits,
};

use super::division::partition_shares;
use crate::{Engine, catalogue_rows};

impl Engine {
    /// Changes the division of a container's throughput.
    pub async fn redistribute(
        &self,
        address: ContainerAddress<'_>,
        change: DistributionChange,
    ) -> Result<Arc<Offer>, Failure> {
        if self.is_serverless() {
            return Err(no_offer());
        }
        let now_seconds = self.now_seconds();
        let changed = self.change_catalogue(|catalogue, changes| {
            let (_, entry) = catalogue.container(address)?;
            let ids: Vec<_> = entry
                .container
                .partitions
                .iter()
                .map(|part| part.id)
                .collect();
            let rid = entry.offer.ok_or_else(no_offer)?;
            let mut offer = Offer::clone(catalogue.offer(rid)?);
            match change.division {
                Some(PartitionShares::Equal) => offer.distribution.shares.clear(),
                Some(PartitionShares::Custom(wanted)) => set_shares(&mut offer, &ids, &wanted)?,
                None => {}
            }
            if let Some(buckets) = change.buckets {
                check_age(&offer, now_seconds)?;
                offer.distribution.buckets = buckets;
                offer.distribution.buckets_set_seconds = now_seconds;
            }
            offer.max_ever = offer.max_ever.max(offer.throughput.max());
            offer.etag = catalogue.next_etag(now_seconds);
            offer.modified_seconds = now_seconds;
            changes.push(catalogue_rows::put_offer(&offer));
            let offer = Arc::new(offer);
            catalogue.offers.insert(rid.id(), Arc::clone(&offer));
            Ok(offer)
        });
        let offer = changed.await?;
        self.throughput_changed(&offer);
        Ok(offer)
    }
}

/// Refuses another total while partitions have custom shares.
pub(crate) fn check_equal_shares(offer: &Offer, wanted: Throughput) -> Result<(), Failure> {
    if offer.distribution.shares.is_empty() || wanted == offer.throughput {
        return Ok(());
    }
    Err(Failure::bad_request(
        "One of the specified inputs is invalid. The throughput of single partitions was changed; set the \
         policy back to equal before the throughput of the container is changed.",
    ))
}

/// Sets custom shares; the container's throughput becomes their sum.
fn set_shares(
    offer: &mut Offer,
    ids: &[RangeId],
    wanted: &[(RangeId, u32)],
) -> Result<(), Failure> {
    if let Some((id, _)) = wanted.iter().find(|(id, _)| !ids.contains(id)) {
        return Err(Failure::bad_request(format!(
            "One of the specified inputs is invalid. The container has no partition '{id}'."
        )));
    }
    let present = ids.iter().copied().zip(partition_shares(offer, ids));
    // Partitions that the request does not name keep their present share.
    let new = present.map(|(id, units)| {
        let wanted = wanted.iter().find(|(wanted, _)| *wanted == id);
        (id, wanted.map_or(units, |(_, units)| *units))
    });
    let new: Vec<_> = new.collect();
    let sum: u32 = new.iter().map(|(_, units)| units).sum();
    offer.throughput = match offer.throughput {
        Throughput::Manual(_) => Throughput::manual(i64::from(sum))?,
        Throughput::Autoscale {
            increment_percent, ..
        } => Throughput::autoscale(i64::from(sum), increment_percent)?,
    };
    offer.distribution.shares = new;
    Ok(())
}

/// The service limits how often buckets may change, so the last change must be old enough.
fn check_age(offer: &Offer, now_seconds: u64) -> Result<(), Failure> {
    let free = offer.distribution.buckets_set_seconds + limits::THROUGHPUT_BUCKETS_SECONDS_MIN;
    match free.checked_sub(now_seconds) {
        Some(left) if left > 0 => Err(Failure::BucketsChanging {
            retry_after_ms: left * 1_000,
        }),
        _ => Ok(()),
    }
}

fn no_offer() -> Failure {
    Failure::bad_request(
        "One of the specified inputs is invalid. The container has no throughput of its own to divide.",
    )
}
