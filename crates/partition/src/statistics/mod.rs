//! What is counted of each index, changed in the batch that changes the index.
//!
//! Documents of one kind touch the same indexes again and again, and every group of writes touches
//! them all. So the statistics of many indexes stand together in a [`page`], which is written once
//! for each group, and whoever writes keeps the pages it needs ([`Tallies`]) instead of reading them
//! back. A reader reads a page once ([`PagesRead`]), and for all plans until the next write.

mod page;
mod read;
mod tallies;

use bytes::Bytes;
use orrery_index::IndexHash;

use crate::document_key::CONTAINER_BYTES;

pub(crate) use page::{Row, Slots, slot_key};
pub(crate) use read::PagesRead;
pub(crate) use tallies::Tallies;

/// Container and hash of the index, at the beginning of every entry.
pub(crate) const ENTRY_PREFIX_BYTES: usize = CONTAINER_BYTES + 8;

type IndexPrefix = [u8; ENTRY_PREFIX_BYTES];

/// An index entry that comes or goes.
#[derive(Debug, Clone)]
pub(crate) struct EntryChange {
    pub(crate) key: Bytes,
    pub(crate) place_bytes: usize,
    pub(crate) is_put: bool,
}

impl EntryChange {
    /// Whether it stands in the statistics alone: that there is a document needs no entry.
    pub(crate) fn is_only_counted(&self) -> bool {
        is_only_counted(&self.key)
    }
}

pub(crate) fn is_only_counted(entry: &[u8]) -> bool {
    let hash = entry.get(CONTAINER_BYTES..ENTRY_PREFIX_BYTES);
    [IndexHash::ROOT, IndexHash::UNINDEXED]
        .iter()
        .any(|counted| hash == Some(&counted.0.to_be_bytes()[..]))
}

/// What every entry of an index begins with.
pub(crate) fn entry_prefix(container: u32, index: IndexHash) -> IndexPrefix {
    let mut prefix = [0; ENTRY_PREFIX_BYTES];
    prefix[..CONTAINER_BYTES].copy_from_slice(&container.to_be_bytes());
    prefix[CONTAINER_BYTES..].copy_from_slice(&index.0.to_be_bytes());
    prefix
}
