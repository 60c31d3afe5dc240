//! Bytes that were lent, until they are given back.

use crate::{Exhausted, Share};

/// Gives its bytes back when it is dropped.
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

    /// Gives some bytes back, at most those that the loan has.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.share.give_back(bytes);
    }

    /// Makes the loan as large as the thing that it stands for turned out to be.
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
