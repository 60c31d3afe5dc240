//! What one client holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Exhausted, Loan, MemoryPool};

/// Clones are handles to the same share: the requests of one client borrow through one share.
#[derive(Debug, Clone)]
pub struct Share(Arc<Holdings>);

#[derive(Debug)]
struct Holdings {
    pool: MemoryPool,
    held: AtomicUsize,
}

impl Share {
    pub(crate) fn new(pool: MemoryPool) -> Share {
        Share(Arc::new(Holdings {
            pool,
            held: AtomicUsize::new(0),
        }))
    }

    /// Of a client that nothing is refused to: background work, and programs that use the engine as a library.
    pub fn unlimited() -> Share {
        MemoryPool::unlimited().share()
    }

    /// A loan of nothing, to grow later.
    pub fn loan(&self) -> Loan {
        Loan::new(self.clone())
    }

    /// A loan of nothing, to grow later; this handle becomes the handle of the loan.
    pub fn into_loan(self) -> Loan {
        Loan::new(self)
    }

    pub fn borrow(&self, bytes: usize) -> Result<Loan, Exhausted> {
        let mut loan = self.loan();
        loan.grow(bytes)?;
        Ok(loan)
    }

    /// How many bytes all loans of this client have.
    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// A number that is the same for all handles to this share, and that no other share has at the
    /// same time.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub fn pool(&self) -> &MemoryPool {
        &self.0.pool
    }

    /// Whether this is the last handle to the share: no client and no loan uses the share any more.
    pub fn is_forgotten(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    pub(crate) fn take(&self, bytes: usize) -> Result<(), Exhausted> {
        // Nothing is what many requests need, and it must not cost a write to memory that all share.
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
