//! A container and its physical partitions in the memory of the running server.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use orrery_keys::{ContainerRid, EpkRange, PartitionKey};
use orrery_model::{ContainerDefinition, Lsn, PartitionLsn, RangeId};

use crate::apply::SCRIPT_SEQUENCE_MIN;
use crate::index_bounds::IndexBoundsCache;
use crate::oversized_partition::OversizedPartitions;
use crate::planner_facts::PlannerFactsCache;
use crate::{ContainerIndex, CounterStatus, Counters, LogicalPartition, Meter};

/// One definition of a container. A new definition creates a new `Container` over the same
/// partitions.
#[derive(Debug)]
pub struct Container {
    pub rid: ContainerRid,
    pub definition: ContainerDefinition,
    /// Sorted by range. The ranges cover the whole key space without gaps.
    pub partitions: Vec<Arc<Partition>>,
    /// `dbs/{rid}/colls/{rid}/`
    pub self_link: String,
    /// Set to false when the container is deleted. Later writes are rejected.
    pub alive: Arc<AtomicBool>,
    index: Arc<ContainerIndex>,
    index_bounds: IndexBoundsCache,
    planner_facts: PlannerFactsCache,
    version: u64,
}

/// Number of container definitions that this process has created.
static VERSIONS: AtomicU64 = AtomicU64::new(0);

/// A physical partition: one range of effective partition keys with its own sequence of LSNs.
#[derive(Debug)]
pub struct Partition {
    pub id: RangeId,
    pub range: EpkRange,
    /// Every partition that owned a part of this range earlier, oldest first.
    pub ancestors: Vec<RangeId>,
    /// The key ranges of the ancestors. Catalogue rows of older versions lack these ranges.
    pub former_ranges: Vec<FormerRange>,
    /// The child partitions that own this range after a split or a merge.
    children: OnceLock<Vec<Arc<Partition>>>,
    counter_status: AtomicU8,
    lsn: AtomicU64,
    items: AtomicU64,
    bytes: AtomicU64,
    next_rid: AtomicU64,
    next_script_rid: AtomicU64,
    /// The next sequence number for scripts. It runs ahead of `next_script_rid`, because some
    /// scripts end without a commit.
    taken_script_rid: AtomicU64,
    meter: Meter,
    pub(crate) oversized: OversizedPartitions,
}

/// The key range that a partition had when a split or a merge ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerRange {
    pub id: RangeId,
    pub range: EpkRange,
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
            index_bounds: IndexBoundsCache::default(),
            planner_facts: PlannerFactsCache::default(),
            definition,
            partitions,
            self_link,
            alive: Arc::new(AtomicBool::new(true)),
            version: next_version(),
        }
    }

    /// The same container with another definition.
    #[must_use]
    pub fn with_definition(&self, definition: ContainerDefinition) -> Container {
        Container {
            rid: self.rid,
            index: Arc::new(ContainerIndex::new(&definition.indexing)),
            index_bounds: IndexBoundsCache::default(),
            planner_facts: PlannerFactsCache::default(),
            definition,
            partitions: self.partitions.clone(),
            self_link: self.self_link.clone(),
            alive: Arc::clone(&self.alive),
            version: next_version(),
        }
    }

    /// The same container with another division of its key space.
    #[must_use]
    pub fn with_partitions(&self, partitions: Vec<Arc<Partition>>) -> Container {
        Container {
            rid: self.rid,
            index: Arc::clone(&self.index),
            definition: self.definition.clone(),
            partitions,
            self_link: self.self_link.clone(),
            alive: Arc::clone(&self.alive),
            index_bounds: IndexBoundsCache::default(),
            planner_facts: PlannerFactsCache::default(),
            version: next_version(),
        }
    }

    /// A number that differs from the version of every other definition in this process.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The index of the newest policy. Documents follow it, or will do so after the reindexing
    /// walk.
    pub fn index(&self) -> &Arc<ContainerIndex> {
        &self.index
    }

    pub(crate) fn index_bounds(&self) -> &IndexBoundsCache {
        &self.index_bounds
    }

    pub(crate) fn planner_facts(&self) -> &PlannerFactsCache {
        &self.planner_facts
    }

    pub fn logical_partition(&self, key: &PartitionKey) -> LogicalPartition {
        LogicalPartition::new(self, key)
    }

    /// The physical partition of a logical partition.
    pub fn partition_of(&self, logical: &LogicalPartition) -> &Arc<Partition> {
        self.partition_at(logical.key_position())
    }

    pub fn partition(&self, id: RangeId) -> Option<&Arc<Partition>> {
        self.partitions.iter().find(|partition| partition.id == id)
    }

    /// The key range that a partition had before a split or a merge ended it.
    pub fn former_range(&self, id: RangeId) -> Option<&EpkRange> {
        let mut former = self.partitions.iter().flat_map(|one| &one.former_ranges);
        former.find(|one| one.id == id).map(|one| &one.range)
    }

    /// The physical partition at a key position.
    pub fn partition_at(&self, key_position: &[u8]) -> &Arc<Partition> {
        partition_at_position(&self.partitions, key_position)
    }

    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether the container keeps every change for its retention period, and not only the latest
    /// versions.
    pub fn keeps_history(&self) -> bool {
        self.definition
            .change_feed
            .retention_minutes
            .is_some_and(|minutes| minutes > 0)
    }

    /// Whether TTL is on, and the seconds after which items without their own `ttl` expire.
    pub fn default_ttl(&self) -> Option<i32> {
        self.definition.default_ttl
    }
}

