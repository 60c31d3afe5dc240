//! A set of changes that becomes visible at once.

use bytes::Bytes;

/// One ordered map of the store, by its place in the list of names the store was opened with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(pub u8);

/// Changes in order; a later one to the same key wins.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) changes: Vec<(Space, Bytes, Option<Bytes>)>,
}

impl Batch {
    /// With room for so many changes.
    pub fn with_capacity(changes: usize) -> Batch {
        Batch {
            changes: Vec::with_capacity(changes),
        }
    }

    pub fn put(&mut self, space: Space, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.changes.push((space, key.into(), Some(value.into())));
    }

    pub fn delete(&mut self, space: Space, key: impl Into<Bytes>) {
        self.changes.push((space, key.into(), None));
    }

    /// The keys of one map that the batch changes.
    pub(crate) fn keys_of(&self, space: Space) -> Vec<Bytes> {
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
