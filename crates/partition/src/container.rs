//! A container and its physical partitions, as the running server holds them.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use orrery_keys::{ContainerRid, EpkRange, PartitionKey};
use orrery_model::{ContainerDefinition, Lsn, RangeId, Stamp};

use crate::apply::SCRIPT_SEQUENCE_MIN;
use crate::crowd::Crowds;
use crate::extents::Extents;
use crate::known::KnownOf;
use crate::{ContainerIndex, Counters, LogicalPartition, Meter, Standing};

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
    known: KnownOf,
    version: u64,
}

/// Definitions that this process has seen, of all containers.
static VERSIONS: AtomicU64 = AtomicU64::new(0);

/// A physical partition: one range of effective partition keys with a log of its own.
#[derive(Debug)]
pub struct Partition {
    pub id: RangeId,
    pub range: EpkRange,
    /// Every partition that held some of this range before it, the oldest first.
    pub ancestors: Vec<RangeId>,
    /// Those that have taken over its range, once they have.
    heirs: OnceLock<Vec<Arc<Partition>>>,
    standing: AtomicU8,
    lsn: AtomicU64,
    items: AtomicU64,
    bytes: AtomicU64,
    next_rid: AtomicU64,
    next_script_rid: AtomicU64,
    /// Given out to scripts, of which some end without a trace.
    taken_script_rid: AtomicU64,
    meter: Meter,
    pub(crate) crowds: Crowds,
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
            known: KnownOf::default(),
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
            known: KnownOf::default(),
            definition,
            partitions: self.partitions.clone(),
            self_link: self.self_link.clone(),
            alive: Arc::clone(&self.alive),
            version: next_version(),
        }
    }

    /// The same container with its key space cut in another way.
    #[must_use]
    pub fn with_partitions(&self, partitions: Vec<Arc<Partition>>) -> Container {
        Container {
            rid: self.rid,
            index: Arc::clone(&self.index),
            definition: self.definition.clone(),
            partitions,
            self_link: self.self_link.clone(),
            alive: Arc::clone(&self.alive),
            extents: Extents::default(),
            known: KnownOf::default(),
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

    pub(crate) fn known(&self) -> &KnownOf {
        &self.known
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
        at_place(&self.partitions, place)
    }

    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether every change is kept for a while, and not only what became of them.
    pub fn keeps_history(&self) -> bool {
        self.definition
            .change_feed_retention_minutes
            .is_some_and(|minutes| minutes > 0)
    }

    /// Whether TTL is on, and the seconds after which items without their own `ttl` expire.
    pub fn default_ttl(&self) -> Option<i32> {
        self.definition.default_ttl
    }
}

fn at_place<'a>(partitions: &'a [Arc<Partition>], place: &[u8]) -> &'a Arc<Partition> {
    let after =
        partitions.partition_point(|partition| partition.range.min.significant_bytes() <= place);
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
            heirs: OnceLock::new(),
            standing: AtomicU8::new(counters.standing as u8),
            lsn: AtomicU64::new(counters.lsn.0),
            items: AtomicU64::new(counters.items),
            bytes: AtomicU64::new(counters.bytes),
            next_rid: AtomicU64::new(counters.next_rid),
            next_script_rid: AtomicU64::new(counters.next_script_rid),
            taken_script_rid: AtomicU64::new(counters.next_script_rid.max(SCRIPT_SEQUENCE_MIN)),
            meter: Meter::default(),
            crowds: Crowds::default(),
        }
    }

    #[must_use]
    pub fn descending_from(self, ancestors: Vec<RangeId>) -> Partition {
        Partition { ancestors, ..self }
    }

    /// The partition that holds a place of this one now: itself, or one that has taken it over.
    pub(crate) fn holder<'a>(self: &'a Arc<Self>, place: &[u8]) -> &'a Arc<Partition> {
        let mut holder = self;
        while let Some(heirs) = holder.heirs.get() {
            holder = at_place(heirs, place);
        }
        holder
    }

    /// Called by the committer alone, when the heirs have what was here.
    pub(crate) fn retire(&self, heirs: Vec<Arc<Partition>>) {
        for crowd in self.crowds.all() {
            let heir = at_place(&heirs, crowd.place());
            heir.crowds.add(Arc::clone(&crowd));
        }
        let retired = self.heirs.set(heirs);
        debug_assert!(retired.is_ok(), "a partition retires once");
        self.standing
            .store(Standing::Retired as u8, Ordering::Release);
    }

    /// Whether the bytes of a logical partition are already being kept.
    pub fn knows_crowd(&self, logical: &LogicalPartition) -> bool {
        self.crowds.of(logical.prefix()).is_some()
    }

    pub fn is_retired(&self) -> bool {
        self.heirs.get().is_some()
    }

    pub fn counters(&self) -> Counters {
        self.running_counters().shown()
    }

    /// The counters to go on from.
    pub(crate) fn running_counters(&self) -> Counters {
        Counters {
            lsn: Lsn(self.lsn.load(Ordering::Acquire)),
            items: self.items.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            next_rid: self.next_rid.load(Ordering::Relaxed),
            next_script_rid: self.next_script_rid.load(Ordering::Relaxed),
            standing: match self.standing.load(Ordering::Relaxed) {
                0 => Standing::Exact,
                1 => Standing::Estimated,
                _ => Standing::Retired,
            },
        }
    }

    /// What it may use and has used.
    pub fn meter(&self) -> &Meter {
        &self.meter
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

    /// [`Partition::publish`] of what another store has counted.
    pub(crate) fn publish_followed(&self, counters: Counters) {
        // What scripts took there is not to be taken here once more.
        self.taken_script_rid
            .fetch_max(counters.next_script_rid, Ordering::Relaxed);
        // Nobody has kept the bytes of logical partitions along with these records.
        self.crowds.clear();
        self.publish(counters);
    }

    /// [`Partition::publish`] of what records of other regions have changed.
    pub(crate) fn publish_merged(&self, counters: Counters, grown: &[(Bytes, i64)]) {
        self.taken_script_rid
            .fetch_max(counters.next_script_rid, Ordering::Relaxed);
        for (key, bytes) in grown {
            if let Some(crowd) = self.crowds.of(key) {
                crowd.grow(*bytes);
            }
        }
        self.publish(counters);
    }

    /// Called by the committer alone, after the state has the change.
    pub(crate) fn publish(&self, counters: Counters) {
        self.standing
            .store(counters.standing as u8, Ordering::Relaxed);
        self.items.store(counters.items, Ordering::Relaxed);
        self.bytes.store(counters.bytes, Ordering::Relaxed);
        self.next_rid.store(counters.next_rid, Ordering::Relaxed);
        self.next_script_rid
            .store(counters.next_script_rid, Ordering::Relaxed);
        self.lsn.store(counters.lsn.0, Ordering::Release);
    }
}
