//! The reindexing walk: rewrites the index entries of stored documents after a change of the
//! indexing policy, one step at a time between other commands.
//!
//! The walk writes no log records: its position is a row of the state, in the same batch as the
//! changed entries, and after a crash the walk repeats what the crash lost. A concurrent write
//! follows the policy of its key range, so it does not matter whether the walk has passed its key.

use bytes::Bytes;
use orrery_storage::{Batch, Storage};

use crate::Error;
use crate::index_state::IndexStateCache;
use crate::indexing::{IndexedVersion, replace_entries};
use crate::keyspaces::DOCUMENTS;
use crate::overlay::Overlay;
use crate::scan::ScanRange;
use crate::statistics::StatisticsCache;
use crate::stored_item::StoredItem;

/// Number of documents in one step. Other writers wait during a step.
const STEP_DOCUMENTS: usize = 500;

/// The next changes, and whether they are the last ones.
pub(crate) fn reindex_step(
    storage: &Storage,
    states: &mut IndexStateCache,
    statistics: &mut StatisticsCache,
    container: u32,
) -> Result<(Batch, bool), Error> {
    let mut overlay = Overlay::new(storage);
    let state = states.of(&overlay, container)?;
    let Some(cursor) = state.cursor() else {
        return Ok((Batch::default(), true));
    };
    let range = ScanRange::of_container(container);
    let (_, to) = range.bounds();
    let mut next = None;
    let snapshot = storage.snapshot();
    for (count, entry) in snapshot.range(DOCUMENTS, cursor, to).enumerate() {
        let (key, value) = entry?;
        if count == STEP_DOCUMENTS {
            next = Some(key);
            break;
        }
        let item = StoredItem::decode(value)?;
        let entries = |index| {
            let version = IndexedVersion::of_stored(index, &key, &item)?;
            Ok::<_, Error>(version.entries)
        };
        let (old, new) = (entries(state.index_at(&key))?, entries(state.newest())?);
        replace_entries(&mut overlay, &key, &old, &new);
    }
    let is_done = next.is_none();
    states.set(&mut overlay, container, state.advanced(next.as_ref()));
    Ok((overlay.into_batch(statistics)?, is_done))
}

/// The percentage of a container that follows its newest policy, estimated from the position of the
/// walk: hashes distribute documents evenly over the key space.
pub(crate) fn progress(cursor: Option<&Bytes>) -> u8 {
    const CONTAINER_BYTES: usize = 4;
    let Some(cursor) = cursor else {
        return 100;
    };
    let mut start = [0; 4];
    for (to, from) in start.iter_mut().zip(cursor.iter().skip(CONTAINER_BYTES)) {
        *to = *from;
    }
    // The two highest bits of an effective partition key are always zero.
    let share = u64::from(u32::from_be_bytes(start)) * 100 / (1 << 30);
    u8::try_from(share.min(99)).unwrap_or(99)
}
