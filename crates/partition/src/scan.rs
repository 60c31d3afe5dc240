//! Scans of documents in key order, for read feeds and queries.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use orrery_keys::{EpkRange, PartitionKey};
use orrery_storage::Snapshot;

use crate::document_key::{CONTAINER_BYTES, prefix_end};
use crate::keyspaces::DOCUMENTS;
use crate::stored_item::StoredItem;
use crate::{Container, Error, LogicalPartition};

/// A contiguous range of document keys of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRange {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    /// Whether the range is one logical partition, so that `from` followed by an id is a document
    /// key.
    is_logical: bool,
    first_levels: Option<FirstLevels>,
}

/// The first levels of a hierarchical partition key, as encoded in document keys after the hashes.
/// A scan compares them because keys with other first levels may have equal hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FirstLevels {
    /// Byte offset within a key position.
    at: usize,
    bytes: Vec<u8>,
}

impl ScanRange {
    /// The documents whose effective partition key is in `range`.
    pub fn of_epk_range(container: &Container, range: &EpkRange) -> ScanRange {
        let key_position = |point: &[u8]| [&container.rid.id().to_be_bytes()[..], point].concat();
        ScanRange {
            from: key_position(range.min.significant_bytes()),
            to: Some(key_position(range.max.significant_bytes())),
            is_logical: false,
            first_levels: None,
        }
    }

    /// The documents in `range` whose partition key begins with `key`.
    pub fn of_first_levels(
        container: &Container,
        range: &EpkRange,
        key: &PartitionKey,
    ) -> ScanRange {
        let first_levels = container.definition.key().prefix_components(key);
        ScanRange {
            first_levels: first_levels.map(|(at, bytes)| FirstLevels { at, bytes }),
            ..ScanRange::of_epk_range(container, range)
        }
    }

    pub fn of_logical_partition(logical: &LogicalPartition) -> ScanRange {
        ScanRange {
            is_logical: true,
            ..ScanRange::of_prefix(logical.prefix())
        }
    }

    /// All documents of a container.
    pub fn of_whole(container: &Container) -> ScanRange {
        ScanRange::of_container(container.rid.id())
    }

    /// A single document, by its key.
    pub fn of_document(container: &Container, key: &[u8]) -> ScanRange {
        debug_assert!(key.starts_with(&container.rid.id().to_be_bytes()));
        ScanRange {
            from: key.to_vec(),
            to: Some([key, &[0]].concat()),
            is_logical: false,
            first_levels: None,
        }
    }

    pub(crate) fn of_container(container: u32) -> ScanRange {
        ScanRange::of_prefix(&container.to_be_bytes())
    }

    pub(crate) fn of_prefix(prefix: &[u8]) -> ScanRange {
        ScanRange {
            from: prefix.to_vec(),
            to: prefix_end(prefix),
            is_logical: false,
            first_levels: None,
        }
    }

    /// The rest of this range after the key position of an earlier page. That position may be
    /// outside this range: the earlier page may belong to a partition that has been split since.
    pub(crate) fn resume(&self, key_position: &[u8]) -> ScanRange {
        let container = &self.from[..CONTAINER_BYTES];
        let mut from = [container, key_position].concat();
        if from < self.from {
            from.clone_from(&self.from);
        }
        if let Some(to) = &self.to
            && from > *to
        {
            from.clone_from(to);
        }
        ScanRange {
            from,
            to: self.to.clone(),
            is_logical: false,
            first_levels: self.first_levels.clone(),
        }
    }

    /// Whether a key position within the bounds also has the first partition key levels of this
    /// range.
    pub(crate) fn matches_first_levels(&self, key_position: &[u8]) -> bool {
        self.first_levels.as_ref().is_none_or(|first| {
            let key = key_position.get(first.at..);
            key.is_some_and(|key| key.starts_with(&first.bytes))
        })
    }

