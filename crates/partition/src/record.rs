//! One committed transaction as it stands in the log.
//!
//! A record says which documents a transaction wrote and removed; everything else that changes
//! with them is derived by [`crate::apply`]. Times, ids and LSNs are chosen before the append, so
//! that the same log gives the same state everywhere.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use orrery_regions::{Epoch, Stamp};

use crate::multi::{AccountChange, Merged, Stamped, decode_stamped, encode_stamped};
use crate::{Counters, Error};

const VERSION: u8 = 1;
const KIND_ITEMS: u8 = 1;
const KIND_CATALOGUE: u8 = 2;
const KIND_EXPIRY: u8 = 3;
const KIND_RANGES: u8 = 4;
const KIND_NOTE: u8 = 5;
/// In multi-write stores: items of this region, items of another one, the account stream.
const KIND_STAMPED: u8 = 16;
const KIND_MERGED: u8 = 17;
const KIND_ACCOUNT: u8 = 18;
const CHANGE_PUT: u8 = 1;
const CHANGE_DELETE: u8 = 2;

/// A key and its new value; none removes it.
pub(crate) type Change = (Bytes, Option<Bytes>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    Items {
        moment: Moment,
        changes: Vec<Change>,
        /// In multi-write stores, what makes it a record of the stream of this region.
        stamped: Option<Box<Stamped>>,
    },
    /// Items of another region.
    Merged(Box<Merged>),
    /// A record of the account stream of a multi-write account.
    Account(AccountChange),
    Catalogue {
        changes: Vec<Change>,
    },
    /// What others than the store keep with its records; the newest stands in the state.
    Note {
        text: Bytes,
    },
    /// Physical partitions get other counters, or their first or last ones, along with a change of
    /// the catalogue.
    Ranges {
        container: u32,
        counters: Vec<(RangeId, Counters)>,
        changes: Vec<Change>,
    },
}

/// Where and when items change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) container: u32,
    pub(crate) range: RangeId,
    pub(crate) lsn: Lsn,
    pub(crate) seconds: u32,
    /// Whether the items go because their time is over.
    pub(crate) is_expiry: bool,
    /// The stamp of this region that they get, and the epoch of the hub if it settles a conflict.
    pub(crate) stamp: Option<Stamp>,
    pub(crate) decided: Epoch,
}

