//! A container and its physical partitions, as the running server holds them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use orrery_keys::{ContainerRid, EpkRange, PartitionKey};
use orrery_model::{ContainerDefinition, Lsn, RangeId, Stamp};

use crate::apply::SCRIPT_SEQUENCE_MIN;
use crate::extents::Extents;
use crate::{ContainerIndex, Counters, LogicalPartition};

/// One definition of a container. A replaced definition is a new `Container` over the same
/// partitions.
#[derive(Debug)]
pub struct Container {
    pub rid: ContainerRid,
    pub definition: ContainerDefinition,
    /// In the order of their ranges, which tile the whole key space.
    pub partitions: Vec<Arc<Partition>>,
    /// `dbs/{rid}/colls/{rid}/`
    pub self_link: String,
    /// Cleared when the container is deleted; a write that comes later is refused.
    pub alive: Arc<AtomicBool>,
    index: Arc<ContainerIndex>,
    extents: Extents,
    version: u64,
}

/// Definitions that this process has seen, of all containers.
static VERSIONS: AtomicU64 = AtomicU64::new(0);

/// A physical partition: one range of effective partition keys with a log of its own.
#[derive(Debug)]
pub struct Partition {
    pub id: RangeId,
    pub range: EpkRange,
    lsn: AtomicU64,
    items: AtomicU64,
    bytes: AtomicU64,
    next_rid: AtomicU64,
    next_script_rid: AtomicU64,
    /// Given out to scripts, of which some end without a trace.
    taken_script_rid: AtomicU64,
}

impl Container {
    pub fn new(
        rid: ContainerRid,
        definition: ContainerDefinition,
        partitions: Vec<Arc<Partition>>,
        self_link: String,
    ) -> Container {
        Container {
            rid,
            index: Arc::new(ContainerIndex::new(&definition.indexing)),
            extents: Extents::default(),
            definition,
            partitions,
            self_link,
            alive: Arc::new(AtomicBool::new(true)),
            version: next_version(),
        }
    }

    /// The same container under another definition.
    #[must_use]
    pub fn with_definition(&self, definition: ContainerDefinition) -> Container {
        Container {
            rid: self.rid,
            index: Arc::new(ContainerIndex::new(&definition.indexing)),
            extents: Extents::default(),
            definition,
            partitions: self.partitions.clone(),
            self_link: self.self_link.clone(),
            alive: Arc::clone(&self.alive),
            version: next_version(),
        }
    }

    /// Differs from that of any other definition of any container, for as long as the process runs.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The index that its documents have or are about to have.
    pub fn index(&self) -> &Arc<ContainerIndex> {
        &self.index
    }

    pub(crate) fn extents(&self) -> &Extents {
        &self.extents
    }

    pub fn logical_partition(&self, key: &PartitionKey) -> LogicalPartition {
        LogicalPartition::new(self, key)
    }

    /// The physical partition that holds a logical one.
    pub fn partition_of(&self, logical: &LogicalPartition) -> &Arc<Partition> {
        self.partition_at(logical.place())
    }

    pub fn partition(&self, id: RangeId) -> Option<&Arc<Partition>> {
        self.partitions.iter().find(|partition| partition.id == id)
    }

    /// The physical partition that holds a place in the order of stored keys.
    pub(crate) fn partition_at(&self, place: &[u8]) -> &Arc<Partition> {
        let after = self
            .partitions
            .partition_point(|partition| partition.range.min.significant_bytes() <= place);
        &self.partitions[after.saturating_sub(1)]
    }

    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether TTL is on, and the seconds after which items without their own `ttl` expire.
    pub fn default_ttl(&self) -> Option<i32> {
        self.definition.default_ttl
    }
}

fn next_version() -> u64 {
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

impl Partition {
    pub fn new(id: RangeId, range: EpkRange, counters: Counters) -> Partition {
        Partition {
            id,
            range,
            lsn: AtomicU64::new(counters.lsn.0),
            items: AtomicU64::new(counters.items),
            bytes: AtomicU64::new(counters.bytes),
            next_rid: AtomicU64::new(counters.next_rid),
            next_script_rid: AtomicU64::new(counters.next_script_rid),
            taken_script_rid: AtomicU64::new(counters.next_script_rid.max(SCRIPT_SEQUENCE_MIN)),
        }
    }

    pub fn counters(&self) -> Counters {
        Counters {
            lsn: Lsn(self.lsn.load(Ordering::Acquire)),
            items: self.items.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            next_rid: self.next_rid.load(Ordering::Relaxed),
            next_script_rid: self.next_script_rid.load(Ordering::Relaxed),
        }
    }

    pub fn stamp(&self) -> Stamp {
        Stamp {
            range: self.id,
            lsn: Lsn(self.lsn.load(Ordering::Acquire)),
        }
    }

    /// A number for an item that a script creates; nobody else gets it.
    pub(crate) fn take_script_rid(&self) -> u64 {
        self.taken_script_rid.fetch_add(1, Ordering::Relaxed)
    }

    /// Called by the committer alone, after the state has the change.
    pub(crate) fn publish(&self, counters: Counters) {
        self.items.store(counters.items, Ordering::Relaxed);
        self.bytes.store(counters.bytes, Ordering::Relaxed);
        self.next_rid.store(counters.next_rid, Ordering::Relaxed);
        self.next_script_rid
            .store(counters.next_script_rid, Ordering::Relaxed);
        self.lsn.store(counters.lsn.0, Ordering::Release);
    }
}
