//! Admits requests against the throughput budget, and charges them.
//!
//! A refused request has done nothing and costs nothing. The admission reads the clock once; the
//! charge uses the same time.

use std::sync::Arc;

use orrery_keys::PartitionKey;
use orrery_model::{Charge, ChargedResult, Failure};
use orrery_partition::{Container, Partition, Reservation};

use super::{Metering, ThroughputMode};
use crate::{Engine, FeedScope};

impl Engine {
    /// The reservation of a request; `None` if the request is unmetered.
    pub(crate) fn reservation(&self, metering: Metering) -> Option<Reservation> {
        let Metering::Metered { priority, bucket } = metering else {
            return None;
        };
        match self.throughput.options.mode {
            ThroughputMode::Off => None,
            ThroughputMode::Provisioned | ThroughputMode::Serverless => Some(Reservation {
                now_ms: self.clock.monotonic_ms(),
                priority,
                bucket,
            }),
        }
    }

    /// Reads a page of a scope if every partition of the scope has budget left, and charges the
    /// page to these partitions.
    pub(crate) fn metered_page<T>(
        &self,
        container: &Container,
        scope: &FeedScope,
        metering: Metering,
        read: impl FnOnce(&[Arc<Partition>]) -> ChargedResult<T>,
    ) -> ChargedResult<T> {
        let partitions = match Engine::partitions_of(container, scope) {
            Ok(partitions) => partitions,
            Err(failure) => return ChargedResult::refused(failure),
        };
        let reservation = self.reservation(metering);
        // Every partition is checked before the read, so that a refused page has done no work.
        for partition in &partitions {
            let readable = self.check_readable(container, partition);
            if let Err(failure) =
                readable.and_then(|()| admit(partition, reservation, Charge::ZERO))
            {
                return ChargedResult {
                    partition_lsn: Some(partition.partition_lsn()),
                    ..ChargedResult::refused(failure)
                };
            }
        }
        let answer = read(&partitions);
        let key = match scope {
            FeedScope::Key(key) => Some(key),
            FeedScope::Container
            | FeedScope::KeyPrefix(..)
            | FeedScope::Range(..)
            | FeedScope::Epk(_) => None,
        };
        charge_all(&partitions, reservation, answer.charge, key);
        answer
    }

    /// Admits a read of the catalogue against the account's metadata budget, and charges it.
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

/// Admits a request; `price` is its known minimum charge.
pub(crate) fn admit(
    partition: &Partition,
    reservation: Option<Reservation>,
    price: Charge,
) -> Result<(), Failure> {
    reservation.map_or(Ok(()), |reservation| {
        partition.meter().admit(reservation, price)
    })
}

/// Charges a request that was admitted at `price`.
pub(crate) fn charge(
    partition: &Partition,
    reservation: Option<Reservation>,
    charge: Charge,
    price: Charge,
    key: Option<&PartitionKey>,
) {
    if let Some(reservation) = reservation {
        partition.meter().charge(reservation, charge, price, key);
    }
}

/// Divides the charge of a page equally between the partitions of its scope.
fn charge_all(
    partitions: &[Arc<Partition>],
    reservation: Option<Reservation>,
    charge: Charge,
    key: Option<&PartitionKey>,
) {
    let Some(reservation) = reservation else {
        return;
    };
    let count = partitions.len().max(1) as u64;
    // The first partition also takes the remainder of the division, so that the parts add up
    // exactly.
    let (part, mut rest) = (charge.hundredths() / count, charge.hundredths() % count);
    for partition in partitions {
        let part = Charge::from_hundredths(part + std::mem::take(&mut rest));
        partition
            .meter()
            .charge(reservation, part, Charge::ZERO, key);
    }
}
