//! The keys of documents: container, logical partition, id.
//!
//! ```text
//! container (4 bytes, big endian) | logical partition (begins with the EPK) | id
//! ```
//!
//! So the documents of a physical partition are one key range, and those of a logical partition as
//! well.

use bytes::Bytes;
use orrery_keys::PartitionKey;

use crate::Container;

pub(crate) const CONTAINER_BYTES: usize = 4;

/// The common key prefix of the documents in one logical partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogicalPartition {
    prefix: Bytes,
}

impl LogicalPartition {
    pub(crate) fn new(container: &Container, key: &PartitionKey) -> LogicalPartition {
        let mut prefix = Vec::with_capacity(96);
        prefix.extend_from_slice(&container.rid.id().to_be_bytes());
        container
            .definition
            .partition_key
            .definition()
            .storage_prefix(key, &mut prefix);
        LogicalPartition {
            prefix: prefix.into(),
        }
    }

    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    pub(crate) fn prefix_bytes(&self) -> Bytes {
        self.prefix.clone()
    }

    /// The prefix without the container: the key position that the EPK ranges of the container are
    /// compared with.
    pub(crate) fn key_position(&self) -> &[u8] {
        &self.prefix[CONTAINER_BYTES..]
    }

    pub(crate) fn document_key(&self, id: &str) -> Bytes {
        [&self.prefix[..], id.as_bytes()].concat().into()
    }
}

/// The container number at the start of a key.
pub(crate) fn container_of(key: &[u8]) -> Option<u32> {
    key.first_chunk().copied().map(u32::from_be_bytes)
}

/// The smallest key above all keys with this prefix; `None` if every byte is `FF`.
pub(crate) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
