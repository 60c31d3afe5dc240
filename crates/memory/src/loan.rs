//! Bytes that the pool has lent to a client until the loan is dropped.

use crate::{LoanError, MemoryShare};

/// Bytes that one caller has borrowed through a share. Dropping the loan returns the bytes to the
/// pool.
#[derive(Debug)]
pub struct Loan {
    share: MemoryShare,
    bytes: usize,
}

impl Loan {
    pub(crate) fn new(share: MemoryShare) -> Loan {
        Loan { share, bytes: 0 }
    }

    /// Borrows more bytes. If the pool refuses, the loan keeps its size.
    pub fn grow(&mut self, bytes: usize) -> Result<(), LoanError> {
        self.share.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns `bytes` bytes of the loan to the pool, or all bytes if the loan has fewer.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.share.give_back(bytes);
    }

    /// Sets the loan to `bytes`, once the caller has learnt the actual size of its value.
    pub fn resize(&mut self, bytes: usize) -> Result<(), LoanError> {
        if bytes > self.bytes {
            self.grow(bytes - self.bytes)
        } else {
            self.shrink(self.bytes - bytes);
            Ok(())
        }
    }

    /// The share of the client that borrowed these bytes.
    pub fn share(&self) -> &MemoryShare {
        &self.share
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.share.give_back(self.bytes);
    }
}
