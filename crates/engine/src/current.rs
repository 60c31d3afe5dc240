//! The catalogue that holds now.
//!
//! An account that follows another one does not make its catalogue: it reads it again whenever records
//! have changed it, on the committer's thread, so that nobody sees newer data under an older
//! catalogue for long. What lives longer than a definition goes over into the new one: partitions
//! with their meters, and whether a container is alive.

use std::sync::{Arc, PoisonError, RwLock};

use orrery_partition::{Applied, Partition, Witness};

use crate::catalogue::{Catalogue, ContainerEntry};
use crate::entries;

pub(crate) struct Current(RwLock<Arc<Catalogue>>);

impl Current {
    pub(crate) fn new(catalogue: Catalogue) -> Current {
        Current(RwLock::new(Arc::new(catalogue)))
    }

    pub(crate) fn get(&self) -> Arc<Catalogue> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, next: Catalogue) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}

impl Witness for Current {
    fn applied(&self, applied: &Applied) {
        if applied.is_catalogue_changed {
            match entries::load(applied.state()) {
                Ok((next, _)) => self.set(continuing(next, &self.get(), applied)),
                Err(error) => {
                    tracing::error!(%error, "a catalogue that was followed cannot be read");
                }
            }
        }
        let catalogue = self.get();
        for (number, range) in applied.partitions() {
            let entry = catalogue.container_by_number(number);
            let partition = entry.and_then(|entry| entry.container.partition(range));
            if let Some(partition) = partition {
                applied.publish(number, partition);
            }
        }
    }
}

/// A catalogue that was read, with what goes on from the one before it.
fn continuing(mut next: Catalogue, before: &Catalogue, applied: &Applied) -> Catalogue {
    let mut continued = Vec::new();
    for (name, database) in &next.databases {
        for entry in database.containers.values() {
            let old = before.container_by_number(entry.container.rid.id());
            if let Some(old) = old {
                continued.push((name.clone(), continued_entry(entry, old, applied)));
            }
        }
    }
    for (database, entry) in continued {
        next.set_container(&database, entry);
    }
    next
}

fn continued_entry(
    entry: &ContainerEntry,
    old: &ContainerEntry,
    applied: &Applied,
) -> ContainerEntry {
    let read = &entry.container.partitions;
    let staying = |partition: &Arc<Partition>| {
        let same = old.container.partition(partition.id);
        Arc::clone(same.unwrap_or(partition))
    };
    let partitions: Vec<_> = read.iter().map(staying).collect();
    let gone = old.container.partitions.iter();
    for partition in gone.filter(|one| entry.container.partition(one.id).is_none()) {
        let range = &partition.range;
        let overlaps =
            |heir: &&Arc<Partition>| heir.range.min < range.max && range.min < heir.range.max;
        let heirs = partitions.iter().filter(overlaps).cloned();
        applied.hand_over(partition, heirs.collect());
    }
    let mut container = Arc::clone(&old.container);
    if entry.etag != old.etag {
        let definition = entry.container.definition.clone();
        container = Arc::new(container.with_definition(definition));
    }
    let ids = |partitions: &[Arc<Partition>]| -> Vec<_> {
        partitions.iter().map(|partition| partition.id).collect()
    };
    if ids(&partitions) != ids(&container.partitions) {
        container = Arc::new(container.with_partitions(partitions));
    }
    ContainerEntry {
        container,
        ..entry.clone()
    }
}
