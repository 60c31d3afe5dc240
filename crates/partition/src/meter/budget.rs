//! A throughput budget for each second, in one atomic word.
//!
//! The word has the start of the current second and the hundredths of a request unit used in it.
//! Admission loads and compares the word. A charge is known only after the work, and costs one
//! compare-and-swap. So a second may be overdrawn, and the excess is taken from the following
//! seconds, which keeps the average rate. A second begins with the first request after a pause and
//! not with the clock: a flood after a pause gets one budget at first. A request late in a running
//! second gets the rest of that second, and soon the next one.
//!
//! With burst capacity, the unused part of a second is saved in a bank, and an overdrawn second
//! draws on the bank first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use orrery_model::{Charge, limits};

const SECOND_MS: u64 = 1_000;
/// Rate of a budget that does not meter.
const OFF: u64 = 0;
const UNLIMITED: u64 = u64::MAX;
const HUNDREDTHS: u64 = 100;
const BURST_MAX: u64 = limits::BURST_RUS_MAX as u64 * HUNDREDTHS;

/// Request units per second, with debts and savings.
#[derive(Debug, Default)]
pub struct ThroughputBudget {
    /// Hundredths of a request unit per second.
    rate: AtomicU64,
    second: AtomicU64,
    bursts: AtomicBool,
    /// Saved hundredths of a request unit.
    bank: AtomicU64,
}

/// The part of a budget that a caller may use.
#[derive(Debug, Clone, Copy)]
pub(super) enum Allowance {
    /// The rate and the savings.
    Whole,
    /// The rate without the savings.
    Rate,
    /// The rate minus this number of hundredths, which is reserved for other callers.
    Rest(u64),
}

impl ThroughputBudget {
    pub fn new(units: u32, now_ms: u64) -> ThroughputBudget {
        let budget = ThroughputBudget::default();
        budget.set(Some(units), false, now_ms);
        budget
    }

    /// Sets the request units per second. `None` counts without a limit. Debts stay.
    pub fn set(&self, units: Option<u32>, bursts: bool, now_ms: u64) {
        let rate = units.map_or(UNLIMITED, |units| u64::from(units.max(1)) * HUNDREDTHS);
        let bursts = bursts && rate < BURST_MAX;
        // A budget that was off has no valid second, so a new one starts.
        if self.rate.swap(rate, Ordering::Relaxed) == OFF {
            let fresh = Second {
                began_ms: now_ms & TIME_MASK,
                used: 0,
            };
            self.second.store(fresh.pack(), Ordering::Relaxed);
        }
        if !bursts {
            self.bank.store(0, Ordering::Relaxed);
        }
        self.bursts.store(bursts, Ordering::Relaxed);
    }

    pub(super) fn stop(&self) {
        self.rate.store(OFF, Ordering::Relaxed);
    }

    pub(super) fn is_off(&self) -> bool {
        self.rate.load(Ordering::Relaxed) == OFF
    }

    /// The limit in request units per second, if there is one.
    pub fn units(&self) -> Option<u32> {
        match self.rate.load(Ordering::Relaxed) {
            OFF | UNLIMITED => None,
            rate => u32::try_from(rate / HUNDREDTHS).ok(),
        }
    }

    /// Whether budget is left; otherwise the milliseconds until there is.
    pub fn admit(&self, now_ms: u64) -> Result<(), u64> {
        self.admit_within(Allowance::Whole, now_ms)
    }

    pub(super) fn admit_within(&self, allowance: Allowance, now_ms: u64) -> Result<(), u64> {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == OFF || rate == UNLIMITED {
            return Ok(());
        }
        let second = Second::unpack(self.second.load(Ordering::Relaxed));
        let (mut second, mut bank) = second.at(now_ms, rate, self.bank()).now();
        let bursts = self.bursts.load(Ordering::Relaxed);
        let limit = |bank: u64| match allowance {
            Allowance::Whole if bursts => BURST_MAX.min(rate.saturating_add(bank)),
            Allowance::Whole | Allowance::Rate => rate,
            Allowance::Rest(kept) => rate.saturating_sub(kept),
        };
        if second.used < limit(bank) {
            return Ok(());
        }
        let mut wait_ms = second.left_ms(now_ms);
        (second, bank) = second.after_seconds(1, rate, bank);
        // Other callers may use up the whole share of this one. A limit of at least one makes the
        // caller retry in the first second without debts.
        let limit = limit(bank).max(1);
        if second.used >= limit {
            wait_ms += SECOND_MS * ((second.used - limit) / rate + 1);
        }
        Err(wait_ms.max(1))
    }

