//! Which keys this region answers for, in an account that fails over single partitions.
//!
//! Every such region keeps all items and has a stream of its own, but of each key one region alone
//! takes the writes. Who that is, a driver decides; here it is only looked up, by container and
//! effective partition key, so that splits and merges change nothing. The table is replaced on the
//! committer's thread, between two groups: whoever has replaced it knows that no later record of
//! this region is about keys that were closed by it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use orrery_model::Failure;

use crate::document_key::{CONTAINER_BYTES, container_of};
use crate::{Container, LogicalPartition, Partition, Reply, Store};

use super::RegionCommand;

/// Effective partition keys of one container, from `min` up to but without `max`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// Its number.
    pub container: u32,
    /// Without zeros at the end, like `max`.
    pub min: Bytes,
    pub max: Bytes,
}

/// What becomes of requests for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAccess {
    Open,
    /// Writes are taken elsewhere, or nowhere, and perhaps here in a moment.
    Soon,
    /// Writes are taken elsewhere.
    Closed,
    /// Neither reads nor writes are answered.
    Down,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessTable {
    /// Of keys that are in no range.
    pub default: KeyAccess,
    /// The last that has a key counts.
    pub ranges: Vec<(KeyRange, KeyAccess)>,
}

/// The table that holds now. A store of an account that does not fail over partitions never gets
/// one, and then nothing is looked up.
#[derive(Debug)]
pub(crate) struct Access {
    is_divided: AtomicBool,
    /// Whether some write, or some read, may be refused.
    refuses_writes: AtomicBool,
    refuses_reads: AtomicBool,
    /// Whether some write may have to wait.
    holds_writes: AtomicBool,
    table: RwLock<Arc<AccessTable>>,
}

impl KeyRange {
    /// The keys that a partition has now.
    pub fn of(container: &Container, partition: &Partition) -> KeyRange {
        let bytes = |epk: &orrery_keys::Epk| Bytes::copy_from_slice(epk.significant_bytes());
        KeyRange {
            container: container.rid.id(),
            min: bytes(&partition.range.min),
            max: bytes(&partition.range.max),
        }
    }

    /// Whether it has a place in the order of stored keys.
    pub fn contains(&self, container: u32, place: &[u8]) -> bool {
        self.container == container && self.min <= place && place < &self.max[..]
    }

    pub fn overlaps(&self, other: &KeyRange) -> bool {
        self.container == other.container && self.min < other.max && other.min < self.max
    }

    /// Whether it has everything that the other has.
    pub fn covers(&self, other: &KeyRange) -> bool {
        self.container == other.container && self.min <= other.min && other.max <= self.max
    }
}

impl AccessTable {
    /// Takes nothing.
    pub fn closed() -> AccessTable {
        AccessTable {
            default: KeyAccess::Closed,
            ranges: Vec::new(),
        }
    }

    pub fn of(&self, container: u32, place: &[u8]) -> KeyAccess {
        let mut ranges = self.ranges.iter().rev();
        let found = ranges.find(|(keys, _)| keys.contains(container, place));
        found.map_or(self.default, |(_, access)| *access)
    }

    fn has(&self, refuses: impl Fn(KeyAccess) -> bool) -> bool {
        refuses(self.default) || self.ranges.iter().any(|(_, access)| refuses(*access))
    }
}

impl Default for Access {
    fn default() -> Access {
        let open = AccessTable {
            default: KeyAccess::Open,
            ranges: Vec::new(),
        };
        Access {
            is_divided: AtomicBool::new(false),
            refuses_writes: AtomicBool::new(false),
            refuses_reads: AtomicBool::new(false),
            holds_writes: AtomicBool::new(false),
            table: RwLock::new(Arc::new(open)),
        }
    }
}

impl Access {
    pub(crate) fn set(&self, table: AccessTable) {
        let refuses_writes = table.has(|access| access != KeyAccess::Open);
        let refuses_reads = table.has(|access| access == KeyAccess::Down);
        let holds_writes = table.has(|access| access == KeyAccess::Soon);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        self.is_divided.store(true, Ordering::Release);
        self.refuses_writes.store(refuses_writes, Ordering::Release);
        self.refuses_reads.store(refuses_reads, Ordering::Release);
        self.holds_writes.store(holds_writes, Ordering::Release);
    }

