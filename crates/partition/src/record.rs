//! The log record of one committed transaction.
//!
//! A record lists the documents that a transaction wrote and deleted. [`crate::apply`] derives all
//! other changes. Times, ids and LSNs are chosen before the append, so the same log always produces
//! the same state.

use bytes::Bytes;
use orrery_log::RecordBatch;
use orrery_model::{Lsn, RangeId};

use orrery_regions::{Epoch, VersionId};

use crate::multi_write::{
    AccountChange, MergedRecord, StreamHeader, decode_stream_header, encode_stream_header,
};
use crate::{Counters, Error};

const VERSION: u8 = 1;
const KIND_ITEMS: u8 = 1;
const KIND_CATALOGUE: u8 = 2;
const KIND_EXPIRY: u8 = 3;
const KIND_RANGES: u8 = 4;
const KIND_NOTE: u8 = 5;
/// Multi-write stores only: items of this region, items of another region, the account stream.
const KIND_REGION_ITEMS: u8 = 16;
const KIND_MERGED: u8 = 17;
const KIND_ACCOUNT: u8 = 18;
const CHANGE_PUT: u8 = 1;
const CHANGE_DELETE: u8 = 2;

/// A key with its new value; `None` deletes the key.
pub(crate) type KeyChange = (Bytes, Option<Bytes>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Items {
        header: RecordHeader,
        changes: Vec<KeyChange>,
        /// In multi-write stores, the header of this record in the region's stream.
        stream_header: Option<Box<StreamHeader>>,
    },
    /// Items of another region.
    Merged(Box<MergedRecord>),
    /// A record of the account stream of a multi-write account.
    Account(AccountChange),
    Catalogue {
        changes: Vec<KeyChange>,
    },
    /// An opaque note of the layer above the store. The state contains the newest note.
    Note {
        text: Bytes,
    },
    /// New counters of physical partitions (also the first or the last ones), together with a
    /// catalogue change.
    Ranges {
        container: u32,
        counters: Vec<(RangeId, Counters)>,
        changes: Vec<KeyChange>,
    },
}

/// The partition, LSN and time of a change of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) container: u32,
    pub(crate) range: RangeId,
    pub(crate) lsn: Lsn,
    pub(crate) seconds: u32,
    /// Whether the record removes expired items.
    pub(crate) is_expiry: bool,
    /// In multi-write stores, the version id of the items, and the epoch of the hub if the record
    /// decides a conflict.
    pub(crate) version_id: Option<VersionId>,
    pub(crate) deciding_epoch: Epoch,
}

/// Records that share one append; the log encodes each directly into its buffer.
pub(crate) struct Records<'a>(pub(crate) &'a [Record]);

impl RecordBatch for Records<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, index: usize, buffer: &mut Vec<u8>) {
        self.0[index].encode(buffer);
    }
}

impl Record {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let changes = match self {
            Record::Items {
                header,
                changes,
                stream_header,
            } => {
                if let Some(stream_header) = stream_header {
                    out.extend_from_slice(&[VERSION, KIND_REGION_ITEMS]);
                    encode_stream_header(stream_header, out);
                }
                encode_header(header, out);
                changes
            }
            Record::Merged(merged) => {
                out.extend_from_slice(&[VERSION, KIND_MERGED]);
                out.extend_from_slice(&merged.lsn.0.to_le_bytes());
                out.push(u8::from(merged.is_own));
                encode_stream_header(&merged.stream_header, out);
                encode_header(&merged.header, out);
                &merged.changes
            }
            Record::Account(account) => {
                out.extend_from_slice(&[VERSION, KIND_ACCOUNT]);
                account.encode(out);
                &account.changes
            }
            Record::Ranges {
                container,
                counters,
                changes,
            } => {
                out.extend_from_slice(&[VERSION, KIND_RANGES]);
                out.extend_from_slice(&container.to_le_bytes());
                let count = u32::try_from(counters.len()).expect("a few partitions");
                out.extend_from_slice(&count.to_le_bytes());
                for (range, counters) in counters {
                    out.extend_from_slice(&range.0.to_le_bytes());
                    write_sized(&counters.encode(), out);
                }
                changes
            }
            Record::Catalogue { changes } => {
                out.extend_from_slice(&[VERSION, KIND_CATALOGUE]);
                changes
            }
            Record::Note { text } => {
                out.extend_from_slice(&[VERSION, KIND_NOTE]);
                out.extend_from_slice(text);
                return;
            }
        };
        encode_changes(changes, out);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Record, Error> {
        decode(bytes).ok_or_else(|| {
            Error::Damaged(format!(
                "a log record of {} bytes does not decode",
                bytes.len()
            ))
        })
    }

