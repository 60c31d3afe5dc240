//! What is counted of each index, changed in the batch that changes the index.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_index::{IndexHash, PathStatistics};
use orrery_storage::{Batch, Snapshot};

use crate::Error;
use crate::document_key::CONTAINER_BYTES;
use crate::overlay::Base;
use crate::spaces::STATISTICS;

/// Container and hash of the index, at the beginning of every entry.
pub(crate) const ENTRY_PREFIX_BYTES: usize = CONTAINER_BYTES + 8;

type IndexPrefix = [u8; ENTRY_PREFIX_BYTES];

/// An index entry that comes or goes.
#[derive(Debug, Clone)]
pub(crate) struct EntryChange {
    pub(crate) key: Bytes,
    pub(crate) place_bytes: usize,
    pub(crate) is_put: bool,
}

impl EntryChange {
    /// Whether it stands in the statistics alone: that there is a document needs no entry.
    pub(crate) fn is_only_counted(&self) -> bool {
        is_only_counted(&self.key)
    }
}

pub(crate) fn is_only_counted(entry: &[u8]) -> bool {
    let hash = entry.get(CONTAINER_BYTES..ENTRY_PREFIX_BYTES);
    [IndexHash::ROOT, IndexHash::UNINDEXED]
        .iter()
        .any(|counted| hash == Some(&counted.0.to_be_bytes()[..]))
}

/// Adds to the batch what the changes do to the statistics.
pub(crate) fn update(
    state: &Base<'_>,
    changes: &[EntryChange],
    batch: &mut Batch,
) -> Result<(), Error> {
    let mut changed: BTreeMap<IndexPrefix, PathStatistics> = BTreeMap::new();
    for change in changes {
        let Some(prefix) = change.key.first_chunk::<ENTRY_PREFIX_BYTES>() else {
            continue;
        };
        let statistics = match changed.entry(*prefix) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let row = state.get(STATISTICS, prefix)?;
                entry.insert(row.map_or(Ok(PathStatistics::default()), |row| decode(&row))?)
            }
        };
        if change.is_put {
            let end = change.key.len() - change.place_bytes;
            statistics.add(&change.key[ENTRY_PREFIX_BYTES..end]);
        } else {
            statistics.remove();
        }
    }
    for (prefix, statistics) in changed {
        let key = Bytes::copy_from_slice(&prefix);
        if statistics.entries == 0 {
            batch.delete(STATISTICS, key);
        } else {
            batch.put(STATISTICS, key, statistics.encode());
        }
    }
    Ok(())
}

/// Of one index of a container.
pub(crate) fn of_index(
    snapshot: &Snapshot,
    container: u32,
    index: IndexHash,
) -> Result<PathStatistics, Error> {
    let row = snapshot.get(STATISTICS, &entry_prefix(container, index))?;
    row.map_or(Ok(PathStatistics::default()), |row| decode(&row))
}

/// What every entry of an index begins with.
pub(crate) fn entry_prefix(container: u32, index: IndexHash) -> IndexPrefix {
    let mut prefix = [0; ENTRY_PREFIX_BYTES];
    prefix[..CONTAINER_BYTES].copy_from_slice(&container.to_be_bytes());
    prefix[CONTAINER_BYTES..].copy_from_slice(&index.0.to_be_bytes());
    prefix
}

fn decode(row: &[u8]) -> Result<PathStatistics, Error> {
    PathStatistics::decode(row)
        .ok_or_else(|| Error::Damaged("the statistics of an index do not decode".to_owned()))
}
