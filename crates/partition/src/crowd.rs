//! Logical partitions that may be too big. Few of a physical partition can be: they are found by
//! samples, counted once, and from then on their bytes are kept along with each write to them.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use orrery_storage::Snapshot;

use crate::scan::ScanRange;
use crate::spaces::DOCUMENTS;
use crate::stored::StoredItem;
use crate::{Error, LogicalPartition};

/// The bytes of one logical partition.
#[derive(Debug)]
pub(crate) struct Crowd {
    prefix: Bytes,
    bytes: AtomicI64,
    is_counted: AtomicBool,
    bytes_max: u64,
}

/// Those of one physical partition.
#[derive(Debug, Default)]
pub(crate) struct Crowds {
    is_any: AtomicBool,
    list: Mutex<Vec<Arc<Crowd>>>,
}

/// A logical partition at one moment, to be counted.
pub struct UncountedCrowd {
    pub(crate) snapshot: Snapshot,
    pub(crate) crowd: Arc<Crowd>,
}

impl Crowd {
    pub(crate) fn new(logical: &LogicalPartition, bytes_max: u64) -> Crowd {
        Crowd {
            prefix: logical.prefix_bytes(),
            bytes: AtomicI64::new(0),
            is_counted: AtomicBool::new(false),
            bytes_max,
        }
    }

    pub(crate) fn place(&self) -> &[u8] {
        &self.prefix[crate::document_key::CONTAINER_BYTES..]
    }

    /// Whether it may not grow any more.
    pub(crate) fn is_full(&self) -> bool {
        let bytes = u64::try_from(self.bytes.load(Ordering::Relaxed)).unwrap_or(0);
        self.is_counted.load(Ordering::Acquire) && bytes >= self.bytes_max
    }

    pub(crate) fn grow(&self, bytes: i64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Crowds {
    /// Forgets all of them; who still looks for big ones finds them again.
    pub(crate) fn clear(&self) {
        if self.is_any.swap(false, Ordering::AcqRel) {
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            list.clear();
        }
    }

    /// What is known of the logical partition that a key is in. While there is nothing to know this
    /// costs one load.
    pub(crate) fn of(&self, key: &[u8]) -> Option<Arc<Crowd>> {
        if !self.is_any.load(Ordering::Acquire) {
            return None;
        }
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let crowd = list.iter().find(|crowd| key.starts_with(&crowd.prefix));
        crowd.cloned()
    }

    pub(crate) fn add(&self, crowd: Arc<Crowd>) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(crowd);
        self.is_any.store(true, Ordering::Release);
    }

    pub(crate) fn all(&self) -> Vec<Arc<Crowd>> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.clone()
    }
}

impl UncountedCrowd {
    /// Reads every document of the logical partition.
    pub fn count(self) -> Result<(), Error> {
        let scope = ScanRange::of_prefix(&self.crowd.prefix);
        let (from, to) = scope.bounds();
        let mut bytes = 0_u64;
        for entry in self.snapshot.range(DOCUMENTS, from, to) {
            bytes += StoredItem::decode(entry?.1)?.text_bytes() as u64;
        }
        self.crowd.grow(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.crowd.is_counted.store(true, Ordering::Release);
        Ok(())
    }
}
