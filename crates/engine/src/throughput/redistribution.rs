//! Throughput moved between the physical partitions of a container, and its buckets.
//!
//! What is changed is the offer, so that it holds after a restart. While single partitions have
//! shares of their own the offer as a whole cannot be changed: nobody could say whose it would be.

use std::sync::Arc;

use orrery_model::{
    ContainerAddress, DistributionChange, Division, Failure, Offer, RangeId, Throughput, limits,
};

use super::division::shares;
use crate::{Engine, entries};

impl Engine {
    /// Divides the throughput of a container anew.
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
                Some(Division::Equal) => offer.distribution.shares.clear(),
                Some(Division::Shares(wanted)) => give(&mut offer, &ids, &wanted)?,
                None => {}
            }
            if let Some(buckets) = change.buckets {
                check_age(&offer, now_seconds)?;
                offer.distribution.buckets = buckets;
                offer.distribution.buckets_set_seconds = now_seconds;
            }
            offer.max_ever = offer.max_ever.max(offer.throughput.max());
            offer.etag = catalogue.next_change(now_seconds);
            offer.modified_seconds = now_seconds;
            changes.push(entries::put_offer(&offer));
            let offer = Arc::new(offer);
            catalogue.offers.insert(rid.id(), Arc::clone(&offer));
            Ok(offer)
        });
        let offer = changed.await?;
        self.throughput_changed(&offer);
        Ok(offer)
    }
}

/// Refuses another throughput for the whole while partitions have shares.
pub(crate) fn check_undivided(offer: &Offer, wanted: Throughput) -> Result<(), Failure> {
    if offer.distribution.shares.is_empty() || wanted == offer.throughput {
        return Ok(());
    }
    Err(Failure::bad_request(
        "One of the specified inputs is invalid. The throughput of single partitions was changed; set the \
         policy back to equal before the throughput of the container is changed.",
    ))
}

/// Gives partitions their shares; the container then has the sum.
fn give(offer: &mut Offer, ids: &[RangeId], wanted: &[(RangeId, u32)]) -> Result<(), Failure> {
    if let Some((id, _)) = wanted.iter().find(|(id, _)| !ids.contains(id)) {
        return Err(Failure::bad_request(format!(
            "One of the specified inputs is invalid. The container has no partition '{id}'."
        )));
    }
    let present = ids.iter().copied().zip(shares(offer, ids));
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
