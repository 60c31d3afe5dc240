//! The walk that makes stored documents follow a new indexing policy, a step at a time between
//! other work.
//!
//! It is not in the log: how far it has come stands in the state, in the same batch as the entries
//! it changed, and what a crash takes back of both is done again. A write in between follows the
//! policy of the segment its key is in, so it does not matter whether the walk has passed it.

use bytes::Bytes;
use orrery_storage::{Batch, Storage};

use crate::Error;
use crate::index_state::IndexStates;
use crate::indexing::{IndexedVersion, replace_entries};
use crate::overlay::Overlay;
use crate::scan::ScanRange;
use crate::spaces::DOCUMENTS;
use crate::statistics::Tallies;
use crate::stored::StoredItem;

/// Documents of one step; other writers wait for it.
const STEP_DOCUMENTS: usize = 500;

/// The next changes, and whether they are the last.
pub(crate) fn reindex_step(
    storage: &Storage,
    states: &mut IndexStates,
    tallies: &mut Tallies,
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
    Ok((overlay.into_batch(tallies)?, is_done))
}

/// How much of a container follows its newest policy, in per cent, from where its keys are: hashes
/// spread documents evenly.
pub(crate) fn progress(cursor: Option<&Bytes>) -> u8 {
    const CONTAINER_BYTES: usize = 4;
    let Some(cursor) = cursor else {
        return 100;
    };
    let mut start = [0; 4];
    for (to, from) in start.iter_mut().zip(cursor.iter().skip(CONTAINER_BYTES)) {
        *to = *from;
    }
    // The highest two bits of an effective partition key are not used.
    let share = u64::from(u32::from_be_bytes(start)) * 100 / (1 << 30);
    u8::try_from(share.min(99)).unwrap_or(99)
}
