//! Logical partitions that scripts have read and nobody else may have changed when they commit.
//!
//! A script watches its logical partition before it takes its snapshot. The committer marks every
//! watch over a document that it changes: once when a change is decided, for scripts whose commit
//! is in the same group, and again when the change is visible, for those that began in between.
//! A script whose watch is marked must begin anew. While no script runs this costs one load.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::record::Change;

/// The watches of a store.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    count: AtomicUsize,
    table: Mutex<Table>,
}

/// Watches by the beginning of the keys of their logical partition.
type Table = BTreeMap<Bytes, Vec<Arc<AtomicBool>>>;

/// One watch, which ends when it is dropped.
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
        self.count.fetch_add(1, Ordering::SeqCst);
        Watch {
            watches: Arc::clone(self),
            prefix,
            is_marked,
        }
    }

    /// Marks the watches over the documents of a record.
    pub(crate) fn mark(&self, changes: &[Change]) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let table = self.lock();
        for (key, _) in changes {
            // No logical partition begins like another one, so only the last before it can be its.
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
    /// Whether somebody changed the logical partition since the watch began.
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
