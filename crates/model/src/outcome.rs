//! What comes back from an item operation.

use std::fmt;

use bytes::Bytes;

use crate::{Charge, Etag, Failure};

/// Position in the log of one physical partition. Every committed transaction takes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// Number of a physical partition within its container; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeId(pub u32);

/// Which physical partition answered, and how far it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub range: RangeId,
    pub lsn: Lsn,
}

/// A result with what every data-plane answer carries, also when it is a failure.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    pub result: Result<T, Failure>,
    pub charge: Charge,
    /// Absent when no physical partition was reached.
    pub stamp: Option<Stamp>,
}

impl<T> Answer<T> {
    /// A failure found before any partition was asked.
    pub fn refused(failure: Failure) -> Answer<T> {
        Answer {
            charge: failure.charge(),
            result: Err(failure),
            stamp: None,
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Answer<U> {
        Answer {
            result: self.result.map(change),
            charge: self.charge,
            stamp: self.stamp,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationStatus {
    Ok,
    Created,
    Deleted,
    NotModified,
}

/// What one item operation did.
#[derive(Debug, Clone)]
pub struct OperationOutcome {
    pub status: OperationStatus,
    /// JSON text of the item, system properties included; absent for deletes and `NotModified`.
    pub body: Option<Bytes>,
    pub etag: Option<Etag>,
    /// LSN of the transaction that wrote this version of the item.
    pub item_lsn: Lsn,
    pub charge: Charge,
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
