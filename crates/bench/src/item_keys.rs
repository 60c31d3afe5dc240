//! The numbers of the existing items, and their ids.
//!
//! Numbers below `loaded` are the preloaded data set and have the same ids in every run. Numbers
//! above it are items created during the measurement; their ids contain a tag of the run, so that a
//! container can be kept and used again without conflicts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest id that `write_id` writes: the tag, a dash and twelve digits.
pub(crate) const ID_BYTES_MAX: usize = 1 + 16 + 1 + 12;

/// A tag that distinguishes the items of one run from those of another run.
pub(crate) fn unix_seconds() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_secs())
}

pub(crate) struct ItemKeys {
    loaded: u64,
    run_tag: u64,
    /// The number of logical partitions, if items share them.
    partitions: Option<u64>,
    next: AtomicU64,
    /// All numbers below this one have an answered create, so readers of the latest items find
    /// every item below it.
    visible: AtomicU64,
    answered_ahead: Mutex<BTreeSet<u64>>,
}

impl ItemKeys {
    pub(crate) fn new(loaded: u64, run_tag: u64) -> Self {
        Self {
            loaded,
            run_tag,
            partitions: None,
            next: AtomicU64::new(loaded),
            visible: AtomicU64::new(loaded),
            answered_ahead: Mutex::new(BTreeSet::new()),
        }
    }

    /// Spreads all items over this many logical partitions, in turns.
    pub(crate) fn over(self, partitions: u64) -> Self {
        let partitions = Some(partitions);
        Self { partitions, ..self }
    }

    pub(crate) fn loaded(&self) -> u64 {
        self.loaded
    }

    /// The number below which every item exists.
    pub(crate) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Relaxed)
    }

    /// A number that no other client creates.
    pub(crate) fn reserve(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Marks the create of a reserved number as answered. Creates finish out of order, so `visible`
    /// moves only over a run of answered numbers without a gap.
    pub(crate) fn answered(&self, number: u64) {
        let mut ahead = self
            .answered_ahead
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // The number waits here until all smaller numbers are answered.
        ahead.insert(number);
        // The lock serialises the writers of `visible`, so a relaxed load and store are enough.
        let mut visible = self.visible();
        while ahead.remove(&visible) {
            visible += 1;
        }
        self.visible.store(visible, Ordering::Relaxed);
    }

    /// Writes the id of an item into a reused buffer.
    pub(crate) fn write_id(&self, id: &mut String, number: u64) {
        id.clear();
        let written = if number < self.loaded {
            write!(id, "k{number:012}")
        } else {
            write!(id, "r{:x}-{number:012}", self.run_tag)
        };
        written.expect("writing to a string cannot fail");
    }

    /// The partition key of an item: its id, or one of a few shared keys.
    pub(crate) fn write_key(&self, key: &mut String, number: u64) {
        let Some(partitions) = self.partitions else {
            return self.write_id(key, number);
        };
        key.clear();
        write!(key, "p{}", number % partitions).expect("writing to a string cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let keys = ItemKeys::new(10, 0xABC);
        let mut id = String::new();
        for (number, expected) in [
            (0, "k000000000000"),
            (9, "k000000000009"),
            (10, "rabc-000000000010"),
        ] {
            keys.write_id(&mut id, number);
            assert_eq!(id, expected);
            assert!(id.len() <= ID_BYTES_MAX);
        }
    }

    #[test]
    fn keys_are_ids_or_few() {
        let (own, few) = (ItemKeys::new(200, 1), ItemKeys::new(200, 1).over(100));
        let mut key = String::new();
        for (keys, number, expected) in [
            (&own, 7, "k000000000007"),
            (&few, 7, "p7"),
            (&few, 107, "p7"),
            (&few, 300, "p0"),
        ] {
            keys.write_key(&mut key, number);
            assert_eq!(key, expected);
        }
    }

    #[test]
    fn visible_waits_for_the_slowest_create() {
        let keys = ItemKeys::new(5, 0);
        assert_eq!([keys.reserve(), keys.reserve(), keys.reserve()], [5, 6, 7]);
        let visible_after = |number| {
            keys.answered(number);
            keys.visible()
        };
        assert_eq!(
            [visible_after(7), visible_after(5), visible_after(6)],
            [5, 6, 8]
        );
    }
}
