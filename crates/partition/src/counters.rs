//! The counters of a partition, stored in the same batch as its data.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::Error;
use crate::document_key::{container_of, prefix_end};

/// The state of a partition besides its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub lsn: Lsn,
    pub items: u64,
    /// Bytes of JSON text.
    pub bytes: u64,
    /// Sequence number of the next item that a transaction creates here.
    pub next_rid: u64,
    /// Sequence number of the next item that a script creates here. Scripts use the upper half of
    /// the numbers, because a script takes its numbers before its transaction is ordered.
    pub next_script_rid: u64,
    pub status: CounterStatus,
}

/// The accuracy of the counts of items and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CounterStatus {
    #[default]
    Exact,
    /// A share of an earlier count after a split, not yet counted exactly.
    Estimated,
    /// The partition was split or merged, and child partitions own its range.
    Superseded,
}

const COUNTERS_BYTES: usize = 48;

impl Counters {
    /// The counters for display: an estimate below zero counts as zero.
    #[must_use]
    pub(crate) fn for_display(self) -> Counters {
        let displayed = |count: u64| u64::try_from(count.cast_signed()).unwrap_or(0);
        Counters {
            items: displayed(self.items),
            bytes: displayed(self.bytes),
            ..self
        }
    }

    pub(crate) fn encode(self) -> Bytes {
        let fields = [
            self.lsn.0,
            self.items,
            self.bytes,
            self.next_rid,
            self.next_script_rid,
            self.status as u64,
        ];
        // Optional fields at the end are omitted, so that counters without them keep their original
        // encoding.
        let count = match (self.status, self.next_script_rid) {
            (CounterStatus::Exact, 0) => 4,
            (CounterStatus::Exact, _) => 5,
            _ => 6,
        };
        Bytes::from(fields.map(u64::to_le_bytes)[..count].concat())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Counters, Error> {
        let (fields, []) = bytes.as_chunks::<8>() else {
            return Err(damaged(bytes.len()));
        };
        if !(4..=6).contains(&fields.len()) {
            return Err(damaged(bytes.len()));
        }
        let field = |at: usize| fields.get(at).copied().map_or(0, u64::from_le_bytes);
        Ok(Counters {
            lsn: Lsn(field(0)),
            items: field(1),
            bytes: field(2),
            next_rid: field(3),
            next_script_rid: field(4),
            status: match field(5) {
                0 => CounterStatus::Exact,
                1 => CounterStatus::Estimated,
                2 => CounterStatus::Superseded,
                _ => return Err(damaged(bytes.len())),
            },
        })
    }
}

fn damaged(length: usize) -> Error {
    Error::Damaged(format!(
        "partition counters of {length} bytes do not decode; they have at most {COUNTERS_BYTES}"
    ))
}

/// The key of a partition's counters in the meta keyspace.
pub(crate) fn counters_key(container: u32, range: RangeId) -> [u8; 9] {
    let mut key = [b'p'; 9];
    key[1..5].copy_from_slice(&container.to_be_bytes());
    key[5..9].copy_from_slice(&range.0.to_be_bytes());
    key
}

/// The container of a counters key in the meta keyspace; `None` for any other key.
pub(crate) fn container_of_counters(key: &[u8]) -> Option<u32> {
    container_of(key.strip_prefix(b"p")?)
}

/// The key range of the counters of all partitions of a container.
pub(crate) fn counters_range(container: u32) -> (Vec<u8>, Option<Vec<u8>>) {
    let prefix = [&b"p"[..], &container.to_be_bytes()].concat();
    let end = prefix_end(&prefix);
    (prefix, end)
}

/// The key of the applied position in the meta keyspace.
pub(crate) const APPLIED_KEY: &[u8] = b"a";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_read_back_also_from_before_scripts() {
        let counters = Counters {
            lsn: Lsn(1),
            items: 2,
            bytes: 3,
            next_rid: 4,
            next_script_rid: 5,
            status: CounterStatus::Exact,
        };
        let bytes = counters.encode();
        assert_eq!(Counters::decode(&bytes).unwrap(), counters);
        for standing in [CounterStatus::Estimated, CounterStatus::Superseded] {
            let other = Counters {
                status: standing,
                ..counters
            };
            assert_eq!(Counters::decode(&other.encode()).unwrap(), other);
        }
        let before = Counters {
            next_script_rid: 0,
            ..counters
        };
        assert_eq!(before.encode(), bytes[..32]);
        assert_eq!(Counters::decode(&bytes[..32]).unwrap(), before);
        for length in [0, 8, 31, 33, 56] {
            assert!(Counters::decode(&vec![0; length]).is_err(), "{length}");
        }
    }
}
