//! Logical partitions that may exceed their size limit. A physical partition has few of them:
//! samples find candidates, each candidate is counted once, and from then on every write updates
//! its size.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use orrery_storage::Snapshot;

use crate::keyspaces::DOCUMENTS;
use crate::scan::ScanRange;
use crate::stored_item::StoredItem;
use crate::{Error, LogicalPartition};

/// The size of one logical partition.
#[derive(Debug)]
pub(crate) struct OversizedPartition {
    prefix: Bytes,
    bytes: AtomicI64,
    is_counted: AtomicBool,
    bytes_max: u64,
}

/// The tracked logical partitions of one physical partition.
#[derive(Debug, Default)]
pub(crate) struct OversizedPartitions {
    is_any: AtomicBool,
    list: Mutex<Vec<Arc<OversizedPartition>>>,
}

/// A snapshot in which the size of a logical partition is counted.
pub struct OversizedRecount {
    pub(crate) snapshot: Snapshot,
    pub(crate) partition: Arc<OversizedPartition>,
}

impl OversizedPartition {
    pub(crate) fn new(logical: &LogicalPartition, bytes_max: u64) -> OversizedPartition {
        OversizedPartition {
            prefix: logical.prefix_bytes(),
            bytes: AtomicI64::new(0),
            is_counted: AtomicBool::new(false),
            bytes_max,
        }
    }

    pub(crate) fn key_position(&self) -> &[u8] {
        &self.prefix[crate::document_key::CONTAINER_BYTES..]
    }

    /// Whether the size limit is reached. An uncounted partition is never full.
    pub(crate) fn is_full(&self) -> bool {
        // `is_counted` is loaded with acquire ordering and set after the count was added, but the
        // bytes are read first here: at worst the check misses a count that has just ended.
        let bytes = u64::try_from(self.bytes.load(Ordering::Relaxed)).unwrap_or(0);
        self.is_counted.load(Ordering::Acquire) && bytes >= self.bytes_max
    }

    pub(crate) fn grow(&self, bytes: i64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl OversizedPartitions {
    /// Stops tracking all partitions. Sampling finds the large ones again.
    pub(crate) fn clear(&self) {
        if self.is_any.swap(false, Ordering::AcqRel) {
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            list.clear();
        }
    }

    /// The tracked partition of a key, if any. Without tracked partitions this costs one load.
    pub(crate) fn of(&self, key: &[u8]) -> Option<Arc<OversizedPartition>> {
        if !self.is_any.load(Ordering::Acquire) {
            return None;
        }
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let oversized = list
            .iter()
            .find(|oversized| key.starts_with(&oversized.prefix));
        oversized.cloned()
    }

    pub(crate) fn add(&self, oversized: Arc<OversizedPartition>) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(oversized);
        self.is_any.store(true, Ordering::Release);
    }

    pub(crate) fn all(&self) -> Vec<Arc<OversizedPartition>> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.clone()
    }
}

impl OversizedRecount {
    /// Reads every document of the logical partition.
    pub fn count(self) -> Result<(), Error> {
        let scope = ScanRange::of_prefix(&self.partition.prefix);
        let (from, to) = scope.bounds();
        let mut bytes = 0_u64;
        for entry in self.snapshot.range(DOCUMENTS, from, to) {
            bytes += StoredItem::decode(entry?.1)?.text_bytes() as u64;
        }
        // Writes during the count update the size concurrently, so the count is added and not
        // stored.
        self.partition
            .grow(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.partition.is_counted.store(true, Ordering::Release);
        Ok(())
    }
}