    /// The text of a note, without decoding other kinds of records.
    pub(crate) fn text_of_note(payload: &[u8]) -> Option<&[u8]> {
        match payload.split_first_chunk() {
            Some(([VERSION, KIND_NOTE], text)) => Some(text),
            _ => None,
        }
    }

    /// The encoded record.
    pub(crate) fn payload(&self) -> Bytes {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes.into()
    }

    /// The documents that the record changes.
    pub(crate) fn item_changes(&self) -> &[KeyChange] {
        match self {
            Record::Items { changes, .. } => changes,
            Record::Merged(merged) => &merged.changes,
            Record::Account(_)
            | Record::Catalogue { .. }
            | Record::Ranges { .. }
            | Record::Note { .. } => &[],
        }
    }

    /// Total bytes of keys and values.
    pub(crate) fn changes_bytes(changes: &[KeyChange]) -> usize {
        changes
            .iter()
            .map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len))
            .sum()
    }
}

pub(crate) fn encode_changes(changes: &[KeyChange], out: &mut Vec<u8>) {
    for (key, value) in changes {
        match value {
            Some(value) => {
                out.push(CHANGE_PUT);
                write_sized(key, out);
                write_sized(value, out);
            }
            None => {
                out.push(CHANGE_DELETE);
                write_sized(key, out);
            }
        }
    }
}

fn encode_header(header: &RecordHeader, out: &mut Vec<u8>) {
    let kind = if header.is_expiry {
        KIND_EXPIRY
    } else {
        KIND_ITEMS
    };
    out.extend_from_slice(&[VERSION, kind]);
    out.extend_from_slice(&header.container.to_le_bytes());
    out.extend_from_slice(&header.range.0.to_le_bytes());
    out.extend_from_slice(&header.lsn.0.to_le_bytes());
    out.extend_from_slice(&header.seconds.to_le_bytes());
}

/// The part of a record that other regions receive: the stream header and the data. `None` for
/// records outside region streams.
pub(crate) fn stream_part(payload: &[u8]) -> Option<&[u8]> {
    const MERGED_HEAD_BYTES: usize = 9;
    let (head, bytes) = payload.split_first_chunk::<2>()?;
    match *head {
        [VERSION, KIND_REGION_ITEMS] => Some(bytes),
        [VERSION, KIND_MERGED] => bytes.get(MERGED_HEAD_BYTES..),
        _ => None,
    }
}

/// Decodes a plain item record: its header and its changes.
pub(crate) fn decode_items(bytes: &[u8]) -> Option<(RecordHeader, Vec<KeyChange>)> {
    match decode(bytes)? {
        Record::Items {
            header,
            changes,
            stream_header: None,
        } => Some((header, changes)),
        _ => None,
    }
}

