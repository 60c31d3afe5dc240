//! The keys of the change feed of a physical partition.
//!
//! ```text
//! container (4 bytes) | partition (4) | LSN (8) | position in the record (2), all big endian
//! ```
//!
//! An entry keeps the partition in which it was created: a split or a merge moves no entry, and a
//! reader of a partition also reads the entries of its ancestors.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::document_key::CONTAINER_BYTES;

const KEY_BYTES: usize = 18;

pub(crate) fn entry_key(container: u32, range: RangeId, lsn: Lsn, ordinal: u16) -> Bytes {
    let mut key = [0; KEY_BYTES];
    key[..4].copy_from_slice(&container.to_be_bytes());
    key[4..8].copy_from_slice(&range.0.to_be_bytes());
    key[8..16].copy_from_slice(&lsn.0.to_be_bytes());
    key[16..].copy_from_slice(&ordinal.to_be_bytes());
    Bytes::copy_from_slice(&key)
}

/// The end of the feed of a partition: the first key after all its entries.
pub(crate) fn run_end(container: u32, range: RangeId) -> Bytes {
    entry_key(container, RangeId(range.0 + 1), Lsn(0), 0)
}

pub(crate) fn lsn_of(key: &[u8]) -> Option<Lsn> {
    let lsn = key.get(8..16)?.first_chunk()?;
    Some(Lsn(u64::from_be_bytes(*lsn)))
}

/// The value of a feed entry: the second of the change, and the key position of the document.
pub(crate) fn entry_value(seconds: u32, document_key: &[u8]) -> Bytes {
    [&seconds.to_be_bytes()[..], &document_key[CONTAINER_BYTES..]]
        .concat()
        .into()
}

pub(crate) fn decode_value(value: &Bytes) -> Option<(u32, Bytes)> {
    let seconds = u32::from_be_bytes(*value.first_chunk()?);
    Some((seconds, value.slice(4..)))
}