    pub fn charge(&self, charge: Charge, now_ms: u64) {
        self.charge_and_refund(charge, Charge::ZERO, now_ms);
    }

    /// Charges `charge` and returns the earlier charge `returned`. Returns the number of seconds
    /// that ended.
    pub(super) fn charge_and_refund(&self, charge: Charge, returned: Charge, now_ms: u64) -> u64 {
        let rate = self.rate.load(Ordering::Relaxed);
        if rate == OFF {
            return 0;
        }
        let mut word = self.second.load(Ordering::Relaxed);
        loop {
            let turned = Second::unpack(word).at(now_ms, rate, self.bank());
            let (mut second, bank) = turned.now();
            second.used = second.used.saturating_sub(returned.hundredths());
            second.used = second.used.saturating_add(charge.hundredths());
            let swapped = self.second.compare_exchange_weak(
                word,
                second.pack(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swapped {
                Ok(_) => {
                    // Only the thread whose swap ended the second updates the bank.
                    if turned.ended > 0 && self.bursts.load(Ordering::Relaxed) {
                        self.bank.store(bank, Ordering::Relaxed);
                    }
                    return turned.ended;
                }
                Err(other) => word = other,
            }
        }
    }

    /// Number of whole seconds since the start of the current second in the word.
    pub(super) fn seconds_passed(&self, now_ms: u64) -> u64 {
        Second::unpack(self.second.load(Ordering::Relaxed)).passed_ms(now_ms) / SECOND_MS
    }

    fn bank(&self) -> Option<u64> {
        let bursts = self.bursts.load(Ordering::Relaxed);
        bursts.then(|| self.bank.load(Ordering::Relaxed))
    }
}

/// The word: 36 bits of milliseconds (two years), and 28 bits of hundredths (2.6 million request
/// units). Debts beyond that are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Second {
    began_ms: u64,
    used: u64,
}

/// The current second, after all seconds that ended since the word was written.
struct RolledWindow {
    second: Second,
    bank: u64,
    ended: u64,
}

const USED_BITS: u32 = 28;
const USED_MAX: u64 = (1 << USED_BITS) - 1;
const TIME_MASK: u64 = u64::MAX >> USED_BITS;

impl RolledWindow {
    fn now(&self) -> (Second, u64) {
        (self.second, self.bank)
    }
}

impl Second {
    fn pack(self) -> u64 {
        self.began_ms << USED_BITS | self.used.min(USED_MAX)
    }

    fn unpack(word: u64) -> Second {
        Second {
            began_ms: word >> USED_BITS,
            used: word & USED_MAX,
        }
    }

    /// Zero if another thread has already used a later time.
    fn passed_ms(self, now_ms: u64) -> u64 {
        let passed = now_ms.wrapping_sub(self.began_ms) & TIME_MASK;
        if passed > TIME_MASK / 2 { 0 } else { passed }
    }

    fn left_ms(self, now_ms: u64) -> u64 {
        SECOND_MS.saturating_sub(self.passed_ms(now_ms))
    }

    fn at(self, now_ms: u64, rate: u64, bank: Option<u64>) -> RolledWindow {
        let ended = self.passed_ms(now_ms) / SECOND_MS;
        let (mut second, saved) = match (ended, bank) {
            (0, bank) => (self, bank.unwrap_or(0)),
            (_, None) => (self.after_seconds(ended, rate, 0).0, 0),
            (_, Some(bank)) => self.after_seconds(ended, rate, bank),
        };
        if ended > 0 {
            // After a pause without debts the second begins with this request.
            second.began_ms = if ended > 1 && second.used == 0 {
                now_ms & TIME_MASK
            } else {
                (self.began_ms + ended * SECOND_MS) & TIME_MASK
            };
        }
        RolledWindow {
            second,
            bank: saved,
            ended,
        }
    }

