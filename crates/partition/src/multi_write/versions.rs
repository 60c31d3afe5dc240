//! The row of a document's hidden versions.
//!
//! ```text
//! flags 1 (1: the winning version is hidden, because of a unique key) | for each version:
//!   kind 1 | origin 1 | sequence 8 | deciding epoch 8 | second 4 | length 4 | stored document
//! ```
//!
//! The visible version is the document row itself. The versions row exists only while there are
//! hidden versions.

use bytes::Bytes;
use orrery_regions::{Epoch, RegionId, Sequence, SiblingVersion, VersionId, VersionKind};

use super::codec::{take, take_long};
use crate::Error;
use crate::stored_item::StoredItem;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const EXPIRY: u8 = 3;
const FLAG_CONTESTED: u8 = 1;

/// The stored part of a version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VersionBody {
    /// The stored document; `None` for a removal.
    pub(crate) stored: Option<Bytes>,
    /// Time of the version.
    pub(crate) seconds: u32,
}

pub(crate) type ItemVersion = SiblingVersion<VersionBody>;

/// The hidden versions of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VersionsRow {
    /// Whether the winning version is hidden, because another document holds a unique value that it
    /// claims.
    pub(crate) is_contested: bool,
    pub(crate) versions: Vec<ItemVersion>,
}

impl VersionsRow {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = vec![u8::from(self.is_contested) * FLAG_CONTESTED];
        for version in &self.versions {
            let kind = match version.change {
                VersionKind::Put(_) => PUT,
                VersionKind::Delete => DELETE,
                VersionKind::Expiry => EXPIRY,
            };
            out.extend_from_slice(&[kind, version.id.origin.0]);
            out.extend_from_slice(&version.id.sequence.0.to_le_bytes());
            let deciding_epoch = version.deciding_epoch.unwrap_or(Epoch::NONE);
            out.extend_from_slice(&deciding_epoch.0.to_le_bytes());
            out.extend_from_slice(&version.body.seconds.to_le_bytes());
            let stored = version.body.stored.as_deref().unwrap_or_default();
            let length = u32::try_from(stored.len()).expect("documents are bounded by limits");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(stored);
        }
        out.into()
    }

    pub(crate) fn decode(row: &Bytes) -> Result<VersionsRow, Error> {
        let damaged = || Error::Damaged("a row of versions does not decode".to_owned());
        let mut bytes = &row[..];
        let [flags] = *take::<1>(&mut bytes).ok_or_else(damaged)?;
        let mut versions = Vec::new();
        while !bytes.is_empty() {
            let (header, length) = header(&mut bytes).ok_or_else(damaged)?;
            let (stored, rest) = bytes.split_at_checked(length).ok_or_else(damaged)?;
            bytes = rest;
            versions.push(match header.kind {
                PUT => {
                    let version = put(row.slice_ref(stored))?;
                    if version.id != header.version_id {
                        return Err(damaged());
                    }
                    version
                }
                DELETE => removal(
                    VersionKind::Delete,
                    header.version_id,
                    header.deciding_epoch,
                    header.seconds,
                ),
                EXPIRY => removal(
                    VersionKind::Expiry,
                    header.version_id,
                    header.deciding_epoch,
                    header.seconds,
                ),
                _ => return Err(damaged()),
            });
        }
        Ok(VersionsRow {
            is_contested: flags & FLAG_CONTESTED != 0,
            versions,
        })
    }
}

struct VersionHeader {
    kind: u8,
    version_id: VersionId,
    deciding_epoch: Epoch,
    seconds: u32,
}

fn header(bytes: &mut &[u8]) -> Option<(VersionHeader, usize)> {
    let [kind, origin] = *take::<2>(bytes)?;
    let head = VersionHeader {
        kind,
        version_id: VersionId {
            origin: RegionId(origin),
            sequence: Sequence(take_long(bytes)?),
        },
        deciding_epoch: Epoch(take_long(bytes)?),
        seconds: u32::from_le_bytes(*take(bytes)?),
    };
    let length = usize::try_from(u32::from_le_bytes(*take(bytes)?)).ok()?;
    Some((head, length))
}

/// A stored document as a version. A document from before the account had several write regions
/// counts as seen by every region.
pub(crate) fn put(stored: Bytes) -> Result<ItemVersion, Error> {
    let item = StoredItem::decode(stored.clone())?;
    let seconds = item.header.modified_seconds;
    let (version_id, number, deciding_epoch) = match item.header.version {
        Some(version) => (version.id, version.number, version.deciding_epoch),
        None => {
            let version_id = VersionId {
                origin: RegionId(0),
                sequence: Sequence::ZERO,
            };
            (version_id, f64::from(seconds), Epoch::NONE)
        }
    };
    let claim = |digest: crate::stored_item::Digest| {
        digest.first_chunk().copied().map_or(0, u64::from_le_bytes)
    };
    Ok(SiblingVersion {
        id: version_id,
        change: VersionKind::Put(number),
        etag: 0,
        deciding_epoch: some_epoch(deciding_epoch),
        unique_claims: item.digests().map(claim).collect(),
        body: VersionBody {
            stored: Some(stored),
            seconds,
        },
    })
}

pub(crate) fn removal(
    change: VersionKind,
    version_id: VersionId,
    deciding_epoch: Epoch,
    seconds: u32,
) -> ItemVersion {
    SiblingVersion {
        id: version_id,
        change,
        etag: 0,
        deciding_epoch: some_epoch(deciding_epoch),
        unique_claims: Vec::new(),
        body: VersionBody {
            stored: None,
            seconds,
        },
    }
}

fn some_epoch(epoch: Epoch) -> Option<Epoch> {
    (epoch != Epoch::NONE).then_some(epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_damage_is_told() {
        let version_id = |origin, sequence| VersionId {
            origin: RegionId(origin),
            sequence: Sequence(sequence),
        };
        let row = VersionsRow {
            is_contested: true,
            versions: vec![
                removal(VersionKind::Delete, version_id(2, 9), Epoch(4), 77),
                removal(VersionKind::Expiry, version_id(1, 8), Epoch::NONE, 78),
            ],
        };
        let bytes = row.encode();
        assert_eq!(VersionsRow::decode(&bytes).unwrap(), row);
        for cut in [0, 2, bytes.len() - 1] {
            assert!(VersionsRow::decode(&bytes.slice(..cut)).is_err(), "{cut}");
        }
    }
}
