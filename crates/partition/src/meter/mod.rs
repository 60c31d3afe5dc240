//! The throughput meter of a physical partition.
//!
//! A request is admitted while its partition has budget left, runs, and is then charged its actual
//! cost, which is unknown before. A cost that is known in advance, as for a write, is charged at
//! admission, so that many concurrent requests do not overdraw the budget by far. A meter whose
//! rate was never set skips all of this.
//!
//! The meter knows no offers and no databases: `engine` divides throughput and sets the rates.

mod budget;
mod hot_keys;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

use orrery_keys::PartitionKey;
use orrery_model::{Charge, Failure, PriorityLevel, limits};

use budget::Allowance;
pub use budget::ThroughputBudget;
pub use hot_keys::HotKey;
use hot_keys::HotKeys;

/// Number of first requests that are all counted by key. Later requests are sampled.
const UNSAMPLED: u64 = 256;
const SAMPLE: u64 = 16;
const BUCKETS: usize = limits::THROUGHPUT_BUCKETS_MAX as usize;

/// The properties of a request that matter for its admission.
#[derive(Debug, Clone, Copy)]
pub struct Reservation {
    /// Milliseconds of a monotonic clock.
    pub now_ms: u64,
    pub priority: PriorityLevel,
    /// A throughput bucket, from 1 to 5.
    pub bucket: Option<u8>,
}

/// The rates of a physical partition, in request units per second.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// `None` counts without a limit.
    pub units: Option<u32>,
    pub bursts: bool,
    /// A budget shared with other partitions, charged in addition to the partition's own rate.
    pub pool: Option<Arc<ThroughputBudget>>,
    /// Rates of the throughput buckets 1 to 5.
    pub buckets: [Option<u32>; BUCKETS],
    /// The bucket of requests that name no bucket.
    pub default_bucket: Option<u8>,
}

/// The consumption of a partition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeterReport {
    /// The rate limit; `None` without a limit.
    pub units: Option<u32>,
    pub requests: u64,
    pub throttled: u64,
    pub charged: Charge,
    /// Charge of the last full second.
    pub used: Charge,
}

#[derive(Debug, Default)]
pub struct Meter {
    budget: ThroughputBudget,
    pool: OnceLock<Arc<ThroughputBudget>>,
    buckets: OnceLock<Box<[ThroughputBudget; BUCKETS]>>,
    /// Zero without a default bucket.
    default_bucket: AtomicU8,
    requests: AtomicU64,
    throttled: AtomicU64,
    charged: AtomicU64,
    /// The value of `charged` at the start of the current second.
    charged_before: AtomicU64,
    used_last: AtomicU64,
    /// Whether low-priority requests have occurred. Until then high-priority demand is not counted.
    has_low: AtomicBool,
    high: AtomicU64,
    high_last: AtomicU64,
    hot_keys: Mutex<HotKeys>,
}

impl Meter {
    /// Sets the rates of the partition. A pool cannot be replaced or removed.
    pub fn set(&self, rates: &Rates, now_ms: u64) {
        self.budget.set(rates.units, rates.bursts, now_ms);
        if let Some(pool) = &rates.pool {
            self.pool.get_or_init(|| Arc::clone(pool));
        }
        if self.buckets.get().is_some() || rates.buckets.iter().any(Option::is_some) {
            let buckets = self.buckets.get_or_init(Box::default);
            for (bucket, units) in buckets.iter().zip(rates.buckets) {
                match units {
                    Some(units) => bucket.set(Some(units), false, now_ms),
                    None => bucket.stop(),
                }
            }
        }
        let default_bucket = rates.default_bucket.unwrap_or(0);
        self.default_bucket.store(default_bucket, Ordering::Relaxed);
    }

    /// Rejects a request that has to wait. `price` is the known minimum cost: it is charged now,
    /// and [`Meter::charge`] returns it.
    pub fn admit(&self, reservation: Reservation, price: Charge) -> Result<(), Failure> {
        if self.budget.is_off() {
            return Ok(());
        }
        let admitted = self.check_budget(reservation);
        if admitted.is_err() {
            self.throttled.fetch_add(1, Ordering::Relaxed);
            self.note_demand(reservation.priority);
        } else if price != Charge::ZERO {
            self.charge_and_refund(reservation, price, Charge::ZERO);
        }
        admitted
    }

    /// Charges the actual cost of a request, and returns the price that was charged at its
    /// admission.
    pub fn charge(
        &self,
        reservation: Reservation,
        charge: Charge,
        price: Charge,
        key: Option<&PartitionKey>,
    ) {
        if self.budget.is_off() {
            return;
        }
        self.charge_and_refund(reservation, charge, price);
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        self.charged
            .fetch_add(charge.hundredths(), Ordering::Relaxed);
        if let Some(weight) = sample(number) {
            match self.hot_keys.try_lock() {
                Ok(mut hot) => hot.add(key, charge.units() * weight, reservation.now_ms),
                Err(TryLockError::Poisoned(hot)) => {
                    hot.into_inner()
                        .add(key, charge.units() * weight, reservation.now_ms);
                }
                // Losing one sample is better than waiting for the lock.
                Err(TryLockError::WouldBlock) => {}
            }
        }
    }

    /// The rate limit of the partition; `None` without a limit.
    pub fn units(&self) -> Option<u32> {
        let pooled = || self.pool.get().and_then(|pool| pool.units());
        self.budget.units().or_else(pooled)
    }

