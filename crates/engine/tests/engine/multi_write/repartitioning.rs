//! The hub splits and merges partitions while all regions write.

use std::sync::Arc;

use orrery_engine::{CounterStatus, SplitMethod};
use orrery_model::Failure;
use orrery_regions::StreamId;

use super::fault_simulation::{CONTAINERS, FaultSimulation, HUB, KEYS, find, hash, partition_of};
use crate::support::{address, eventually};

/// No container is cut into more.
const PARTITIONS_MAX: usize = 4;

impl FaultSimulation {
    /// The hub splits or merges a container. The other regions learn of the change at a later time.
    pub(super) async fn recut(&mut self) {
        if self.random.chance(50) {
            // The expiry of a whole partition is one record, and another region may receive it
            // after the split.
            self.regions[HUB].advance(2);
            self.work_as_hub().await;
        }
        let which = self.some(CONTAINERS.len());
        let id = CONTAINERS[which].0;
        let container = find(&self.regions[HUB], id);
        let count = container.partitions.len();
        let at = self.some(count);
        let range = container.partitions[at].id;
        let is_split = count == 1 || (count < PARTITIONS_MAX && self.random.chance(60));
        let key = *self.random.pick(&KEYS);
        let cut = match self.random.below(4) {
            0 => SplitMethod::MiddleOfData,
            1 => SplitMethod::MiddleOfRange,
            // Where it divides what there is.
            _ => SplitMethod::At(hash(&container, key)),
        };
        if self.regions[HUB].is_on_disk() {
            // A background sweep may run while this region is the hub; the sweep finds no work
            // then.
            self.work_as_hub().await;
        }
        let engine = Arc::clone(&self.regions[HUB].engine);
        let before = engine.version_vector();
        engine.set_hub(true);
        let done = if is_split {
            engine.split_partition(address(id), range, cut).await
        } else {
            let neighbour = if at + 1 < count { at + 1 } else { at - 1 };
            let ranges = [range, container.partitions[neighbour].id];
            engine.merge_partitions(address(id), ranges).await
        };
        engine.set_hub(false);
        let account = engine.version_vector().of(StreamId::Account);
        match done {
            Ok(entry) => {
                assert_ne!(entry.container.partitions.len(), count);
                assert_eq!(account, before.of(StreamId::Account).next());
                self.recuts += 1;
            }
            // The split point is at the start of the range, or inside of a logical partition.
            Err(failure) => {
                assert!(
                    is_split && matches!(failure, Failure::BadRequest(_)),
                    "{failure}"
                );
                assert_eq!(account, before.of(StreamId::Account));
            }
        }
        self.regions[HUB].mesh.applied(StreamId::Account, account);
        if self.random.chance(50) {
            let at = self.some(self.regions.len());
            self.regions[at].follow_account(usize::MAX).await;
        }
    }

    /// A region applies some of the pending catalogue changes.
    pub(super) async fn follow_some(&mut self, at: usize) {
        let applied = self.regions[at]
            .engine
            .version_vector()
            .of(StreamId::Account);
        let applied = usize::try_from(applied.0).unwrap();
        let more = 1 + self.some(3);
        self.regions[at].follow_account(applied + more).await;
    }

    /// Checks that all regions have the same partitions with correct contents, and that no reader
    /// has missed a change.
    pub(crate) async fn check_partitions(&mut self) {
        self.check_readers().await;
        for region in &self.regions {
            for (expected, (id, ..)) in self.expected.iter().zip(CONTAINERS) {
                let cuts = |container: &orrery_engine::Container| -> Vec<_> {
                    let parts = container.partitions.iter();
                    parts.map(|part| (part.id, part.range.clone())).collect()
                };
                let container = find(region, id);
                assert_eq!(cuts(&container), cuts(&find(&self.regions[HUB], id)));
                let shown = expected.shown(&region.engine.version_vector()).documents;
                for partition in &container.partitions {
                    let mut keys = shown.keys();
                    let is_here = |key: &str| partition_of(&container, key) == partition.id;
                    let items = keys.by_ref().filter(|(key, _)| is_here(key)).count();
                    let mut counters = partition.counters();
                    eventually("a partition is counted", || {
                        counters = partition.counters();
                        counters.status == CounterStatus::Exact && counters.items == items as u64
                    })
                    .await;
                }
            }
        }
    }
}
