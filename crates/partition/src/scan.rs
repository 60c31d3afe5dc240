//! Runs of documents in key order: feeds and scans of queries.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use orrery_keys::{EpkRange, PartitionKey};
use orrery_storage::Snapshot;

use crate::document_key::{CONTAINER_BYTES, prefix_end};
use crate::spaces::DOCUMENTS;
use crate::stored::StoredItem;
use crate::{Container, Error, LogicalPartition};

/// A contiguous run of document keys of one container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanRange {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    /// Whether it is one logical partition, so that an id behind `from` is a place.
    is_logical: bool,
    first_levels: Option<FirstLevels>,
}

/// The first levels of a hierarchical partition key as they stand in a document key, behind the hashes, which
/// keys with other levels may have as well.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FirstLevels {
    /// In the place of a document.
    at: usize,
    bytes: Vec<u8>,
}

impl ScanRange {
    /// The documents whose effective partition key is in `range`.
    pub fn of_epk_range(container: &Container, range: &EpkRange) -> ScanRange {
        let place = |point: &[u8]| [&container.rid.id().to_be_bytes()[..], point].concat();
        ScanRange {
            from: place(range.min.significant_bytes()),
            to: Some(place(range.max.significant_bytes())),
            is_logical: false,
            first_levels: None,
        }
    }

    /// Of these only the ones whose partition key begins with `key`.
    pub fn of_first_levels(
        container: &Container,
        range: &EpkRange,
        key: &PartitionKey,
    ) -> ScanRange {
        let first_levels = container.definition.key().first_levels(key);
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

    /// One document, by its key.
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

    /// The rest of this range from a place that an earlier page gave. The place may be outside: the
    /// page may have been one of a partition that this is only a part of.
    pub(crate) fn resume(&self, place: &[u8]) -> ScanRange {
        let container = &self.from[..CONTAINER_BYTES];
        let mut from = [container, place].concat();
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

    /// Whether a place between the bounds also has the first levels of the partition key that this
    /// range asks for.
    pub(crate) fn has(&self, place: &[u8]) -> bool {
        self.first_levels.as_ref().is_none_or(|first| {
            let key = place.get(first.at..);
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

/// An item as a scan meets it.
#[derive(Debug, Clone, Copy)]
pub struct Scanned<'a> {
    /// Where it is in the order of the scan; a later scan can begin here.
    pub place: &'a [u8],
    pub id: &'a [u8],
    pub item: &'a StoredItem,
}

/// What a reader says of the item it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// Go on with the next one.
    Taken,
    /// The page is full: the next page begins with this item.
    Full,
}

/// Stored documents at one moment, with pending ones above them.
pub(crate) struct Documents<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) pending: &'a BTreeMap<Bytes, Option<Bytes>>,
    pub(crate) default_ttl: Option<i32>,
    pub(crate) now_seconds: u64,
}

impl Documents<'_> {
    /// Shows the visible documents of `range` in order; gives the place where the next page begins.
    pub(crate) fn scan(
        &self,
        range: &ScanRange,
        visit: &mut dyn FnMut(Scanned<'_>) -> Visit,
    ) -> Result<Option<Bytes>, Error> {
        let (from, to) = range.bounds();
        let stored = self.snapshot.range(DOCUMENTS, from, to);
        if self.pending.is_empty() {
            for entry in stored {
                let (key, value) = entry?;
                if let Some(place) = self.show(range, &key, value, visit)? {
                    return Ok(Some(place));
                }
            }
            return Ok(None);
        }
        let bounds = (
            Bound::Included(from),
            to.map_or(Bound::Unbounded, Bound::Excluded),
        );
        let mut pending = self.pending.range::<[u8], _>(bounds).peekable();
        for entry in stored {
            let (key, value) = entry?;
            while let Some((first, first_value)) = pending.next_if(|(first, _)| **first < key) {
                if let Some(value) = first_value
                    && let Some(place) = self.show(range, first, value.clone(), visit)?
                {
                    return Ok(Some(place));
                }
            }
            let value = match pending.next_if(|(first, _)| **first == key) {
                Some((_, hiding)) => hiding.clone(),
                None => Some(value),
            };
            if let Some(value) = value
                && let Some(place) = self.show(range, &key, value, visit)?
            {
                return Ok(Some(place));
            }
        }
        for (key, value) in pending {
            if let Some(value) = value
                && let Some(place) = self.show(range, key, value.clone(), visit)?
            {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Shows one document if it is visible; gives its place if the page is full without it.
    fn show(
        &self,
        range: &ScanRange,
        key: &Bytes,
        value: Bytes,
        visit: &mut dyn FnMut(Scanned<'_>) -> Visit,
    ) -> Result<Option<Bytes>, Error> {
        if !range.has(&key[CONTAINER_BYTES..]) {
            return Ok(None);
        }
        let item = StoredItem::decode(value)?;
        let place = key.slice(CONTAINER_BYTES..);
        let scanned = Scanned {
            place: &place,
            id: key
                .get(usize::from(item.header.prefix_bytes)..)
                .unwrap_or_default(),
            item: &item,
        };
        let is_full =
            item.is_visible(self.default_ttl, self.now_seconds) && visit(scanned) == Visit::Full;
        Ok(is_full.then_some(place))
    }
}
