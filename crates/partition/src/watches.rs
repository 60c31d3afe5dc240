//! Watches: logical partitions that scripts have read and that must not change before the scripts
//! commit.
//!
//! A script watches its logical partition before it takes its snapshot. The committer marks every
//! watch whose documents it changes: once when a change is decided, for scripts that commit in the
//! same group, and again when the change is visible, for scripts that started in between. A script
//! with a marked watch must run again. Without running scripts, marking costs one load.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::record::KeyChange;

/// The watches of a store.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    count: AtomicUsize,
    table: Mutex<Table>,
}

/// Watches by the key prefix of their logical partition.
type Table = BTreeMap<Bytes, Vec<Arc<AtomicBool>>>;

/// One watch. Dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Watch {
    watches: Arc<Watches>,
    prefix: Bytes,
    is_marked: Arc<AtomicBool>,
}

impl Watches {
    pub(crate) fn watch(self: &Arc<Watches>, prefix: Bytes) -> Watch {
        let is_marked = Arc::new(AtomicBool::new(false));
        let mut table = self.lock();
        let list = table.entry(prefix.clone()).or_default();
        list.push(Arc::clone(&is_marked));
        // A committer that reads a count of zero after its change has become visible may skip the
        // marks: the script takes its snapshot after this line, so the snapshot contains the
        // change.
        self.count.fetch_add(1, Ordering::SeqCst);
        Watch {
            watches: Arc::clone(self),
            prefix,
            is_marked,
        }
    }

    /// Marks the watches of the documents in a record.
    pub(crate) fn mark(&self, changes: &[KeyChange]) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let table = self.lock();
        for (key, _) in changes {
            // No logical partition prefix is a prefix of another one, so only the greatest prefix
            // at or below the key can match.
            let mut before = table.range::<[u8], _>((Bound::Unbounded, Bound::Included(&key[..])));
            if let Some((prefix, list)) = before.next_back()
                && key.starts_with(prefix)
            {
                for is_marked in list {
                    is_marked.store(true, Ordering::SeqCst);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Whether another transaction changed the logical partition since the watch began.
    pub(crate) fn is_marked(&self) -> bool {
        self.is_marked.load(Ordering::SeqCst)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut table = self.watches.lock();
        if let Some(list) = table.get_mut(&self.prefix) {
            list.retain(|other| !Arc::ptr_eq(other, &self.is_marked));
            if list.is_empty() {
                table.remove(&self.prefix);
            }
        }
        self.watches.count.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_marks_the_watches_over_it() {
        let watches = Arc::new(Watches::default());
        let (a, b) = (watches.watch("a".into()), watches.watch("b".into()));
        watches.mark(&[("a1".into(), None)]);
        let later = watches.watch("a".into());
        assert!(a.is_marked() && !b.is_marked() && !later.is_marked());
        drop((a, b, later));
        assert_eq!(watches.count.load(Ordering::SeqCst), 0);
        assert!(watches.lock().is_empty());
    }
}
