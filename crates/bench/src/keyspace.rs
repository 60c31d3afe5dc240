//! Which numbers exist as items, and what they are called.
//!
//! Numbers below `loaded` are the preloaded data set and keep their ids from run to run. Numbers
//! above it are created while measuring; their ids carry a tag of the run, so that a container can
//! be kept and used again without conflicts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Longest id `write_id` produces: the tag, a dash and twelve digits.
pub(crate) const ID_BYTES_MAX: usize = 1 + 16 + 1 + 12;

pub(crate) struct KeySpace {
    loaded: u64,
    run_tag: u64,
    /// Logical partitions, when not every item has one of its own.
    partitions: Option<u64>,
    next: AtomicU64,
    /// Every number below it has been answered, so readers of the latest items find them.
    visible: AtomicU64,
    answered_ahead: Mutex<BTreeSet<u64>>,
}

impl KeySpace {
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

    /// All items over so many logical partitions, in turns.
    pub(crate) fn over(self, partitions: u64) -> Self {
        let partitions = Some(partitions);
        Self { partitions, ..self }
    }

    pub(crate) fn loaded(&self) -> u64 {
        self.loaded
    }

    pub(crate) fn visible(&self) -> u64 {
        self.visible.load(Ordering::Relaxed)
    }

    /// A number no one else creates.
    pub(crate) fn claim(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The create of a claimed number was answered.
    pub(crate) fn answered(&self, number: u64) {
        let mut ahead = self
            .answered_ahead
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        ahead.insert(number);
        let mut visible = self.visible();
        while ahead.remove(&visible) {
            visible += 1;
        }
        self.visible.store(visible, Ordering::Relaxed);
    }

    pub(crate) fn write_id(&self, id: &mut String, number: u64) {
        id.clear();
        let written = if number < self.loaded {
            write!(id, "k{number:012}")
        } else {
            write!(id, "r{:x}-{number:012}", self.run_tag)
        };
        written.expect("writing to a string cannot fail");
    }

    /// The partition key of an item: its id, or one of a few.
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
        let keys = KeySpace::new(10, 0xABC);
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
        let (own, few) = (KeySpace::new(200, 1), KeySpace::new(200, 1).over(100));
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
        let keys = KeySpace::new(5, 0);
        assert_eq!([keys.claim(), keys.claim(), keys.claim()], [5, 6, 7]);
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
