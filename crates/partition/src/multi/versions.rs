//! The row of a document with the versions that are not shown.
//!
//! ```text
//! flags 1 (1: the version that stands is not shown, because of a unique key) | for each version:
//!   kind 1 | origin 1 | sequence 8 | deciding epoch 8 | second 4 | length 4 | stored document
//! ```
//!
//! The shown version is the document itself. There is a row only while there is something to say.

use bytes::Bytes;
use orrery_regions::{Change, Epoch, RegionId, Sequence, Stamp, Version};

use super::codec::{take, take_long};
use crate::Error;
use crate::stored::StoredItem;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const EXPIRY: u8 = 3;
const FLAG_CONTESTED: u8 = 1;

/// What is kept of a version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// As it is stored; none of a removal.
    pub(crate) stored: Option<Bytes>,
    /// When it was made.
    pub(crate) seconds: u32,
}

pub(crate) type ItemVersion = Version<Kept>;

/// What is beside a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    /// Whether the version that stands is not shown because another document holds what it claims.
    pub(crate) is_contested: bool,
    pub(crate) versions: Vec<ItemVersion>,
}

impl Row {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = vec![u8::from(self.is_contested) * FLAG_CONTESTED];
        for version in &self.versions {
            let kind = match version.change {
                Change::Put(_) => PUT,
                Change::Delete => DELETE,
                Change::Expiry => EXPIRY,
            };
            out.extend_from_slice(&[kind, version.stamp.origin.0]);
            out.extend_from_slice(&version.stamp.sequence.0.to_le_bytes());
            let decided = version.decided.unwrap_or(Epoch::NONE);
            out.extend_from_slice(&decided.0.to_le_bytes());
            out.extend_from_slice(&version.body.seconds.to_le_bytes());
            let stored = version.body.stored.as_deref().unwrap_or_default();
            let length = u32::try_from(stored.len()).expect("documents are bounded by limits");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(stored);
        }
        out.into()
    }

    pub(crate) fn decode(row: &Bytes) -> Result<Row, Error> {
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
                    if version.stamp != header.stamp {
                        return Err(damaged());
                    }
                    version
                }
                DELETE => removal(Change::Delete, header.stamp, header.decided, header.seconds),
                EXPIRY => removal(Change::Expiry, header.stamp, header.decided, header.seconds),
                _ => return Err(damaged()),
            });
        }
        Ok(Row {
            is_contested: flags & FLAG_CONTESTED != 0,
            versions,
        })
    }
}

struct Head {
    kind: u8,
    stamp: Stamp,
    decided: Epoch,
    seconds: u32,
}

fn header(bytes: &mut &[u8]) -> Option<(Head, usize)> {
    let [kind, origin] = *take::<2>(bytes)?;
    let head = Head {
        kind,
        stamp: Stamp {
            origin: RegionId(origin),
            sequence: Sequence(take_long(bytes)?),
        },
        decided: Epoch(take_long(bytes)?),
        seconds: u32::from_le_bytes(*take(bytes)?),
    };
    let length = usize::try_from(u32::from_le_bytes(*take(bytes)?)).ok()?;
    Some((head, length))
}

/// A stored document as a version. What was written before there were several regions has been seen
/// by everybody.
pub(crate) fn put(stored: Bytes) -> Result<ItemVersion, Error> {
    let item = StoredItem::decode(stored.clone())?;
    let seconds = item.header.modified_seconds;
    let (stamp, number, decided) = match item.header.version {
        Some(version) => (version.stamp, version.number, version.decided),
        None => {
            let stamp = Stamp {
                origin: RegionId(0),
                sequence: Sequence::ZERO,
            };
            (stamp, f64::from(seconds), Epoch::NONE)
        }
    };
    let claim =
        |digest: crate::stored::Digest| digest.first_chunk().copied().map_or(0, u64::from_le_bytes);
    Ok(Version {
        stamp,
        change: Change::Put(number),
        etag: 0,
        decided: some_epoch(decided),
        claims: item.digests().map(claim).collect(),
        body: Kept {
            stored: Some(stored),
            seconds,
        },
    })
}

pub(crate) fn removal(change: Change, stamp: Stamp, decided: Epoch, seconds: u32) -> ItemVersion {
    Version {
        stamp,
        change,
        etag: 0,
        decided: some_epoch(decided),
        claims: Vec::new(),
        body: Kept {
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
        let stamp = |origin, sequence| Stamp {
            origin: RegionId(origin),
            sequence: Sequence(sequence),
        };
        let row = Row {
            is_contested: true,
            versions: vec![
                removal(Change::Delete, stamp(2, 9), Epoch(4), 77),
                removal(Change::Expiry, stamp(1, 8), Epoch::NONE, 78),
            ],
        };
        let bytes = row.encode();
        assert_eq!(Row::decode(&bytes).unwrap(), row);
        for cut in [0, 2, bytes.len() - 1] {
            assert!(Row::decode(&bytes.slice(..cut)).is_err(), "{cut}");
        }
    }
}