    fn of(&self, container: u32, place: &[u8]) -> KeyAccess {
        let table = self.table.read();
        table
            .unwrap_or_else(PoisonError::into_inner)
            .of(container, place)
    }

    /// What becomes of writes.
    pub(crate) fn of_write(&self, container: u32, place: &[u8]) -> KeyAccess {
        if self.refuses_writes.load(Ordering::Acquire) {
            self.of(container, place)
        } else {
            KeyAccess::Open
        }
    }

    pub(crate) fn check_write(&self, container: u32, place: &[u8]) -> Result<(), Failure> {
        match self.of_write(container, place) {
            KeyAccess::Open => Ok(()),
            KeyAccess::Soon | KeyAccess::Closed => Err(Failure::WriteForbidden),
            KeyAccess::Down => Err(down()),
        }
    }

    /// [`Access::check_write`] of a stored key.
    pub(crate) fn takes(&self, key: &[u8]) -> bool {
        let place = key.get(CONTAINER_BYTES..).unwrap_or_default();
        container_of(key).is_none_or(|number| self.of_write(number, place) == KeyAccess::Open)
    }

    fn check_read(&self, container: u32, place: &[u8]) -> Result<(), Failure> {
        let may_refuse = self.refuses_reads.load(Ordering::Acquire);
        if may_refuse && self.of(container, place) == KeyAccess::Down {
            return Err(down());
        }
        Ok(())
    }
}

impl Store {
    /// Whether regions share the keys among themselves.
    pub fn is_divided(&self) -> bool {
        let multi = self.multi.as_ref();
        multi.is_some_and(|multi| multi.access.is_divided.load(Ordering::Acquire))
    }

    /// Whether the writes of some key may soon be taken here.
    pub fn holds_writes(&self) -> bool {
        let multi = self.multi.as_ref();
        multi.is_some_and(|multi| multi.access.holds_writes.load(Ordering::Acquire))
    }

    /// Replaces the table before anybody can write.
    pub fn begin_divided(&self) {
        if let Some(multi) = &self.multi {
            multi.access.set(AccessTable::closed());
        }
    }

    /// Queues another table. When the reply comes, whatever this region wrote of keys that it
    /// closes is applied, and nothing more comes.
    pub fn submit_access(&self, table: AccessTable, reply: Reply<()>) {
        self.send_region(RegionCommand::Access(table, reply));
    }

    pub fn write_access(&self, container: &Container, logical: &LogicalPartition) -> KeyAccess {
        self.multi.as_ref().map_or(KeyAccess::Open, |multi| {
            multi.access.of_write(container.rid.id(), logical.place())
        })
    }

    /// Refuses a read of a partition that is down.
    pub fn check_read(&self, container: &Container, partition: &Partition) -> Result<(), Failure> {
        self.multi.as_ref().map_or(Ok(()), |multi| {
            let place = partition.range.min.significant_bytes();
            multi.access.check_read(container.rid.id(), place)
        })
    }

    /// Whether writes of a stored document are taken here.
    pub fn takes(&self, key: &[u8]) -> bool {
        let multi = self.multi.as_ref();
        multi.is_none_or(|multi| multi.access.takes(key))
    }
}

/// What is said of a key that is down.
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
        let access = Access::default();
        assert_eq!(access.of_write(1, b"\x10"), KeyAccess::Open);
        access.set(AccessTable {
            default: KeyAccess::Closed,
            ranges: vec![
                (keys(1, b"", b"\x20"), KeyAccess::Open),
                (keys(1, b"\x10", b"\x18"), KeyAccess::Soon),
                (keys(1, b"\x1f", b"\x30"), KeyAccess::Down),
            ],
        });
        for (container, place, write, reads) in [
            (1, &b"\x05"[..], Ok(()), true),
            (1, b"\x0f\xff", Ok(()), true),
            (1, b"\x10", Err(Failure::WriteForbidden), true),
            (1, b"\x17\xff", Err(Failure::WriteForbidden), true),
            (1, b"\x18", Ok(()), true),
            (1, b"\x1f", Err(down()), false),
            (1, b"\x30", Err(Failure::WriteForbidden), true),
            (2, b"\x05", Err(Failure::WriteForbidden), true),
        ] {
            assert_eq!(access.check_write(container, place), write, "{place:?}");
            assert_eq!(access.check_read(container, place).is_ok(), reads);
            let key = [&container.to_be_bytes()[..], place].concat();
            assert_eq!(access.takes(&key), write.is_ok());
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
