//! The bytes that one client holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Loan, LoanError, MemoryPool};

/// The account of one client, through which all its requests borrow. Clones are handles to the same
/// share.
#[derive(Debug, Clone)]
pub struct MemoryShare(Arc<Holdings>);

#[derive(Debug)]
struct Holdings {
    pool: MemoryPool,
    held: AtomicUsize,
}

impl MemoryShare {
    pub(crate) fn new(pool: MemoryPool) -> MemoryShare {
        MemoryShare(Arc::new(Holdings {
            pool,
            held: AtomicUsize::new(0),
        }))
    }

    /// A share without a limit, for background work and for programs that use the engine as a
    /// library.
    pub fn unlimited() -> MemoryShare {
        MemoryPool::unlimited().share()
    }

    /// An empty loan, to grow later.
    pub fn loan(&self) -> Loan {
        Loan::new(self.clone())
    }

    /// An empty loan, to grow later. The loan takes over this handle.
    pub fn into_loan(self) -> Loan {
        Loan::new(self)
    }

    pub fn borrow(&self, bytes: usize) -> Result<Loan, LoanError> {
        let mut loan = self.loan();
        loan.grow(bytes)?;
        Ok(loan)
    }

    /// The number of bytes in all loans of this client.
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// A number that identifies this share among all live shares: its address, equal for all
    /// handles.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub fn pool(&self) -> &MemoryPool {
        &self.0.pool
    }

    /// Whether this is the last handle: every client handle and every loan of the share has been
    /// dropped.
    pub fn is_forgotten(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    pub(crate) fn take(&self, bytes: usize) -> Result<(), LoanError> {
        // Many requests borrow zero bytes, and such a loan must not write to a cache line shared by
        // all cores.
        if bytes == 0 {
            return Ok(());
        }
        let held = self.0.held.fetch_add(bytes, Ordering::Relaxed);
        let lent = self.0.pool.lend(bytes, held.saturating_add(bytes));
        if lent.is_err() {
            self.0.held.fetch_sub(bytes, Ordering::Relaxed);
        }
        lent
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.0.held.fetch_sub(bytes, Ordering::Relaxed);
        self.0.pool.take_back(bytes);
    }
}
