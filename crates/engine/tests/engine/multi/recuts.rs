//! Partitions that the hub splits and merges while everybody writes.

use std::sync::Arc;

use orrery_engine::{Cut, Standing};
use orrery_model::Failure;
use orrery_regions::StreamId;

use super::turmoil::{CONTAINERS, HUB, KEYS, Turmoil, find, hash, partition_of};
use crate::support::{address, eventually};

/// No container is cut into more.
const PARTITIONS_MAX: usize = 4;

impl Turmoil {
    /// The hub cuts a container in another way. The other regions hear of it when they do.
    pub(super) async fn recut(&mut self) {
        if self.random.chance(50) {
            // What expires in all of a partition is one record, and others may hear of it later than
            // of the cut.
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
            0 => Cut::Data,
            1 => Cut::KeyRange,
            // Where it divides what there is.
            _ => Cut::At(hash(&container, key)),
        };
        if self.regions[HUB].is_on_disk() {
            // A sweep may come while it is the hub; it finds nothing to do.
            self.work_as_hub().await;
        }
        let engine = Arc::clone(&self.regions[HUB].engine);
        let before = engine.progress();
        engine.set_hub(true);
        let done = if is_split {
            engine.split_partition(address(id), range, cut).await
        } else {
            let neighbour = if at + 1 < count { at + 1 } else { at - 1 };
            let ranges = [range, container.partitions[neighbour].id];
            engine.merge_partitions(address(id), ranges).await
        };
        engine.set_hub(false);
        let account = engine.progress().of(StreamId::Account);
        match done {
            Ok(entry) => {
                assert_ne!(entry.container.partitions.len(), count);
                assert_eq!(account, before.of(StreamId::Account).next());
                self.recuts += 1;
            }
            // A cut where a range begins, or in one logical partition.
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

    /// A region hears of some of what happened to the catalogue.
    pub(super) async fn follow_some(&mut self, at: usize) {
        let applied = self.regions[at].engine.progress().of(StreamId::Account);
        let applied = usize::try_from(applied.0).unwrap();
        let more = 1 + self.some(3);
        self.regions[at].follow_account(applied + more).await;
    }

    /// Partitions are cut alike everywhere, have what is theirs, and nobody has missed a change.
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
                let shown = expected.shown(&region.engine.progress()).documents;
                for partition in &container.partitions {
                    let mut keys = shown.keys();
                    let is_here = |key: &str| partition_of(&container, key) == partition.id;
                    let items = keys.by_ref().filter(|(key, _)| is_here(key)).count();
                    let mut counters = partition.counters();
                    eventually("a partition is counted", || {
                        counters = partition.counters();
                        counters.standing == Standing::Exact && counters.items == items as u64
                    })
                    .await;
                }
            }
        }
    }
}
