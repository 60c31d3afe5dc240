//! Forgetting versions that can matter no more, a step at a time between other work.
//!
//! It walks over the rows of hidden versions, not over documents, and it is not in the log: what it
//! forgets, no later record asks for (`orrery_regions::Mesh::horizon`).

use std::collections::BTreeSet;

use orrery_model::Failure;
use orrery_regions::{Progress, Resolution};
use orrery_storage::{Batch, Snapshot};

use super::item::Item;
use super::versions::Row;
use crate::Error;
use crate::committer::{Committer, internal};
use crate::document_key::container_of;
use crate::spaces::{DOCUMENTS, VERSIONS};

/// Rows that one step looks at.
const PRUNE_ROWS: usize = 1_000;

/// What every later change will have seen.
#[derive(Debug, Clone)]
pub(crate) struct Horizon {
    pub(crate) seen: Progress,
    /// Containers whose conflicts stay until they are decided.
    pub(crate) by_hub: BTreeSet<u32>,
}

impl Committer {
    /// Takes one step; tells whether more rows are left in this walk.
    pub(crate) fn prune(&mut self, horizon: &Horizon) -> Result<bool, Failure> {
        let from = self.pruned.take();
        let from = from.as_ref().map(|key| [&key[..], &[0]].concat());
        let snapshot = self.storage.snapshot();
        let step = step(&snapshot, from.as_deref().unwrap_or_default(), horizon);
        let (batch, next) = step.map_err(|error| internal(&error))?;
        if !batch.is_empty()
            && let Err(error) = self.batches.write(|| self.storage.write(batch))
        {
            return Err(self.break_down(&error.into()));
        }
        self.pruned = next;
        Ok(self.pruned.is_some())
    }
}

fn step(
    snapshot: &Snapshot,
    from: &[u8],
    horizon: &Horizon,
) -> Result<(Batch, Option<bytes::Bytes>), Error> {
    let mut batch = Batch::default();
    let mut last = None;
    let mut count = 0;
    for entry in snapshot.range(VERSIONS, from, None).take(PRUNE_ROWS) {
        let (key, row) = entry?;
        count += 1;
        let document = snapshot.get(DOCUMENTS, &key)?;
        let mut item = Item::of(key.clone(), document, Some(row))?;
        let is_by_hub = container_of(&key).is_some_and(|number| horizon.by_hub.contains(&number));
        let resolution = if is_by_hub {
            Resolution::ByHub
        } else {
            Resolution::LastWriterWins
        };
        let before = item.siblings.versions().len();
        item.siblings.prune(&horizon.seen, resolution);
        if item.siblings.versions().len() != before {
            let Row { versions, .. } = item.hidden();
            if versions.is_empty() {
                batch.delete(VERSIONS, key.clone());
            } else {
                batch.put(VERSIONS, key.clone(), item.hidden().encode());
            }
        }
        last = Some(key);
    }
    Ok((batch, last.filter(|_| count == PRUNE_ROWS)))
}
