//! A set of changes that becomes visible to readers atomically.

use bytes::Bytes;

/// One ordered map of the store, named by its index in the list of names given to `Storage::open`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyspaceId(pub u8);

/// Changes in write order. A later change to a key overrides an earlier one.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) changes: Vec<(KeyspaceId, Bytes, Option<Bytes>)>,
}

impl Batch {
    /// An empty batch with room for this number of changes.
    pub fn with_capacity(changes: usize) -> Batch {
        Batch {
            changes: Vec::with_capacity(changes),
        }
    }

    pub fn put(&mut self, space: KeyspaceId, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.changes.push((space, key.into(), Some(value.into())));
    }

    pub fn delete(&mut self, space: KeyspaceId, key: impl Into<Bytes>) {
        self.changes.push((space, key.into(), None));
    }

    /// The keys of one keyspace that the batch changes.
    pub(crate) fn keys_of(&self, space: KeyspaceId) -> Vec<Bytes> {
        let changes = self.changes.iter();
        let changes = changes.filter(|(of, _, _)| *of == space);
        changes.map(|(_, key, _)| key.clone()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.changes.len()
    }
}
