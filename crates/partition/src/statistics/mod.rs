//! Index statistics, updated in the same batch as the index.
//!
//! Similar documents touch the same indexes again and again, and every group of writes touches all
//! of them. So the statistics of many indexes share a [`page`], which each group writes once, and
//! the writer caches the pages ([`StatisticsCache`]) instead of reading them back. Readers read a
//! page once ([`StatisticsReader`]) for all plans until the next write.

mod cache;
mod page;
mod reader;

use bytes::Bytes;
use orrery_index::IndexHash;

use crate::document_key::CONTAINER_BYTES;

pub(crate) use cache::StatisticsCache;
pub(crate) use page::{Slots, StatisticsRow, slot_key};
pub(crate) use reader::StatisticsReader;

/// Bytes of the container and the index hash, at the start of every entry.
pub(crate) const ENTRY_PREFIX_BYTES: usize = CONTAINER_BYTES + 8;

type IndexPrefix = [u8; ENTRY_PREFIX_BYTES];

/// An added or removed index entry.
#[derive(Debug, Clone)]
pub(crate) struct EntryChange {
    pub(crate) key: Bytes,
    pub(crate) key_position_bytes: usize,
    pub(crate) is_put: bool,
}

impl EntryChange {
    /// Whether the entry exists only in the statistics: the existence of a document needs no index
    /// row.
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

/// The common prefix of all entries of an index.
pub(crate) fn entry_prefix(container: u32, index: IndexHash) -> IndexPrefix {
    let mut prefix = [0; ENTRY_PREFIX_BYTES];
    prefix[..CONTAINER_BYTES].copy_from_slice(&container.to_be_bytes());
    prefix[CONTAINER_BYTES..].copy_from_slice(&index.0.to_be_bytes());
    prefix
}
