//! What a partition counts, kept beside its data in the same batch.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::Error;
use crate::document_key::{container_of, prefix_end};

/// The state of a partition that is not documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub lsn: Lsn,
    pub items: u64,
    /// Bytes of JSON text.
    pub bytes: u64,
    /// Number of the next item created here.
    pub next_rid: u64,
    /// Number of the next item that a script creates here; they have a half of the numbers to
    /// themselves, because a script takes them before its turn comes.
    pub next_script_rid: u64,
    pub standing: Standing,
}

/// What the counts of items and bytes are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    #[default]
    Exact,
    /// A part of what was counted together, not yet counted alone.
    Estimated,
    /// Others have taken over what was here.
    Retired,
}

const COUNTERS_BYTES: usize = 48;

impl Counters {
    /// As somebody should see them: an estimate that more was taken from than it had is nothing.
    #[must_use]
    pub(crate) fn shown(self) -> Counters {
        let shown = |count: u64| u64::try_from(count.cast_signed()).unwrap_or(0);
        Counters {
            items: shown(self.items),
            bytes: shown(self.bytes),
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
            self.standing as u64,
        ];
        // What nothing has happened to stays as short as it was.
        let count = match (self.standing, self.next_script_rid) {
            (Standing::Exact, 0) => 4,
            (Standing::Exact, _) => 5,
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
            standing: match field(5) {
                0 => Standing::Exact,
                1 => Standing::Estimated,
                2 => Standing::Retired,
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

/// Key of the counters of a partition in the meta space.
pub(crate) fn counters_key(container: u32, range: RangeId) -> [u8; 9] {
    let mut key = [b'p'; 9];
    key[1..5].copy_from_slice(&container.to_be_bytes());
    key[5..9].copy_from_slice(&range.0.to_be_bytes());
    key
}

/// The container whose counters stand under a key of the meta space, if it is such a key.
pub(crate) fn container_of_counters(key: &[u8]) -> Option<u32> {
    container_of(key.strip_prefix(b"p")?)
}

/// Where the counters of all partitions of a container stand: from the first key up to the second.
pub(crate) fn counters_range(container: u32) -> (Vec<u8>, Option<Vec<u8>>) {
    let prefix = [&b"p"[..], &container.to_be_bytes()].concat();
    let end = prefix_end(&prefix);
    (prefix, end)
}

/// Key of the position applied last, in the meta space.
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
            standing: Standing::Exact,
        };
        let bytes = counters.encode();
        assert_eq!(Counters::decode(&bytes).unwrap(), counters);
        for standing in [Standing::Estimated, Standing::Retired] {
            let other = Counters {
                standing,
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