fn write_sized(bytes: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("keys and documents are bounded by limits");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

fn decode(mut bytes: &[u8]) -> Option<Record> {
    let [VERSION, kind] = *take::<2>(&mut bytes)? else {
        return None;
    };
    match kind {
        KIND_ITEMS | KIND_EXPIRY => {
            let header = RecordHeader {
                container: u32::from_le_bytes(*take(&mut bytes)?),
                range: RangeId(u32::from_le_bytes(*take(&mut bytes)?)),
                lsn: Lsn(u64::from_le_bytes(*take(&mut bytes)?)),
                seconds: u32::from_le_bytes(*take(&mut bytes)?),
                is_expiry: kind == KIND_EXPIRY,
                version_id: None,
                deciding_epoch: Epoch::NONE,
            };
            let changes = decode_changes(bytes)?;
            Some(Record::Items {
                header,
                changes,
                stream_header: None,
            })
        }
        KIND_REGION_ITEMS => {
            let stream_header = decode_stream_header(&mut bytes)?;
            let (header, changes) = decode_items(bytes)?;
            let header = RecordHeader {
                version_id: Some(stream_header.version_id),
                deciding_epoch: stream_header.deciding_epoch,
                ..header
            };
            Some(Record::Items {
                header,
                changes,
                stream_header: Some(Box::new(stream_header)),
            })
        }
        KIND_MERGED => {
            let lsn = Lsn(u64::from_le_bytes(*take(&mut bytes)?));
            let [is_own] = *take::<1>(&mut bytes)?;
            let stream_header = decode_stream_header(&mut bytes)?;
            let (header, changes) = decode_items(bytes)?;
            Some(Record::Merged(Box::new(MergedRecord {
                lsn,
                is_own: is_own != 0,
                stream_header,
                header,
                changes,
            })))
        }
        KIND_ACCOUNT => {
            let account = AccountChange::decode(&mut bytes)?;
            let changes = decode_changes(bytes)?;
            Some(Record::Account(AccountChange { changes, ..account }))
        }
        KIND_RANGES => {
            let container = u32::from_le_bytes(*take(&mut bytes)?);
            let mut counters = Vec::new();
            for _ in 0..u32::from_le_bytes(*take(&mut bytes)?) {
                let range = RangeId(u32::from_le_bytes(*take(&mut bytes)?));
                let row = Counters::decode(&take_sized(&mut bytes)?).ok()?;
                counters.push((range, row));
            }
            let changes = decode_changes(bytes)?;
            Some(Record::Ranges {
                container,
                counters,
                changes,
            })
        }
        KIND_CATALOGUE => Some(Record::Catalogue {
            changes: decode_changes(bytes)?,
        }),
        KIND_NOTE => Some(Record::Note {
            text: Bytes::copy_from_slice(bytes),
        }),
        _ => None,
    }
}

pub(crate) fn decode_changes(mut bytes: &[u8]) -> Option<Vec<KeyChange>> {
    let mut changes = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        bytes = rest;
        let key = take_sized(&mut bytes)?;
        let value = match *kind {
            CHANGE_PUT => Some(take_sized(&mut bytes)?),
            CHANGE_DELETE => None,
            _ => return None,
        };
        changes.push((key, value));
    }
    Some(changes)
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(head)
}

fn take_sized(bytes: &mut &[u8]) -> Option<Bytes> {
    let length = usize::try_from(u32::from_le_bytes(*take(bytes)?)).ok()?;
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(Bytes::copy_from_slice(head))
}

#[cfg(test)]
mod tests {
    use orrery_regions::{RegionId, Sequence, StreamId};

    use super::*;

    #[test]
    fn records_read_back() {
        let changes = vec![
            ("a".into(), Some("1".into())),
            ("b".into(), None),
            ("c".into(), Some("".into())),
        ];
        let header = |is_expiry| RecordHeader {
            container: 5,
            range: RangeId(1),
            lsn: Lsn(9),
            seconds: 77,
            is_expiry,
            version_id: None,
            deciding_epoch: Epoch::NONE,
        };
        let version_id = VersionId {
            origin: RegionId(1),
            sequence: Sequence(8),
        };
        let stream_header = StreamHeader {
            version_id,
            epoch: Epoch(1),
            deps: [(StreamId::Account, Sequence(3))].into_iter().collect(),
            deciding_epoch: Epoch(2),
            expired: vec![1],
        };
        for record in [
            Record::Items {
                header: header(false),
                changes: changes.clone(),
                stream_header: None,
            },
            Record::Items {
                header: header(true),
                changes: changes.clone(),
                stream_header: None,
            },
            Record::Items {
                header: RecordHeader {
                    version_id: Some(version_id),
                    deciding_epoch: Epoch(2),
                    ..header(true)
                },
                changes: changes.clone(),
                stream_header: Some(Box::new(stream_header.clone())),
            },
            Record::Merged(Box::new(MergedRecord {
                lsn: Lsn(4),
                is_own: true,
                stream_header,
                header: header(false),
                changes: changes.clone(),
            })),
            Record::Account(AccountChange {
                sequence: Sequence(5),
                base: Sequence(4),
                changes: changes.clone(),
            }),
            Record::Ranges {
                container: 5,
                counters: vec![(RangeId(2), Counters::default())],
                changes: changes.clone(),
            },
            Record::Catalogue { changes },
            Record::Catalogue {
                changes: Vec::new(),
            },
            Record::Note { text: "n".into() },
        ] {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            assert_eq!(Record::decode(&bytes).unwrap(), record);
            for cut in 0..bytes.len() {
                let _ = Record::decode(&bytes[..cut]);
            }
        }
        assert!(Record::decode(&[9, 1]).is_err());
    }
}
