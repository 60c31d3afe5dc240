//! The access table: the keys whose writes this region takes, in an account that fails over single
//! partitions.
//!
//! Every such region stores all items and has its own stream, but only one region takes the writes
//! of each key. A driver decides which region that is; this module only looks up the decision, by
//! container and effective partition key, so splits and merges do not affect it. The committer's
//! thread replaces the table between two groups: after the replacement, no later record of this
//! region concerns a key that the new table closes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use orrery_model::Failure;

use crate::command::Command;
use crate::document_key::{CONTAINER_BYTES, container_of};
use crate::work::Work;
use crate::{Container, LogicalPartition, Partition, Reply, Store};

/// Effective partition keys of one container, from `min` up to but without `max`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// The container number.
    pub container: u32,
    /// Without trailing zeros, like `max`.
    pub min: Bytes,
    pub max: Bytes,
}

/// The handling of requests for a key in this region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAccess {
    Open,
    /// Writes are rejected, but this region may take them shortly.
    TakingOver,
    /// Another region takes the writes.
    Closed,
    /// Reads and writes are rejected.
    Down,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessTable {
    /// The access of keys outside all ranges.
    pub default: KeyAccess,
    /// The last range that contains a key decides.
    pub ranges: Vec<(KeyRange, KeyAccess)>,
}

/// The current access table. A store whose account does not fail over partitions never gets a
/// table, and every lookup returns `Open`.
#[derive(Debug)]
pub(crate) struct SharedAccessTable {
    is_divided: AtomicBool,
    /// Whether some key rejects writes or reads. These flags spare most requests the lock of the
    /// table.
    refuses_writes: AtomicBool,
    refuses_reads: AtomicBool,
    /// Whether some key is `TakingOver`, so that its writes may wait.
    delays_writes: AtomicBool,
    table: RwLock<Arc<AccessTable>>,
}

impl KeyRange {
    /// The key range that a partition owns now.
    pub fn of(container: &Container, partition: &Partition) -> KeyRange {
        let bytes = |epk: &orrery_keys::Epk| Bytes::copy_from_slice(epk.significant_bytes());
        KeyRange {
            container: container.rid.id(),
            min: bytes(&partition.range.min),
            max: bytes(&partition.range.max),
        }
    }

    /// Whether the range contains a key position.
    pub fn contains(&self, container: u32, key_position: &[u8]) -> bool {
        self.container == container && self.min <= key_position && key_position < &self.max[..]
    }

    pub fn overlaps(&self, other: &KeyRange) -> bool {
        self.container == other.container && self.min < other.max && other.min < self.max
    }

    /// Whether this range includes the whole other range.
    pub fn covers(&self, other: &KeyRange) -> bool {
        self.container == other.container && self.min <= other.min && other.max <= self.max
    }
}

impl AccessTable {
    /// A table that rejects the writes of every key.
    pub fn closed() -> AccessTable {
        AccessTable {
            default: KeyAccess::Closed,
            ranges: Vec::new(),
        }
    }

    pub fn of(&self, container: u32, key_position: &[u8]) -> KeyAccess {
        let mut ranges = self.ranges.iter().rev();
        let found = ranges.find(|(keys, _)| keys.contains(container, key_position));
        found.map_or(self.default, |(_, access)| *access)
    }

    /// Whether some key of a range is down.
    fn is_down_in(&self, keys: &KeyRange) -> bool {
        // The access changes only at the bounds of ranges, so the first key of the range and the
        // bounds inside the range show every access that occurs there.
        let bounds = self.ranges.iter().flat_map(|(range, _)| {
            let is_inside = |bound: &&Bytes| keys.contains(range.container, bound);
            [&range.min, &range.max].into_iter().filter(is_inside)
        });
        let mut positions = std::iter::once(&keys.min).chain(bounds);
        positions.any(|position| self.of(keys.container, position) == KeyAccess::Down)
    }

    fn has(&self, refuses: impl Fn(KeyAccess) -> bool) -> bool {
        refuses(self.default) || self.ranges.iter().any(|(_, access)| refuses(*access))
    }
}