    /// The debt and the savings after the budgets of `seconds` seconds.
    fn after_seconds(self, seconds: u64, rate: u64, bank: u64) -> (Second, u64) {
        let given = rate.saturating_mul(seconds);
        let owed = self.used.saturating_sub(given);
        let saved = given.saturating_sub(self.used);
        let from_bank = owed.min(bank);
        let capacity = rate.saturating_mul(limits::BURST_SECONDS_MAX);
        let bank = (bank - from_bank).saturating_add(saved).min(capacity);
        let second = Second {
            used: owed - from_bank,
            ..self
        };
        (second, bank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: u64) -> Charge {
        Charge::from_hundredths(units * HUNDREDTHS)
    }

    #[test]
    fn a_second_gives_its_rate_and_says_when_the_next_begins() {
        let budget = ThroughputBudget::new(400, 5_000);
        for _ in 0..40 {
            assert_eq!(budget.admit(5_100), Ok(()));
            budget.charge(units(10), 5_100);
        }
        assert_eq!(budget.admit(5_100), Err(900));
        assert_eq!(budget.admit(5_999), Err(1));
        assert_eq!(budget.admit(6_000), Ok(()));
    }

    #[test]
    fn debts_are_paid_by_the_seconds_that_follow() {
        let budget = ThroughputBudget::new(400, 0);
        budget.charge(units(1_300), 0);
        // 1,300 units are the budgets of three seconds and 100 units of the fourth.
        for (now_ms, expected) in [
            (0, Err(3_000)),
            (2_400, Err(600)),
            (2_999, Err(1)),
            (3_000, Ok(())),
        ] {
            assert_eq!(budget.admit(now_ms), expected, "{now_ms}");
        }
        budget.charge(units(300), 3_000);
        assert_eq!(budget.admit(3_000), Err(1_000));
    }

    #[test]
    fn seconds_begin_with_the_first_use_after_a_pause() {
        let budget = ThroughputBudget::new(400, 0);
        budget.charge(units(400), 7_900);
        assert_eq!(budget.admit(8_100), Err(800));
    }

    #[test]
    fn any_load_is_held_to_the_rate_for_ten_seconds() {
        for (rate, charge, step_ms) in [(400, 7, 1), (400, 1, 1), (1_000, 50, 3), (10_000, 11, 1)] {
            let budget = ThroughputBudget::new(rate, 123);
            let mut admitted = 0;
            for now_ms in (123..10_123).step_by(step_ms) {
                while budget.admit(now_ms).is_ok() {
                    budget.charge(units(charge), now_ms);
                    admitted += charge;
                }
            }
            let expected = u64::from(rate) * 10;
            let off = admitted.abs_diff(expected) as f64 / expected as f64;
            assert!(off <= 0.05, "{rate} {charge}: {admitted} of {expected}");
        }
    }

    #[test]
    fn savings_are_spent_at_three_thousand_a_second() {
        let budget = ThroughputBudget::default();
        budget.set(Some(100), true, 0);
        // Five minutes at 100 save 30,000; at 3,000 a second they last ten seconds.
        let begin = 400_000;
        let mut admitted = Vec::new();
        for second in 0..14 {
            let mut sum = 0;
            for now_ms in (begin + second * 1_000..begin + (second + 1) * 1_000).step_by(10) {
                while budget.admit(now_ms).is_ok() {
                    budget.charge(units(10), now_ms);
                    sum += 10;
                }
            }
            admitted.push(sum);
        }
        assert_eq!(admitted[..10], [3_000; 10]);
        // The ten seconds added 100 each from their own budgets.
        assert_eq!(admitted[10..], [1_100, 100, 100, 100]);
    }

    #[test]
    fn no_savings_where_they_are_off_or_the_rate_is_high() {
        for (rate, bursts) in [(100, false), (3_000, true)] {
            let budget = ThroughputBudget::default();
            budget.set(Some(rate), bursts, 0);
            budget.charge(units(u64::from(rate)), 400_000);
            assert_eq!(budget.admit(400_000), Err(1_000), "{rate}");
        }
    }

    #[test]
    fn a_clock_that_goes_back_or_wraps_does_not_lock() {
        let budget = ThroughputBudget::new(400, TIME_MASK - 100);
        budget.charge(units(400), TIME_MASK - 100);
        assert_eq!(budget.admit(TIME_MASK - 200), Err(1_000));
        assert_eq!(budget.admit(TIME_MASK + 900), Ok(()));
    }

    #[test]
    fn what_is_given_back_can_be_used() {
        let budget = ThroughputBudget::new(400, 0);
        budget.charge(units(400), 0);
        budget.charge_and_refund(units(1), units(5), 0);
        assert_eq!(budget.admit(0), Ok(()));
    }

    #[test]
    fn off_and_unlimited_refuse_nothing() {
        let budget = ThroughputBudget::default();
        assert!(budget.is_off());
        budget.charge(units(1_000_000), 0);
        assert_eq!((budget.admit(0), budget.units()), (Ok(()), None));
        budget.set(None, false, 0);
        budget.charge(units(1_000_000), 0);
        assert_eq!((budget.admit(0), budget.units()), (Ok(()), None));
    }
}
