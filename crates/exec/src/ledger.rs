//! The memory ledger of an evaluation, counted as allocated bytes.
//!
//! Everything that grows with the data or the query is added to the ledger before it is kept, and
//! subtracted when it is released: rows and their sort keys, groups, values under construction,
//! function arguments. The ledger borrows from the share of the requesting client in pieces much
//! larger than most values. It also refuses what exceeds the limit of a single query.
//!
//! ```text
//!   a value is kept -> held: 24,712 bytes -> within the lent bytes: nothing to borrow
//!                                         -> beyond: borrows from the client's share
//! ```
//!
//! While one expression hands a value to another, both may count it or neither may: at any time the
//! ledger can miss one value of an evaluation.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use orrery_memory::{Loan, MemoryShare};

use crate::ExecError;

/// Bytes of one loan; most pages need one.
const PIECE_BYTES: usize = 64 << 10;
/// Unused bytes that stay borrowed when the ledger returns memory, so that a loop does not borrow
/// in every round.
const SPARE_BYTES: usize = 1 << 20;

/// Counts the memory of one evaluation.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Borrowed from the client's share; `None` for an evaluation without a client, which borrows
    /// nothing.
    loan: RefCell<Option<Loan>>,
    lent: Cell<usize>,
    held: Cell<usize>,
    held_max: usize,
}

impl Ledger {
    pub(crate) fn new(held_max: usize) -> Ledger {
        Ledger {
            loan: RefCell::new(None),
            lent: Cell::new(usize::MAX),
            held: Cell::new(0),
            held_max,
        }
    }

    /// Makes the ledger borrow all bytes from `share`. The ledger must be empty.
    pub(crate) fn borrow_through(&self, share: &MemoryShare) {
        *self.loan.borrow_mut() = Some(share.loan());
        self.lent.set(0);
    }

    /// Counts bytes before the caller allocates them.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), ExecError> {
        let held = self.held.get().saturating_add(bytes);
        // The limit of a single query is checked before the share, so that one query cannot drain a
        // large share.
        if held > self.held_max {
            return Err(ExecError::TooMuchMemory {
                limit: self.held_max,
            });
        }
        let lent = self.lent.get();
        if held > lent {
            self.grow(held - lent)?;
        }
        self.held.set(held);
        Ok(())
    }

    /// Borrows from the share: a whole piece if possible, otherwise exactly the missing bytes.
    fn grow(&self, wanted: usize) -> Result<(), ExecError> {
        let mut loan = self.loan.borrow_mut();
        let Some(loan) = &mut *loan else {
            return Ok(());
        };
        // The rest of a share can be smaller than a piece, so the exact size is tried next.
        loan.grow(wanted.max(PIECE_BYTES))
            .or_else(|_| loan.grow(wanted))
            .map_err(ExecError::Exhausted)?;
        self.lent.set(loan.bytes());
        Ok(())
    }

    /// Subtracts released bytes, and returns spare pieces to the share.
    pub(crate) fn give_back(&self, bytes: usize) {
        let held = self.held.get().saturating_sub(bytes);
        self.held.set(held);
        let lent = self.lent.get();
        let spare = lent.saturating_sub(held);
        // The threshold is twice the remainder, so that a value near it is not lent and returned in
        // turns.
        if spare > 2 * SPARE_BYTES
            && lent != usize::MAX
            && let Some(loan) = &mut *self.loan.borrow_mut()
        {
            loan.shrink(spare - SPARE_BYTES);
            self.lent.set(loan.bytes());
        }
    }
}

/// Bytes that the ledger counts until this lease is dropped.
#[derive(Debug)]
pub(crate) struct MemoryLease {
    ledger: Rc<Ledger>,
    bytes: usize,
}

impl MemoryLease {
    pub(crate) fn nothing(ledger: &Rc<Ledger>) -> MemoryLease {
        MemoryLease {
            ledger: Rc::clone(ledger),
            bytes: 0,
        }
    }

    /// Counts further bytes; the lease is unchanged if the ledger refuses them.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), ExecError> {
        self.ledger.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Subtracts bytes, for a caller that replaces an old value by a new one.
    pub(crate) fn remove(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.ledger.give_back(bytes);
    }

    /// Absorbs the bytes of another lease in the same ledger.
    pub(crate) fn absorb(&mut self, mut other: MemoryLease) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.ledger.give_back(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_memory::MemoryPool;

    use super::*;

    #[test]
    fn pieces_are_borrowed_and_given_back() {
        let pool = MemoryPool::new(16 << 20);
        let ledger = Rc::new(Ledger::new(6 << 20));
        ledger.borrow_through(&pool.share());
        let mut held = MemoryLease::nothing(&ledger);
        held.add(10).unwrap();
        assert_eq!(pool.used(), PIECE_BYTES);
        held.add(100).unwrap();
        assert_eq!(pool.used(), PIECE_BYTES, "still the first piece");
        let mut more = MemoryLease::nothing(&ledger);
        more.add(5 << 20).unwrap();
        assert!(pool.used() > 5 << 20);
        let refused = more.add(1 << 20).unwrap_err();
        assert_eq!(refused, ExecError::TooMuchMemory { limit: 6 << 20 });
        drop(more);
        assert!(pool.used() <= SPARE_BYTES + 110);
        held.remove(110);
        drop(held);
        drop(ledger);
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn a_share_that_is_used_up_refuses_what_a_query_might_hold() {
        let pool = MemoryPool::new(1 << 20);
        let ledger = Rc::new(Ledger::new(usize::MAX));
        ledger.borrow_through(&pool.share());
        let mut held = MemoryLease::nothing(&ledger);
        while held.add(1_000).is_ok() {}
        assert!(pool.used() <= pool.limit() / 2 + 1_000);
        assert!(matches!(held.add(1_000), Err(ExecError::Exhausted(_))));
        drop((held, ledger));
        assert_eq!(pool.used(), 0);
    }
}