impl Default for SharedAccessTable {
    fn default() -> SharedAccessTable {
        let open = AccessTable {
            default: KeyAccess::Open,
            ranges: Vec::new(),
        };
        SharedAccessTable {
            is_divided: AtomicBool::new(false),
            refuses_writes: AtomicBool::new(false),
            refuses_reads: AtomicBool::new(false),
            delays_writes: AtomicBool::new(false),
            table: RwLock::new(Arc::new(open)),
        }
    }
}

impl SharedAccessTable {
    pub(crate) fn set(&self, table: AccessTable) {
        let refuses_writes = table.has(|access| access != KeyAccess::Open);
        let refuses_reads = table.has(|access| access == KeyAccess::Down);
        let delays_writes = table.has(|access| access == KeyAccess::TakingOver);
        // The table is stored before the flags: a request that sees a flag set finds a table that
        // justifies it.
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        self.is_divided.store(true, Ordering::Release);
        self.refuses_writes.store(refuses_writes, Ordering::Release);
        self.refuses_reads.store(refuses_reads, Ordering::Release);
        self.delays_writes.store(delays_writes, Ordering::Release);
    }

    fn of(&self, container: u32, key_position: &[u8]) -> KeyAccess {
        let table = self.table.read();
        table
            .unwrap_or_else(PoisonError::into_inner)
            .of(container, key_position)
    }

    /// The access of a key for writes.
    pub(crate) fn of_write(&self, container: u32, key_position: &[u8]) -> KeyAccess {
        if self.refuses_writes.load(Ordering::Acquire) {
            self.of(container, key_position)
        } else {
            KeyAccess::Open
        }
    }

    pub(crate) fn check_write(&self, container: u32, key_position: &[u8]) -> Result<(), Failure> {
        match self.of_write(container, key_position) {
            KeyAccess::Open => Ok(()),
            KeyAccess::TakingOver | KeyAccess::Closed => Err(Failure::WriteForbidden),
            KeyAccess::Down => Err(down()),
        }
    }

    /// Whether this region takes writes of a stored document key.
    pub(crate) fn takes_writes_of(&self, key: &[u8]) -> bool {
        let key_position = key.get(CONTAINER_BYTES..).unwrap_or_default();
        container_of(key)
            .is_none_or(|number| self.of_write(number, key_position) == KeyAccess::Open)
    }

    fn check_read(&self, keys: impl FnOnce() -> KeyRange) -> Result<(), Failure> {
        if !self.refuses_reads.load(Ordering::Acquire) {
            return Ok(());
        }
        let table = self.table.read();
        let table = table.unwrap_or_else(PoisonError::into_inner);
        if table.is_down_in(&keys()) {
            return Err(down());
        }
        Ok(())
    }
}

impl Store {
    /// Whether the regions divide the keys among themselves.
    pub fn has_access_table(&self) -> bool {
        let multi = self.multi.as_ref();
        multi.is_some_and(|multi| multi.access.is_divided.load(Ordering::Acquire))
    }

    /// Whether this region may take the writes of some `TakingOver` key shortly.
    pub fn may_delay_writes(&self) -> bool {
        let multi = self.multi.as_ref();
        multi.is_some_and(|multi| multi.access.delays_writes.load(Ordering::Acquire))
    }

    /// Closes all keys. The owner calls this before the first write.
    pub fn close_all_keys(&self) {
        if let Some(multi) = &self.multi {
            multi.access.set(AccessTable::closed());
        }
    }

    /// Queues a new table. When the reply comes, all records of this region for newly closed keys
    /// are applied, and none follows.
    pub fn submit_access(&self, table: AccessTable, reply: Reply<()>) {
        self.send(Command::Work(Work::Access(table, reply)));
    }

    pub fn write_access(&self, container: &Container, logical: &LogicalPartition) -> KeyAccess {
        self.multi.as_ref().map_or(KeyAccess::Open, |multi| {
            multi
                .access
                .of_write(container.rid.id(), logical.key_position())
        })
    }

    /// Rejects a read of a partition that is down in this region, in its whole range or in a part of
    /// it: a partition that is down may have been merged with its neighbour, which is not.
    pub fn check_read(&self, container: &Container, partition: &Partition) -> Result<(), Failure> {
        self.multi.as_ref().map_or(Ok(()), |multi| {
            let keys = || KeyRange::of(container, partition);
            multi.access.check_read(keys)
        })
    }

