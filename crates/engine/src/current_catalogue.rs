//! The current catalogue of the account.
//!
//! A follower does not build its catalogue. It reads the catalogue again whenever applied records
//! have changed it, on the committer's thread, so that readers do not see newer data under an older
//! catalogue for long. State that outlives a definition moves into the new catalogue: partitions
//! with their meters, and the alive flag of a container.

use std::sync::{Arc, PoisonError, RwLock};

use orrery_partition::{AppliedRecords, CommitObserver, Partition};

use crate::catalogue::{Catalogue, ContainerEntry};
use crate::catalogue_rows;

/// The lock protects only the pointer. Readers clone the `Arc` and never hold the lock over a
/// request.
pub(crate) struct CurrentCatalogue(RwLock<Arc<Catalogue>>);

impl CurrentCatalogue {
    pub(crate) fn new(catalogue: Catalogue) -> CurrentCatalogue {
        CurrentCatalogue(RwLock::new(Arc::new(catalogue)))
    }

    pub(crate) fn get(&self) -> Arc<Catalogue> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, next: Catalogue) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}

impl CommitObserver for CurrentCatalogue {
    fn on_applied(&self, applied: &AppliedRecords) {
        if applied.is_catalogue_changed {
            match catalogue_rows::load(applied.state()) {
                Ok((next, _)) => self.set(carry_over(next, &self.get(), applied)),
                Err(error) => {
                    // The previous catalogue stays in place: reads continue, and the error reaches
                    // the operator.
                    tracing::error!(%error, "a catalogue that was followed cannot be read");
                }
            }
        }
        // Counters are published after the catalogue, because a new partition exists only in the
        // new one.
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

/// Moves surviving partitions and containers of the previous catalogue into a newly read one.
fn carry_over(mut next: Catalogue, before: &Catalogue, applied: &AppliedRecords) -> Catalogue {
    let mut continued = Vec::new();
    for (name, database) in &next.databases {
        for entry in database.containers.values() {
            let old = before.container_by_number(entry.container.rid.id());
            if let Some(old) = old {
                continued.push((name.clone(), carried_entry(entry, old, applied)));
            }
        }
    }
    for (database, entry) in continued {
        next.set_container(&database, entry);
    }
    next
}

/// Joins the new definition of a container with the running state of the old one.
fn carried_entry(
    entry: &ContainerEntry,
    old: &ContainerEntry,
    applied: &AppliedRecords,
) -> ContainerEntry {
    let read = &entry.container.partitions;
    let staying = |partition: &Arc<Partition>| {
        // The existing partition is kept: running requests share its meter and counters.
        let same = old.container.partition(partition.id);
        Arc::clone(same.unwrap_or(partition))
    };
    let partitions: Vec<_> = read.iter().map(staying).collect();
    let gone = old.container.partitions.iter();
    // Requests that still hold the superseded partition find its children through it.
    for partition in gone.filter(|one| entry.container.partition(one.id).is_none()) {
        let range = &partition.range;
        let overlaps =
            |child: &&Arc<Partition>| child.range.min < range.max && range.min < child.range.max;
        let children = partitions.iter().filter(overlaps).cloned();
        applied.supersede(partition, children.collect());
    }
    // The old container carries the alive flag that running transactions check.
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
