//! The server memory of one run: the heap of its engine, and copies of its values.
//!
//! Both are borrowed from the share of the run's client in pieces, so that a small value costs one
//! addition. An account whose share is used up does not stop the run by itself. It counts bytes
//! first, and the code that holds these bytes checks [`MemoryAccount::refusal`] before it
//! continues.

use std::cell::{Cell, RefCell};

use orrery_memory::{Loan, LoanError, MemoryShare};

/// Bytes of one loan, if the share has as many left.
const PIECE_BYTES: usize = 256 << 10;

/// Counts the memory of one run after another.
pub(crate) struct MemoryAccount {
    held: Cell<usize>,
    /// Bytes that the run may hold before the account borrows more.
    lent: Cell<usize>,
    /// `None` before a run has opened the account; the account then counts bytes and borrows none.
    loan: RefCell<Option<Loan>>,
    refusal: Cell<Option<LoanError>>,
}

impl MemoryAccount {
    /// Creates an account that refuses nothing until it is opened.
    pub(crate) fn new() -> MemoryAccount {
        MemoryAccount {
            held: Cell::default(),
            lent: Cell::new(usize::MAX),
            loan: RefCell::default(),
            refusal: Cell::default(),
        }
    }

    /// Borrows from `share` the bytes that the engine already holds, and from now on all bytes of
    /// the run.
    pub(crate) fn open(&self, share: &MemoryShare) -> Result<(), LoanError> {
        let loan = share.borrow(self.held.get())?;
        self.lent.set(loan.bytes());
        self.loan.replace(Some(loan));
        self.refusal.set(None);
        Ok(())
    }

    /// Returns all borrowed bytes. The account then counts only the bytes of `heap` and borrows
    /// none.
    pub(crate) fn close(&self, heap: usize) {
        self.held.set(heap);
        self.lent.set(usize::MAX);
        self.loan.take();
        self.refusal.set(None);
    }

    /// Counts bytes that the run holds from now on; returns false if the account could not borrow
    /// them.
    pub(crate) fn hold(&self, bytes: usize) -> bool {
        let held = self.held.get().saturating_add(bytes);
        self.held.set(held);
        held <= self.lent.get() || self.borrow(held)
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes));
    }

    /// The share's refusal, if the share has refused bytes.
    pub(crate) fn refusal(&self) -> Option<LoanError> {
        self.refusal.get()
    }

    #[cold]
    fn borrow(&self, held: usize) -> bool {
        let mut loan = self.loan.borrow_mut();
        // After a refusal the run must end, so the account does not try again.
        let (Some(loan), None) = (loan.as_mut(), self.refusal.get()) else {
            return false;
        };
        let wanted = held - self.lent.get();
        let grown = loan
            .grow(wanted.max(PIECE_BYTES))
            .or_else(|_| loan.grow(wanted));
        self.lent.set(loan.bytes());
        self.refusal.set(grown.err());
        grown.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use orrery_memory::MemoryPool;

    use super::*;

    #[test]
    fn pieces_are_borrowed_and_all_given_back() {
        let pool = MemoryPool::new(4 << 20);
        let account = MemoryAccount::new();
        assert!(account.hold(1000) && pool.used() == 0);
        account.open(&pool.share()).unwrap();
        assert_eq!(pool.used(), 1000);
        assert!(account.hold(1));
        assert_eq!(pool.used(), 1000 + PIECE_BYTES);
        assert!((0..100).all(|_| account.hold(1000)));
        assert_eq!(pool.used(), 1000 + PIECE_BYTES);
        assert!(account.hold(1 << 20) && account.refusal().is_none());
        // One client gets at most half of the pool, so the share refuses these bytes.
        assert!(!account.hold(1 << 20) && account.refusal().is_some());
        account.release(1 << 20);
        assert!(!account.hold(1 << 20), "the run is over");
        account.close(7);
        assert_eq!((pool.used(), account.refusal()), (0, None));
        account.open(&pool.share()).unwrap();
        assert_eq!(pool.used(), 7);
    }
}