impl Record {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let changes = match self {
            Record::Items {
                moment,
                changes,
                stamped,
            } => {
                if let Some(stamped) = stamped {
                    out.extend_from_slice(&[VERSION, KIND_STAMPED]);
                    encode_stamped(stamped, out);
                }
                encode_moment(moment, out);
                changes
            }
            Record::Merged(merged) => {
                out.extend_from_slice(&[VERSION, KIND_MERGED]);
                out.extend_from_slice(&merged.lsn.0.to_le_bytes());
                out.push(u8::from(merged.is_own));
                encode_stamped(&merged.stamped, out);
                encode_moment(&merged.moment, out);
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

    /// The text of a note, without a look at other kinds of records.
    pub(crate) fn text_of_note(payload: &[u8]) -> Option<&[u8]> {
        match payload.split_first_chunk() {
            Some(([VERSION, KIND_NOTE], text)) => Some(text),
            _ => None,
        }
    }

    /// As it stands in the log.
    pub(crate) fn payload(&self) -> Bytes {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes.into()
    }

    /// The documents that it changes.
    pub(crate) fn item_changes(&self) -> &[Change] {
        match self {
            Record::Items { changes, .. } => changes,
            Record::Merged(merged) => &merged.changes,
            Record::Account(_)
            | Record::Catalogue { .. }
            | Record::Ranges { .. }
            | Record::Note { .. } => &[],
        }
    }

    /// Bytes of keys and values.
    pub(crate) fn changes_bytes(changes: &[Change]) -> usize {
        changes
            .iter()
            .map(|(key, value)| key.len() + value.as_ref().map_or(0, Bytes::len))
            .sum()
    }
}

pub(crate) fn encode_changes(changes: &[Change], out: &mut Vec<u8>) {
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

fn encode_moment(moment: &Moment, out: &mut Vec<u8>) {
    let kind = if moment.is_expiry {
        KIND_EXPIRY
    } else {
        KIND_ITEMS
    };
    out.extend_from_slice(&[VERSION, kind]);
    out.extend_from_slice(&moment.container.to_le_bytes());
    out.extend_from_slice(&moment.range.0.to_le_bytes());
    out.extend_from_slice(&moment.lsn.0.to_le_bytes());
    out.extend_from_slice(&moment.seconds.to_le_bytes());
}

/// The part of a record that other regions are given, its envelope and what is in it; none of
/// records that are of no region stream.
pub(crate) fn stream_part(payload: &[u8]) -> Option<&[u8]> {
    const MERGED_HEAD_BYTES: usize = 9;
    let (head, bytes) = payload.split_first_chunk::<2>()?;
    match *head {
        [VERSION, KIND_STAMPED] => Some(bytes),
        [VERSION, KIND_MERGED] => bytes.get(MERGED_HEAD_BYTES..),
        _ => None,
    }
}

/// The changes of items that were written somewhere, and where.
pub(crate) fn decode_items(bytes: &[u8]) -> Option<(Moment, Vec<Change>)> {
    match decode(bytes)? {
        Record::Items {
            moment,
            changes,
            stamped: None,
        } => Some((moment, changes)),
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
            let moment = Moment {
                container: u32::from_le_bytes(*take(&mut bytes)?),
                range: RangeId(u32::from_le_bytes(*take(&mut bytes)?)),
                lsn: Lsn(u64::from_le_bytes(*take(&mut bytes)?)),
                seconds: u32::from_le_bytes(*take(&mut bytes)?),
                is_expiry: kind == KIND_EXPIRY,
                stamp: None,
                decided: Epoch::NONE,
            };
            let changes = decode_changes(bytes)?;
            Some(Record::Items {
                moment,
                changes,
                stamped: None,
            })
        }
        KIND_STAMPED => {
            let stamped = decode_stamped(&mut bytes)?;
            let (moment, changes) = decode_items(bytes)?;
            let moment = Moment {
                stamp: Some(stamped.stamp),
                decided: stamped.decided,
                ..moment
            };
            Some(Record::Items {
                moment,
                changes,
                stamped: Some(Box::new(stamped)),
            })
        }
        KIND_MERGED => {
            let lsn = Lsn(u64::from_le_bytes(*take(&mut bytes)?));
            let [is_own] = *take::<1>(&mut bytes)?;
            let stamped = decode_stamped(&mut bytes)?;
            let (moment, changes) = decode_items(bytes)?;
            Some(Record::Merged(Box::new(Merged {
                lsn,
                is_own: is_own != 0,
                stamped,
                moment,
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

pub(crate) fn decode_changes(mut bytes: &[u8]) -> Option<Vec<Change>> {
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
        let moment = |is_expiry| Moment {
            container: 5,
            range: RangeId(1),
            lsn: Lsn(9),
            seconds: 77,
            is_expiry,
            stamp: None,
            decided: Epoch::NONE,
        };
        let stamp = Stamp {
            origin: RegionId(1),
            sequence: Sequence(8),
        };
        let stamped = Stamped {
            stamp,
            epoch: Epoch(1),
            deps: [(StreamId::Account, Sequence(3))].into_iter().collect(),
            decided: Epoch(2),
            expired: vec![1],
        };
        for record in [
            Record::Items {
                moment: moment(false),
                changes: changes.clone(),
                stamped: None,
            },
            Record::Items {
                moment: moment(true),
                changes: changes.clone(),
                stamped: None,
            },
            Record::Items {
                moment: Moment {
                    stamp: Some(stamp),
                    decided: Epoch(2),
                    ..moment(true)
                },
                changes: changes.clone(),
                stamped: Some(Box::new(stamped.clone())),
            },
            Record::Merged(Box::new(Merged {
                lsn: Lsn(4),
                is_own: true,
                stamped,
                moment: moment(false),
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
