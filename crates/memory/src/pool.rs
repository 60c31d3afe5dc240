//! The pool of bytes from which all clients borrow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::{LoanError, MemoryShare};

/// Clones are handles to the same pool.
#[derive(Debug, Clone)]
pub struct MemoryPool(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
    refusals: AtomicU64,
}

impl MemoryPool {
    pub fn new(limit_bytes: usize) -> MemoryPool {
        MemoryPool(Arc::new(Counts {
            limit: limit_bytes,
            used: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            refusals: AtomicU64::new(0),
        }))
    }

    /// A pool that refuses no loan, for programs that use the engine as a library. A quarter of
    /// `usize::MAX` leaves room for the sums in `MemoryPool::lend`.
    pub fn unlimited() -> MemoryPool {
        MemoryPool::new(usize::MAX / 4)
    }

    /// Creates a share for a new client.
    pub fn share(&self) -> MemoryShare {
        MemoryShare::new(self.clone())
    }

    pub fn limit(&self) -> usize {
        self.0.limit
    }

    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The maximum of [`MemoryPool::used`] since the start.
    pub fn peak(&self) -> usize {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// The number of refused loans.
    pub fn refusals(&self) -> u64 {
        self.0.refusals.load(Ordering::Relaxed)
    }

    /// Lends `wanted` bytes to a client that will then hold `held` bytes.
    ///
    /// The bytes are added first and subtracted again on refusal, so that two concurrent loans
    /// cannot exceed the limit together. The price: of two concurrent loans that just fit, one may
    /// be refused.
    pub(crate) fn lend(&self, wanted: usize, held: usize) -> Result<(), LoanError> {
        let limit = self.0.limit;
        let before = self.0.used.fetch_add(wanted, Ordering::Relaxed);
        let used = before.saturating_add(wanted);
        if held <= limit.saturating_sub(used) {
            // A plain read suffices for most loans; only a new peak writes to the shared cache
            // line.
            if used > self.0.peak.load(Ordering::Relaxed) {
                self.0.peak.fetch_max(used, Ordering::Relaxed);
            }
            return Ok(());
        }
        self.0.used.fetch_sub(wanted, Ordering::Relaxed);
        self.0.refusals.fetch_add(1, Ordering::Relaxed);
        let free = limit.saturating_sub(before);
        let held_before = held - wanted;
        Err(if wanted > limit / 2 {
            LoanError::TooLarge { wanted, limit }
        } else if held_before > free / 2 {
            LoanError::ShareExceeded {
                held: held_before,
                free,
            }
        } else {
            LoanError::PoolExceeded { wanted, free }
        })
    }

    pub(crate) fn take_back(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_clients_share_evenly_and_leave_room_for_the_next() {
        for clients in 1..8 {
            let pool = MemoryPool::new(1_000_000);
            let shares: Vec<_> = (0..clients).map(|_| pool.share()).collect();
            let mut loans: Vec<_> = shares.iter().map(MemoryShare::loan).collect();
            let mut is_growing = true;
            while is_growing {
                is_growing = false;
                for loan in &mut loans {
                    is_growing |= loan.grow(1_000).is_ok();
                }
            }
            let part = 1_000_000 / (clients + 1);
            for loan in &loans {
                assert!(loan.bytes().abs_diff(part) <= 1_000 * clients);
            }
            assert!(pool.share().borrow(part / 3).is_ok(), "{clients} clients");
        }
    }

    #[test]
    fn a_refusal_says_who_can_do_something_about_it() {
        let pool = MemoryPool::new(1_000);
        let (a, b) = (pool.share(), pool.share());
        let refused = a.borrow(600).expect_err("more than half");
        assert_eq!(
            refused,
            LoanError::TooLarge {
                wanted: 600,
                limit: 1_000
            }
        );
        let first = a.borrow(450).expect("less than half");
        let refused = a.borrow(100).expect_err("more than what is free");
        assert_eq!(
            refused,
            LoanError::ShareExceeded {
                held: 450,
                free: 550
            }
        );
        let refused = b.borrow(400).expect_err("more than half of what is free");
        assert_eq!(
            refused,
            LoanError::PoolExceeded {
                wanted: 400,
                free: 550
            }
        );
        drop(first);
        assert!(b.borrow(400).is_ok());
        assert_eq!((pool.used(), pool.peak(), pool.refusals()), (0, 450, 3));
    }

    #[test]
    fn threads_that_borrow_and_give_back_leave_nothing_behind() {
        let pool = MemoryPool::new(100_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let pool = pool.clone();
                scope.spawn(move || {
                    let share = pool.share();
                    for round in 0..10_000 {
                        let mut loan = share.loan();
                        let _ = loan.grow(round);
                        let _ = loan.grow(7);
                        loan.shrink(3);
                        assert!(pool.used() <= pool.limit() + 4 * 10_000);
                    }
                });
            }
        });
        assert_eq!(pool.used(), 0);
        assert!(pool.peak() <= pool.limit());
    }
}