fn partition_at_position<'a>(
    partitions: &'a [Arc<Partition>],
    key_position: &[u8],
) -> &'a Arc<Partition> {
    let after = partitions
        .partition_point(|partition| partition.range.min.significant_bytes() <= key_position);
    &partitions[after.saturating_sub(1)]
}

fn next_version() -> u64 {
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

impl Partition {
    pub fn new(id: RangeId, range: EpkRange, counters: Counters) -> Partition {
        Partition {
            id,
            range,
            ancestors: Vec::new(),
            former_ranges: Vec::new(),
            children: OnceLock::new(),
            counter_status: AtomicU8::new(counters.status as u8),
            lsn: AtomicU64::new(counters.lsn.0),
            items: AtomicU64::new(counters.items),
            bytes: AtomicU64::new(counters.bytes),
            next_rid: AtomicU64::new(counters.next_rid),
            next_script_rid: AtomicU64::new(counters.next_script_rid),
            taken_script_rid: AtomicU64::new(counters.next_script_rid.max(SCRIPT_SEQUENCE_MIN)),
            meter: Meter::default(),
            oversized: OversizedPartitions::default(),
        }
    }

    #[must_use]
    pub fn with_ancestors(
        self,
        ancestors: Vec<RangeId>,
        former_ranges: Vec<FormerRange>,
    ) -> Partition {
        Partition {
            ancestors,
            former_ranges,
            ..self
        }
    }

    /// The partition that owns a key position now: this partition, or a child after a split or
    /// merge.
    pub(crate) fn holder<'a>(self: &'a Arc<Self>, key_position: &[u8]) -> &'a Arc<Partition> {
        let mut holder = self;
        while let Some(children) = holder.children.get() {
            holder = partition_at_position(children, key_position);
        }
        holder
    }

    /// Hands the range over to the child partitions. Only the committer calls this, after the state
    /// has the rows of the child partitions.
    pub(crate) fn supersede(&self, children: Vec<Arc<Partition>>) {
        for oversized in self.oversized.all() {
            let child = partition_at_position(&children, oversized.key_position());
            child.oversized.add(Arc::clone(&oversized));
        }
        // Readers who see the child partitions may use their oversized records at once, so those
        // are moved first.
        let superseded = self.children.set(children);
        debug_assert!(superseded.is_ok(), "a partition is superseded once");
        self.counter_status
            .store(CounterStatus::Superseded as u8, Ordering::Release);
    }

    /// Whether the partition tracks the size of this logical partition.
    pub fn tracks_oversized(&self, logical: &LogicalPartition) -> bool {
        self.oversized.of(logical.prefix()).is_some()
    }

    pub fn is_superseded(&self) -> bool {
        self.children.get().is_some()
    }

    pub fn counters(&self) -> Counters {
        self.running_counters().for_display()
    }

    /// The counters from which the next group continues, without the adjustment for estimates.
    pub(crate) fn running_counters(&self) -> Counters {
        Counters {
            lsn: Lsn(self.lsn.load(Ordering::Acquire)),
            items: self.items.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            next_rid: self.next_rid.load(Ordering::Relaxed),
            next_script_rid: self.next_script_rid.load(Ordering::Relaxed),
            status: match self.counter_status.load(Ordering::Relaxed) {
                0 => CounterStatus::Exact,
                1 => CounterStatus::Estimated,
                _ => CounterStatus::Superseded,
            },
        }
    }

    /// The throughput meter of the partition.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The partition with the LSN of its last applied record.
    pub fn partition_lsn(&self) -> PartitionLsn {
        PartitionLsn {
            range: self.id,
            lsn: Lsn(self.lsn.load(Ordering::Acquire)),
        }
    }

    /// Takes a sequence number for an item that a script creates. No other item gets this number.
    pub(crate) fn take_script_rid(&self) -> u64 {
        self.taken_script_rid.fetch_add(1, Ordering::Relaxed)
    }

    /// Publishes counters that were replicated from another store.
    pub(crate) fn publish_followed(&self, counters: Counters) {
        // Scripts on the other store have taken these sequence numbers, so scripts here must take
        // higher numbers.
        self.taken_script_rid
            .fetch_max(counters.next_script_rid, Ordering::Relaxed);
        // Replicated records do not say which logical partitions grew, so the tracked sizes are
        // unknown.
        self.oversized.clear();
        self.publish(counters);
    }

    /// Publishes counters after a merge of records from other regions. `grown` lists the size
    /// changes of logical partitions.
    pub(crate) fn publish_merged(&self, counters: Counters, grown: &[(Bytes, i64)]) {
        self.taken_script_rid
            .fetch_max(counters.next_script_rid, Ordering::Relaxed);
        for (key, bytes) in grown {
            if let Some(oversized) = self.oversized.of(key) {
                oversized.grow(*bytes);
            }
        }
        self.publish(counters);
    }

    /// Publishes counters. Only the committer calls this, after the state has the group.
    pub(crate) fn publish(&self, counters: Counters) {
        self.counter_status
            .store(counters.status as u8, Ordering::Relaxed);
        self.items.store(counters.items, Ordering::Relaxed);
        self.bytes.store(counters.bytes, Ordering::Relaxed);
        self.next_rid.store(counters.next_rid, Ordering::Relaxed);
        self.next_script_rid
            .store(counters.next_script_rid, Ordering::Relaxed);
        // The LSN is stored last and with release ordering: a reader who sees the new LSN also sees
        // the other counters of that commit.
        self.lsn.store(counters.lsn.0, Ordering::Release);
    }
}
