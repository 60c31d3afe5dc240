//! What an evaluation holds in memory, counted as allocated.
//!
//! Whatever grows with the data or with the query is added to the ledger of the evaluation before it
//! is kept, and taken off when it goes: rows and their sort keys, groups, values under construction,
//! arguments of functions. The ledger borrows from the share of the client who asked, in pieces much
//! larger than most values, and refuses by itself what no single query may hold.
//!
//! ```text
//!   a value is kept -> held: 24,712 bytes -> within what is lent: nothing to ask for
//!                                         -> beyond it: the next piece from the share of the client
//! ```
//!
//! While one expression hands a value to another, both of them count the value, or neither of them
//! does: at any time the ledger may miss one value of an evaluation.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use orrery_memory::{Loan, Share};

use crate::ExecError;

/// What is borrowed at one time: enough for most pages.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes beyond those held that stay borrowed when the ledger gives memory back, so that a loop
/// does not borrow in every round.
const SPARE_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Ledger {
    /// Borrowed from the share of the client; `None` for an evaluation without a client, which
    /// borrows nothing.
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

    /// From here on the ledger borrows all bytes from `share`; the ledger must hold no bytes yet.
    pub(crate) fn borrow_through(&self, share: &Share) {
        *self.loan.borrow_mut() = Some(share.loan());
        self.lent.set(0);
    }

    pub(crate) fn take(&self, bytes: usize) -> Result<(), ExecError> {
        let held = self.held.get().saturating_add(bytes);
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

    fn grow(&self, wanted: usize) -> Result<(), ExecError> {
        let mut loan = self.loan.borrow_mut();
        let Some(loan) = &mut *loan else {
            return Ok(());
        };
        // The last bytes of a share are fewer than a piece.
        loan.grow(wanted.max(PIECE_BYTES))
            .or_else(|_| loan.grow(wanted))
            .map_err(ExecError::Exhausted)?;
        self.lent.set(loan.bytes());
        Ok(())
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        let held = self.held.get().saturating_sub(bytes);
        self.held.set(held);
        let lent = self.lent.get();
        let spare = lent.saturating_sub(held);
        if spare > 2 * SPARE_BYTES
            && lent != usize::MAX
            && let Some(loan) = &mut *self.loan.borrow_mut()
        {
            loan.shrink(spare - SPARE_BYTES);
            self.lent.set(loan.bytes());
        }
    }
}

/// Bytes that the ledger counts until this value is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    ledger: Rc<Ledger>,
    bytes: usize,
}

impl Held {
    pub(crate) fn nothing(ledger: &Rc<Ledger>) -> Held {
        Held {
            ledger: Rc::clone(ledger),
            bytes: 0,
        }
    }

    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), ExecError> {
        self.ledger.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives bytes back to the ledger, for a caller that puts a new value in the place of an old
    /// one.
    pub(crate) fn remove(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.ledger.give_back(bytes);
    }

    /// Takes over the bytes that another `Held` counts in the same ledger.
    pub(crate) fn absorb(&mut self, mut other: Held) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Held {
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
        let mut held = Held::nothing(&ledger);
        held.add(10).unwrap();
        assert_eq!(pool.used(), PIECE_BYTES);
        held.add(100).unwrap();
        assert_eq!(pool.used(), PIECE_BYTES, "still the first piece");
        let mut more = Held::nothing(&ledger);
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
        let mut held = Held::nothing(&ledger);
        while held.add(1_000).is_ok() {}
        assert!(pool.used() <= pool.limit() / 2 + 1_000);
        assert!(matches!(held.add(1_000), Err(ExecError::Exhausted(_))));
        drop((held, ledger));
        assert_eq!(pool.used(), 0);
    }
}
