//! What a physical partition may use and has used.
//!
//! A request is admitted while its partition has budget left, runs, and is then charged what it
//! really cost: nobody can know that before. Whatever has a price in advance, as a write has, is
//! charged that price at its admission, so that a crowd that is admitted at once does not overdraw
//! by far. A meter that was never given a rate does nothing at all.
//!
//! Knows no offers and no databases: `engine` divides throughput and sets the rates.

mod budget;
mod hot_keys;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

use orrery_keys::PartitionKey;
use orrery_model::{Charge, Failure, PriorityLevel, limits};

use budget::Allowance;
pub use budget::Budget;
pub use hot_keys::HotKey;
use hot_keys::HotKeys;

/// The first requests of a partition are all looked at for their keys, later ones by sample.
const UNSAMPLED: u64 = 256;
const SAMPLE: u64 = 16;
const BUCKETS: usize = limits::THROUGHPUT_BUCKETS_MAX as usize;

/// What a request asks to be admitted as.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// Of a clock that only goes forward.
    pub now_ms: u64,
    pub priority: PriorityLevel,
    /// A throughput bucket, from 1 to 5.
    pub bucket: Option<u8>,
}

/// The rates of a physical partition, in request units a second.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// None limits nothing, but counts.
    pub units: Option<u32>,
    pub bursts: bool,
    /// Shared with other partitions, and taken from beside the own rate.
    pub pool: Option<Arc<Budget>>,
    /// Rates of the throughput buckets 1 to 5.
    pub buckets: [Option<u32>; BUCKETS],
    /// The bucket of requests that name none.
    pub default_bucket: Option<u8>,
}

/// What a partition used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeterReport {
    /// What it may use; none where that is not limited.
    pub units: Option<u32>,
    pub requests: u64,
    pub throttled: u64,
    pub charged: Charge,
    /// Of the last full second.
    pub used: Charge,
}

#[derive(Debug, Default)]
pub struct Meter {
    budget: Budget,
    pool: OnceLock<Arc<Budget>>,
    buckets: OnceLock<Box<[Budget; BUCKETS]>>,
    /// Zero for none.
    default_bucket: AtomicU8,
    requests: AtomicU64,
    throttled: AtomicU64,
    charged: AtomicU64,
    /// `charged` when the running second began.
    charged_before: AtomicU64,
    used_last: AtomicU64,
    /// Whether anybody asks for low priority; until then nobody counts high ones.
    has_low: AtomicBool,
    high: AtomicU64,
    high_last: AtomicU64,
    hot_keys: Mutex<HotKeys>,
}

impl Meter {
    /// Gives the partition its rates. A pool, once given, stays.
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

    /// Refuses a request that has to wait. `price` is what it will cost at least, if that is known:
    /// it is charged now, and given back by [`Meter::charge`].
    pub fn admit(&self, claim: Claim, price: Charge) -> Result<(), Failure> {
        if self.budget.is_off() {
            return Ok(());
        }
        let admitted = self.look(claim);
        if admitted.is_err() {
            self.throttled.fetch_add(1, Ordering::Relaxed);
            self.note_demand(claim.priority);
        } else if price != Charge::ZERO {
            self.exchange(claim, price, Charge::ZERO);
        }
        admitted
    }

    /// Charges what a request cost that was admitted at this price.
    pub fn charge(&self, claim: Claim, charge: Charge, price: Charge, key: Option<&PartitionKey>) {
        if self.budget.is_off() {
            return;
        }
        self.exchange(claim, charge, price);
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        self.charged
            .fetch_add(charge.hundredths(), Ordering::Relaxed);
        if let Some(weight) = sample(number) {
            match self.hot_keys.try_lock() {
                Ok(mut hot) => hot.add(key, charge.units() * weight, claim.now_ms),
                Err(TryLockError::Poisoned(hot)) => {
                    hot.into_inner()
                        .add(key, charge.units() * weight, claim.now_ms);
                }
                // A sample more or less.
                Err(TryLockError::WouldBlock) => {}
            }
        }
    }

    /// What the partition may use, if that is limited.
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

    /// The logical partitions that used most of late.
    pub fn hot_keys(&self, now_ms: u64) -> Vec<HotKey> {
        let hot = self.hot_keys.lock();
        hot.unwrap_or_else(std::sync::PoisonError::into_inner)
            .report(now_ms)
    }

    fn look(&self, claim: Claim) -> Result<(), Failure> {
        let Claim {
            now_ms, priority, ..
        } = claim;
        let refused = |retry_after_ms| Failure::TooManyRequests { retry_after_ms };
        let bucket = self.bucket(claim);
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

    fn exchange(&self, claim: Claim, charge: Charge, returned: Charge) {
        let Claim {
            now_ms, priority, ..
        } = claim;
        let ended = self.budget.exchange(charge, returned, now_ms);
        if ended > 0 {
            self.turn(ended);
        }
        if let Some(pool) = self.pool.get() {
            pool.exchange(charge, returned, now_ms);
        }
        if let Some(bucket) = self.bucket(claim) {
            bucket.exchange(charge, returned, now_ms);
        }
        if priority == PriorityLevel::High && self.has_low.load(Ordering::Relaxed) {
            let added = charge.hundredths().wrapping_sub(returned.hundredths());
            self.high.fetch_add(added, Ordering::Relaxed);
        }
    }

    /// What was refused would have been used: as much as a request costs on average.
    fn note_demand(&self, priority: PriorityLevel) {
        if priority == PriorityLevel::High && self.has_low.load(Ordering::Relaxed) {
            let requests = self.requests.load(Ordering::Relaxed).max(1);
            let mean = self.charged.load(Ordering::Relaxed) / requests;
            self.high.fetch_add(mean, Ordering::Relaxed);
        }
    }

    /// Whoever charges first in a new second closes the one before.
    fn turn(&self, ended: u64) {
        let charged = self.charged.load(Ordering::Relaxed);
        let before = self.charged_before.swap(charged, Ordering::Relaxed);
        let high = self.high.swap(0, Ordering::Relaxed);
        let last = |sum: u64| if ended == 1 { sum } else { 0 };
        let used = last(charged.saturating_sub(before));
        self.used_last.store(used, Ordering::Relaxed);
        // A price given back after its second had ended makes a small negative number.
        let high = last(high).cast_signed().max(0).cast_unsigned();
        self.high_last.store(high, Ordering::Relaxed);
    }

    /// What requests of high priority are going to need: as much as in the second before.
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

    fn bucket(&self, claim: Claim) -> Option<&Budget> {
        let buckets = self.buckets.get()?;
        let number = claim.bucket.or_else(|| {
            let default = self.default_bucket.load(Ordering::Relaxed);
            (default > 0).then_some(default)
        })?;
        let bucket = buckets.get(usize::from(number).checked_sub(1)?)?;
        (!bucket.is_off()).then_some(bucket)
    }
}

/// How much the request with this number stands for, if it is in the sample.
fn sample(number: u64) -> Option<f64> {
    if number < UNSAMPLED {
        return Some(1.0);
    }
    // Not every sixteenth: clients have rhythms.
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    mixed.is_multiple_of(SAMPLE).then_some(SAMPLE as f64)
}

#[cfg(test)]
mod tests;
