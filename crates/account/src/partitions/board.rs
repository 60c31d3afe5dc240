//! What the task of a region and operators tell each other about single partitions.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use orrery_engine::KeyRange;
use orrery_regions::{RegionId, Sequence};

#[derive(Debug, Default)]
pub(crate) struct Board {
    /// Keys that operators take down in this region, which the others are told first, and those that are.
    failing: Mutex<Vec<KeyRange>>,
    down: Mutex<Vec<KeyRange>>,
    seen: Mutex<Seen>,
}

/// How the task sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) moved: Vec<Moved>,
    pub(crate) down: BTreeMap<RegionId, Vec<KeyRange>>,
    /// Up to which record of the account stream each region takes what it was given.
    pub(crate) opened: BTreeMap<RegionId, Sequence>,
    pub(crate) silent: Vec<RegionId>,
}

/// Keys that do not belong to the write region, or are on their way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) keys: KeyRange,
    pub(crate) owner: RegionId,
    pub(crate) is_automatic: bool,
}

impl Board {
    /// Lets the others hear that keys will be down.
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

    /// Also what was taken down before the partition was split or merged.
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

    pub(crate) fn seen(&self) -> Seen {
        lock(&self.seen).clone()
    }

    pub(crate) fn see(&self, seen: Seen) {
        *lock(&self.seen) = seen;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
