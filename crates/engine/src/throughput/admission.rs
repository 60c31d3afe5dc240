//! Letting requests in, and charging them.
//!
//! A refused request has done nothing and costs nothing. The time of the admission also counts for
//! the charge: one look at the clock for each request.

use std::sync::Arc;

use orrery_keys::PartitionKey;
use orrery_model::{Answer, Charge, Failure};
use orrery_partition::{Claim, Container, Partition};

use super::{Metering, ThroughputMode};
use crate::{Engine, Scope};

impl Engine {
    /// What a request asks to be admitted as; nothing if it is not metered.
    pub(crate) fn claim(&self, metering: Metering) -> Option<Claim> {
        let Metering::Metered { priority, bucket } = metering else {
            return None;
        };
        match self.throughput.options.mode {
            ThroughputMode::Off => None,
            ThroughputMode::Provisioned | ThroughputMode::Serverless => Some(Claim {
                now_ms: self.clock.monotonic_ms(),
                priority,
                bucket,
            }),
        }
    }

    /// Reads a page of a scope, if every partition it comes from has budget left, and charges it to
    /// them.
    pub(crate) fn metered_page<T>(
        &self,
        container: &Container,
        scope: &Scope,
        metering: Metering,
        read: impl FnOnce(&[Arc<Partition>]) -> Answer<T>,
    ) -> Answer<T> {
        let partitions = match Engine::partitions_of(container, scope) {
            Ok(partitions) => partitions,
            Err(failure) => return Answer::refused(failure),
        };
        let claim = self.claim(metering);
        for partition in &partitions {
            let readable = self.check_readable(container, partition);
            if let Err(failure) = readable.and_then(|()| admit(partition, claim, Charge::ZERO)) {
                return Answer {
                    stamp: Some(partition.stamp()),
                    ..Answer::refused(failure)
                };
            }
        }
        let answer = read(&partitions);
        let key = match scope {
            Scope::Key(key) => Some(key),
            Scope::Container | Scope::FirstLevels(..) | Scope::Range(..) | Scope::Epk(_) => None,
        };
        charge_all(&partitions, claim, answer.charge, key);
        answer
    }

    /// Lets a read of the catalogue in and charges it, against the budget of the account for these.
    pub fn admit_metadata(&self) -> Result<(), Failure> {
        if self.throughput.options.mode == ThroughputMode::Off {
            return Ok(());
        }
        let now_ms = self.clock.monotonic_ms();
        let budget = &self.throughput.metadata;
        budget
            .admit(now_ms)
            .map_err(|retry_after_ms| Failure::TooManyRequests { retry_after_ms })?;
        budget.charge(Charge::MIN, now_ms);
        Ok(())
    }
}

/// `price` is what the request will cost at least, where that is known.
pub(crate) fn admit(
    partition: &Partition,
    claim: Option<Claim>,
    price: Charge,
) -> Result<(), Failure> {
    claim.map_or(Ok(()), |claim| partition.meter().admit(claim, price))
}

/// Charges a request that was admitted at this price.
pub(crate) fn charge(
    partition: &Partition,
    claim: Option<Claim>,
    charge: Charge,
    price: Charge,
    key: Option<&PartitionKey>,
) {
    if let Some(claim) = claim {
        partition.meter().charge(claim, charge, price, key);
    }
}

/// Charges a page in equal parts to the partitions it came from.
fn charge_all(
    partitions: &[Arc<Partition>],
    claim: Option<Claim>,
    charge: Charge,
    key: Option<&PartitionKey>,
) {
    let Some(claim) = claim else {
        return;
    };
    let count = partitions.len().max(1) as u64;
    let (part, mut rest) = (charge.hundredths() / count, charge.hundredths() % count);
    for partition in partitions {
        let part = Charge::from_hundredths(part + std::mem::take(&mut rest));
        partition.meter().charge(claim, part, Charge::ZERO, key);
    }
}