    pub(crate) fn is_within(&self, other: &ScanRange) -> bool {
        let ends_within = match (&self.to, &other.to) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(to), Some(other)) => to <= other,
        };
        let is_whole = other.first_levels.is_none() || other.first_levels == self.first_levels;
        self.from >= other.from && ends_within && is_whole
    }

    pub(crate) fn is_logical(&self) -> bool {
        self.is_logical
    }

    pub(crate) fn bounds(&self) -> (&[u8], Option<&[u8]>) {
        (&self.from, self.to.as_deref())
    }
}

/// An item in a scan.
#[derive(Debug, Clone, Copy)]
pub struct ScannedItem<'a> {
    /// The position of the item in key order; a later scan can start here.
    pub key_position: &'a [u8],
    pub id: &'a [u8],
    pub item: &'a StoredItem,
}

/// The answer of a visitor to an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// The visitor has taken the item and wants the next one.
    Taken,
    /// The page is full: the next page begins with this item.
    Full,
}

/// Stored documents of a snapshot, with the pending documents of a script above them.
pub(crate) struct Documents<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) pending: &'a BTreeMap<Bytes, Option<Bytes>>,
    pub(crate) default_ttl: Option<i32>,
    pub(crate) now_seconds: u64,
}

impl Documents<'_> {
    /// Visits the visible documents of `range` in order. Returns the key position where the next
    /// page begins.
    pub(crate) fn scan(
        &self,
        range: &ScanRange,
        visit: &mut dyn FnMut(ScannedItem<'_>) -> Visit,
    ) -> Result<Option<Bytes>, Error> {
        let (from, to) = range.bounds();
        let stored = self.snapshot.range(DOCUMENTS, from, to);
        if self.pending.is_empty() {
            for entry in stored {
                let (key, value) = entry?;
                if let Some(key_position) = self.visit_item(range, &key, value, visit)? {
                    return Ok(Some(key_position));
                }
            }
            return Ok(None);
        }
        let bounds = (
            Bound::Included(from),
            to.map_or(Bound::Unbounded, Bound::Excluded),
        );
        // A merge of two sorted sequences. A pending document with the key of a stored one hides
        // it.
        let mut pending = self.pending.range::<[u8], _>(bounds).peekable();
        for entry in stored {
            let (key, value) = entry?;
            while let Some((first, first_value)) = pending.next_if(|(first, _)| **first < key) {
                if let Some(value) = first_value
                    && let Some(key_position) =
                        self.visit_item(range, first, value.clone(), visit)?
                {
                    return Ok(Some(key_position));
                }
            }
            let value = match pending.next_if(|(first, _)| **first == key) {
                Some((_, hiding)) => hiding.clone(),
                None => Some(value),
            };
            if let Some(value) = value
                && let Some(key_position) = self.visit_item(range, &key, value, visit)?
            {
                return Ok(Some(key_position));
            }
        }
        for (key, value) in pending {
            if let Some(value) = value
                && let Some(key_position) = self.visit_item(range, key, value.clone(), visit)?
            {
                return Ok(Some(key_position));
            }
        }
        Ok(None)
    }

    /// Visits one document if it is visible. Returns its key position if the page is full without
    /// it.
    fn visit_item(
        &self,
        range: &ScanRange,
        key: &Bytes,
        value: Bytes,
        visit: &mut dyn FnMut(ScannedItem<'_>) -> Visit,
    ) -> Result<Option<Bytes>, Error> {
        if !range.matches_first_levels(&key[CONTAINER_BYTES..]) {
            return Ok(None);
        }
        let item = StoredItem::decode(value)?;
        let key_position = key.slice(CONTAINER_BYTES..);
        let scanned = ScannedItem {
            key_position: &key_position,
            id: key
                .get(usize::from(item.header.prefix_bytes)..)
                .unwrap_or_default(),
            item: &item,
        };
        let is_full =
            item.is_visible(self.default_ttl, self.now_seconds) && visit(scanned) == Visit::Full;
        Ok(is_full.then_some(key_position))
    }
}
