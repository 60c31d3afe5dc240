//! Bytes that the pool has lent to a client, until the loan gives them back.

use crate::{Exhausted, Share};

/// Bytes that one caller has borrowed through a share; dropping the loan gives them back to the
/// pool.
#[derive(Debug)]
pub struct Loan {
    share: Share,
    bytes: usize,
}

impl Loan {
    pub(crate) fn new(share: Share) -> Loan {
        Loan { share, bytes: 0 }
    }

    /// Borrows more bytes; a loan that cannot grow stays as it is.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.share.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Gives `bytes` bytes of the loan back to the pool, or all of them if the loan has fewer.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.share.give_back(bytes);
    }

    /// Grows or shrinks the loan to `bytes`, for a caller that has learnt the size of the value
    /// that it borrowed for.
    pub fn resize(&mut self, bytes: usize) -> Result<(), Exhausted> {
        if bytes > self.bytes {
            self.grow(bytes - self.bytes)
        } else {
            self.shrink(self.bytes - bytes);
            Ok(())
        }
    }

    /// Whose loan it is.
    pub fn share(&self) -> &Share {
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
