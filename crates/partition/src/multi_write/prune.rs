//! Prunes versions that no later write can conflict with, one step at a time between other
//! commands.
//!
//! Pruning walks over the rows of hidden versions and not over documents. It writes no log record:
//! no later record refers to a pruned version (`orrery_regions::Mesh::horizon`).

use std::collections::BTreeSet;

use bytes::Bytes;
use orrery_model::Failure;
use orrery_regions::{ConflictResolution, VersionVector};
use orrery_storage::{Batch, Snapshot};

use super::versioned_item::VersionedItem;
use crate::Error;
use crate::committer::{Committer, internal};
use crate::document_key::container_of;
use crate::keyspaces::{DOCUMENTS, VERSIONS};

/// Number of rows in one step.
const PRUNE_ROWS: usize = 1_000;

/// The stability horizon: versions that every later write has seen.
#[derive(Debug, Clone)]
pub(crate) struct Horizon {
    pub(crate) stable: VersionVector,
    /// Containers whose conflicts stay until the hub has decided them.
    pub(crate) by_hub: BTreeSet<u32>,
}

impl Committer {
    /// Runs one step. Returns whether the walk has more rows.
    pub(crate) fn prune(&mut self, horizon: &Horizon) -> Result<bool, Failure> {
        let Some(multi) = self.multi.clone() else {
            return Ok(false);
        };
        let from = self.prune_cursor.take();
        if from.is_none() {
            multi.versions_filter.begin_walk();
        }
        let from = from.as_ref().map(|key| [&key[..], &[0]].concat());
        let snapshot = self.storage.snapshot();
        let step = step(&snapshot, from.as_deref().unwrap_or_default(), horizon);
        let PruneStep {
            batch,
            staying,
            next,
        } = step.map_err(|error| internal(&error))?;
        if !batch.is_empty()
            && let Err(error) = self.batches.write(|| self.storage.write(batch))
        {
            return Err(self.enter_read_only(&error.into()));
        }
        // The rows are noted after the batch, so that the filter never lacks a remaining row.
        for key in staying {
            multi.versions_filter.note_row(&key);
        }
        if next.is_none() {
            multi.versions_filter.end_walk();
        }
        self.prune_cursor = next;
        Ok(self.prune_cursor.is_some())
    }
}

struct PruneStep {
    batch: Batch,
    /// Documents whose row remains.
    staying: Vec<Bytes>,
    /// The key after which the walk continues.
    next: Option<Bytes>,
}

fn step(snapshot: &Snapshot, from: &[u8], horizon: &Horizon) -> Result<PruneStep, Error> {
    let mut batch = Batch::default();
    let mut staying = Vec::new();
    let mut last = None;
    let mut count = 0;
    for entry in snapshot.range(VERSIONS, from, None).take(PRUNE_ROWS) {
        let (key, row) = entry?;
        count += 1;
        let document = snapshot.get(DOCUMENTS, &key)?;
        let mut item = VersionedItem::of(key.clone(), document, Some(row))?;
        let is_by_hub = container_of(&key).is_some_and(|number| horizon.by_hub.contains(&number));
        let resolution = if is_by_hub {
            ConflictResolution::ByHub
        } else {
            ConflictResolution::LastWriterWins
        };
        let before = item.siblings.versions().len();
        item.siblings.prune(&horizon.stable, resolution);
        let row = item.hidden();
        if row.versions.is_empty() {
            batch.delete(VERSIONS, key.clone());
        } else {
            if item.siblings.versions().len() != before {
                batch.put(VERSIONS, key.clone(), row.encode());
            }
            staying.push(key.clone());
        }
        last = Some(key);
    }
    Ok(PruneStep {
        batch,
        staying,
        next: last.filter(|_| count == PRUNE_ROWS),
    })
}
