//! What one run holds of the server's memory: the heap of its engine, and copies of its values.
//!
//! Both are borrowed from the share of the client that the run is for, a piece at a time, so that small
//! values cost an addition. An account whose share has nothing left does not stop the run by itself:
//! the account counts bytes first, and the code that holds those bytes asks [`Account::refusal`]
//! whether the run may go on.

use std::cell::{Cell, RefCell};

use orrery_memory::{Exhausted, Loan, Share};

/// Bytes that the account borrows at one time, if the share has as many left.
const PIECE_BYTES: usize = 256 << 10;

pub(crate) struct Account {
    held: Cell<usize>,
    /// Bytes that the run may hold before the account must borrow more.
    lent: Cell<usize>,
    /// `None` while no run has opened the account, which then counts bytes and borrows none.
    loan: RefCell<Option<Loan>>,
    refusal: Cell<Option<Exhausted>>,
}

impl Account {
    /// An account that refuses nothing until it is opened.
    pub(crate) fn new() -> Account {
        Account {
            held: Cell::default(),
            lent: Cell::new(usize::MAX),
            loan: RefCell::default(),
            refusal: Cell::default(),
        }
    }

    /// Borrows from `share` the bytes that the engine holds already, and from here on all bytes
    /// that the run holds.
    pub(crate) fn open(&self, share: &Share) -> Result<(), Exhausted> {
        let loan = share.borrow(self.held.get())?;
        self.lent.set(loan.bytes());
        self.loan.replace(Some(loan));
        self.refusal.set(None);
        Ok(())
    }

    /// Gives everything back. From here on the account counts only the bytes of `heap`, and borrows
    /// none.
    pub(crate) fn close(&self, heap: usize) {
        self.held.set(heap);
        self.lent.set(usize::MAX);
        self.loan.take();
        self.refusal.set(None);
    }

    /// Counts bytes that the run holds from now on; false if the account could not borrow them.
    pub(crate) fn hold(&self, bytes: usize) -> bool {
        let held = self.held.get().saturating_add(bytes);
        self.held.set(held);
        held <= self.lent.get() || self.borrow(held)
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.held.set(self.held.get().saturating_sub(bytes));
    }

    /// Why the share refused bytes to this run, if the share did so.
    pub(crate) fn refusal(&self) -> Option<Exhausted> {
        self.refusal.get()
    }

    #[cold]
    fn borrow(&self, held: usize) -> bool {
        let mut loan = self.loan.borrow_mut();
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
        let account = Account::new();
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