    pub fn report(&self, now_ms: u64) -> MeterReport {
        let charged = self.charged.load(Ordering::Relaxed);
        let used = match self.budget.seconds_passed(now_ms) {
            0 => self.used_last.load(Ordering::Relaxed),
            1 => charged.saturating_sub(self.charged_before.load(Ordering::Relaxed)),
            _ => 0,
        };
        MeterReport {
            units: self.units(),
            requests: self.requests.load(Ordering::Relaxed),
            throttled: self.throttled.load(Ordering::Relaxed),
            charged: Charge::from_hundredths(charged),
            used: Charge::from_hundredths(used),
        }
    }

    /// The logical partitions with the highest recent consumption.
    pub fn hot_keys(&self, now_ms: u64) -> Vec<HotKey> {
        let hot = self.hot_keys.lock();
        hot.unwrap_or_else(std::sync::PoisonError::into_inner)
            .report(now_ms)
    }

    fn check_budget(&self, reservation: Reservation) -> Result<(), Failure> {
        let Reservation {
            now_ms, priority, ..
        } = reservation;
        let refused = |retry_after_ms| Failure::TooManyRequests { retry_after_ms };
        let bucket = self.bucket(reservation);
        if let Some(bucket) = bucket {
            let admitted = bucket.admit(now_ms);
            admitted.map_err(|retry_after_ms| Failure::BucketExceeded { retry_after_ms })?;
        }
        let allowance = match priority {
            PriorityLevel::High if bucket.is_none() => Allowance::Whole,
            PriorityLevel::High => Allowance::Rate,
            PriorityLevel::Low => {
                self.has_low.store(true, Ordering::Relaxed);
                Allowance::Rest(self.high_demand(now_ms))
            }
        };
        self.budget
            .admit_within(allowance, now_ms)
            .map_err(refused)?;
        match self.pool.get() {
            Some(pool) => pool.admit(now_ms).map_err(refused),
            None => Ok(()),
        }
    }

    fn charge_and_refund(&self, reservation: Reservation, charge: Charge, returned: Charge) {
        let Reservation {
            now_ms, priority, ..
        } = reservation;
        let ended = self.budget.charge_and_refund(charge, returned, now_ms);
        if ended > 0 {
            self.close_second(ended);
        }
        if let Some(pool) = self.pool.get() {
            pool.charge_and_refund(charge, returned, now_ms);
        }
        if let Some(bucket) = self.bucket(reservation) {
            bucket.charge_and_refund(charge, returned, now_ms);
        }
        if priority == PriorityLevel::High && self.has_low.load(Ordering::Relaxed) {
            let added = charge.hundredths().wrapping_sub(returned.hundredths());
            self.high.fetch_add(added, Ordering::Relaxed);
        }
    }

    /// Counts a rejected high-priority request as demand, with the average cost of a request.
    fn note_demand(&self, priority: PriorityLevel) {
        if priority == PriorityLevel::High && self.has_low.load(Ordering::Relaxed) {
            let requests = self.requests.load(Ordering::Relaxed).max(1);
            let mean = self.charged.load(Ordering::Relaxed) / requests;
            self.high.fetch_add(mean, Ordering::Relaxed);
        }
    }

    /// Closes the ended second. The first charge of a new second calls this.
    fn close_second(&self, ended: u64) {
        let charged = self.charged.load(Ordering::Relaxed);
        let before = self.charged_before.swap(charged, Ordering::Relaxed);
        let high = self.high.swap(0, Ordering::Relaxed);
        let last = |sum: u64| if ended == 1 { sum } else { 0 };
        let used = last(charged.saturating_sub(before));
        self.used_last.store(used, Ordering::Relaxed);
        // A price returned after the end of its second can make the sum negative.
        let high = last(high).cast_signed().max(0).cast_unsigned();
        self.high_last.store(high, Ordering::Relaxed);
    }

    /// The expected demand of high-priority requests: as much as in the previous second.
    fn high_demand(&self, now_ms: u64) -> u64 {
        match self.budget.seconds_passed(now_ms) {
            0 => {
                let still_to_come = self.high_last.load(Ordering::Relaxed).cast_signed()
                    - self.high.load(Ordering::Relaxed).cast_signed();
                still_to_come.max(0).cast_unsigned()
            }
            1 => self
                .high
                .load(Ordering::Relaxed)
                .cast_signed()
                .max(0)
                .cast_unsigned(),
            _ => 0,
        }
    }

    fn bucket(&self, reservation: Reservation) -> Option<&ThroughputBudget> {
        let buckets = self.buckets.get()?;
        let number = reservation.bucket.or_else(|| {
            let default = self.default_bucket.load(Ordering::Relaxed);
            (default > 0).then_some(default)
        })?;
        let bucket = buckets.get(usize::from(number).checked_sub(1)?)?;
        (!bucket.is_off()).then_some(bucket)
    }
}

/// The number of requests that the request with this number represents; `None` if it is not
/// sampled.
fn sample(number: u64) -> Option<f64> {
    if number < UNSAMPLED {
        return Some(1.0);
    }
    // A hash selects the samples, because a fixed stride could resonate with periodic clients.
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    mixed.is_multiple_of(SAMPLE).then_some(SAMPLE as f64)
}

#[cfg(test)]
mod tests;