    /// Whether this region takes writes of a stored document.
    pub fn takes(&self, key: &[u8]) -> bool {
        let multi = self.multi.as_ref();
        multi.is_none_or(|multi| multi.access.takes_writes_of(key))
    }
}

/// The error for a key that is down.
fn down() -> Failure {
    Failure::Unavailable(
        "Service is currently unavailable. This partition was taken down in this region."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(container: u32, min: &'static [u8], max: &'static [u8]) -> KeyRange {
        KeyRange {
            container,
            min: Bytes::from_static(min),
            max: Bytes::from_static(max),
        }
    }

    #[test]
    fn the_last_range_that_has_a_key_counts() {
        let access = SharedAccessTable::default();
        assert_eq!(access.of_write(1, b"\x10"), KeyAccess::Open);
        access.set(AccessTable {
            default: KeyAccess::Closed,
            ranges: vec![
                (keys(1, b"", b"\x20"), KeyAccess::Open),
                (keys(1, b"\x10", b"\x18"), KeyAccess::TakingOver),
                (keys(1, b"\x1f", b"\x30"), KeyAccess::Down),
            ],
        });
        for (container, key_position, write, reads) in [
            (1, &b"\x05"[..], Ok(()), true),
            (1, b"\x0f\xff", Ok(()), true),
            (1, b"\x10", Err(Failure::WriteForbidden), true),
            (1, b"\x17\xff", Err(Failure::WriteForbidden), true),
            (1, b"\x18", Ok(()), true),
            (1, b"\x1f", Err(down()), false),
            (1, b"\x30", Err(Failure::WriteForbidden), true),
            (2, b"\x05", Err(Failure::WriteForbidden), true),
        ] {
            assert_eq!(
                access.check_write(container, key_position),
                write,
                "{key_position:?}"
            );
            let keys = KeyRange {
                container,
                min: Bytes::from_static(key_position),
                max: [key_position, &[0]].concat().into(),
            };
            assert_eq!(
                access.check_read(|| keys).is_ok(),
                reads,
                "{key_position:?}"
            );
            let key = [&container.to_be_bytes()[..], key_position].concat();
            assert_eq!(access.takes_writes_of(&key), write.is_ok());
        }
    }

    #[test]
    fn a_partition_that_is_down_in_a_part_answers_no_read() {
        let access = SharedAccessTable::default();
        access.set(AccessTable {
            default: KeyAccess::Open,
            ranges: vec![
                (keys(1, b"\x20", b"\x30"), KeyAccess::Down),
                (keys(1, b"\x40", b"\x50"), KeyAccess::Down),
                (keys(1, b"\x40", b"\x60"), KeyAccess::Open),
            ],
        });
        for (partition, reads) in [
            (keys(1, b"\x20", b"\x30"), false),
            // After a merge: the lower, the upper or the middle part is down.
            (keys(1, b"\x20", b"\x40"), false),
            (keys(1, b"", b"\x30"), false),
            (keys(1, b"", b"\xff"), false),
            // After a split.
            (keys(1, b"\x28", b"\x30"), false),
            (keys(1, b"", b"\x20"), true),
            (keys(1, b"\x30", b"\x40"), true),
            // A later range opens keys that an earlier range takes down.
            (keys(1, b"\x30", b"\xff"), true),
            (keys(2, b"", b"\xff"), true),
        ] {
            let is_read = access.check_read(|| partition.clone()).is_ok();
            assert_eq!(is_read, reads, "{partition:?}");
        }
    }

    #[test]
    fn ranges_compare_within_their_container() {
        let outer = keys(1, b"\x10", b"\x20");
        for (other, overlaps, covers) in [
            (keys(1, b"\x10", b"\x20"), true, true),
            (keys(1, b"\x12", b"\x14"), true, true),
            (keys(1, b"\x1f", b"\x21"), true, false),
            (keys(1, b"\x20", b"\x30"), false, false),
            (keys(2, b"\x10", b"\x20"), false, false),
        ] {
            assert_eq!(outer.overlaps(&other), overlaps, "{other:?}");
            assert_eq!(outer.covers(&other), covers, "{other:?}");
        }
    }
}
