//! The result of an item operation.

use std::fmt;

use bytes::Bytes;

use crate::{Charge, Etag, Failure};

/// A position in the log of one physical partition. Every committed transaction has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// The number of a physical partition within its container. Numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeId(pub u32);

/// The physical partition that answered, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionLsn {
    pub range: RangeId,
    pub lsn: Lsn,
}

/// A result with the charge and the partition that every data-plane answer has, failures included.
#[derive(Debug, Clone)]
pub struct ChargedResult<T> {
    pub result: Result<T, Failure>,
    pub charge: Charge,
    /// None if the request reached no physical partition.
    pub partition_lsn: Option<PartitionLsn>,
}

impl<T> ChargedResult<T> {
    /// A failure before any partition was reached.
    pub fn refused(failure: Failure) -> ChargedResult<T> {
        ChargedResult {
            charge: failure.charge(),
            result: Err(failure),
            partition_lsn: None,
        }
    }

    /// Changes the result, and leaves charge and position.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> ChargedResult<U> {
        ChargedResult {
            result: self.result.map(change),
            charge: self.charge,
            partition_lsn: self.partition_lsn,
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

/// The outcome of one item operation.
#[derive(Debug, Clone)]
pub struct OperationOutcome {
    pub status: OperationStatus,
    /// The JSON text of the item with its system properties. Absent for deletes and `NotModified`.
    pub body: Option<Bytes>,
    /// Whether the item was written without `_self` and `_attachments`, which the body has
    /// nevertheless.
    pub excludes_system_properties: bool,
    pub etag: Option<Etag>,
    /// The LSN of the transaction that wrote this version of the item.
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
