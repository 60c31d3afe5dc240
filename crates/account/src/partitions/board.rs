//! State that the task of a region and the orders of operators share about single partitions.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_engine::KeyRange;
use orrery_regions::{RegionId, Sequence};

#[derive(Debug, Default)]
pub(crate) struct FailoverBoard {
    /// Key ranges that operators take down in this region: `failing` has the announced ones, `down`
    /// the ones that are down.
    failing: Mutex<Vec<KeyRange>>,
    down: Mutex<Vec<KeyRange>>,
    status: Mutex<FailoverStatus>,
}

/// The partitions as the region's task sees them.
#[derive(Debug, Clone, Default)]
pub(crate) struct FailoverStatus {
    pub(crate) moved: Vec<RelocatedRange>,
    pub(crate) down: BTreeMap<RegionId, Vec<KeyRange>>,
    /// The last ownership record that each region has carried out.
    pub(crate) opened: BTreeMap<RegionId, Sequence>,
    pub(crate) silent: Vec<RegionId>,
}

/// Key ranges whose owner is not the write region, or that are moving back to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RelocatedRange {
    pub(crate) keys: KeyRange,
    pub(crate) owner: RegionId,
    pub(crate) is_automatic: bool,
}

impl FailoverBoard {
    /// Announces to the other regions that keys will be down.
    pub(crate) fn announce(&self, keys: &KeyRange) {
        let mut failing = lock(&self.failing);
        if !failing.contains(keys) {
            failing.push(keys.clone());
        }
    }

    pub(crate) fn take_down(&self, keys: &KeyRange) {
        let mut down = lock(&self.down);
        if !down.contains(keys) {
            down.push(keys.clone());
        }
    }

    /// Brings keys up, including ranges that were taken down before the partition was split or
    /// merged.
    pub(crate) fn bring_up(&self, keys: &KeyRange) {
        for list in [&self.failing, &self.down] {
            lock(list).retain(|other| !other.overlaps(keys));
        }
    }

    pub(crate) fn failing(&self) -> Vec<KeyRange> {
        lock(&self.failing).clone()
    }

    pub(crate) fn down(&self) -> Vec<KeyRange> {
        lock(&self.down).clone()
    }

    pub(crate) fn status(&self) -> FailoverStatus {
        lock(&self.status).clone()
    }

    pub(crate) fn set_status(&self, status: FailoverStatus) {
        *lock(&self.status) = status;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
