//! Purges the rows of a deleted container, one step at a time between other commands.
//!
//! The purge writes no log records: a mark in the catalogue exists until the purge is complete and
//! durable, and a restart begins the purge again. No write of the container can follow, because the
//! container is marked dead before its purge begins.

use bytes::Bytes;
use orrery_storage::{Batch, Snapshot};

use crate::counters::counters_range;
use crate::index_state::state_key;
use crate::keyspaces::{
    CLAIMS, DOCUMENTS, EXPIRY, FEED, HISTORY, INDEX, META, STATISTICS, UNIQUE, VERSIONS,
};
use crate::multi_write::rows_of;
use crate::retention::trimmed_range;
use crate::scan::ScanRange;
use crate::stored_item::StoredItem;
use crate::{Error, expiry};

/// Number of keys of each keyspace that one step deletes.
const PURGE_KEYS: usize = 2_000;

/// Number of index entries that one step deletes; a document has about eight.
const PURGE_ENTRIES: usize = 8 * PURGE_KEYS;

/// The last deleted key of each keyspace. Without this cursor, each step would first skip the
/// tombstones of all earlier steps.
#[derive(Debug, Default)]
pub(crate) struct PurgeCursor {
    document: Option<Bytes>,
    unique: Option<Bytes>,
    index: Option<Bytes>,
    feed: Option<Bytes>,
    history: Option<Bytes>,
    versions: Option<Bytes>,
    claims: Option<Bytes>,
}

/// The next deletions of a container, and the cursor after them; no cursor after the last step. The
/// counters are deleted in the last step.
pub(crate) fn purge_step(
    snapshot: &Snapshot,
    container: u32,
    purged: PurgeCursor,
) -> Result<(Batch, Option<PurgeCursor>), Error> {
    let range = ScanRange::of_container(container);
    let (from, to) = range.bounds();
    let mut next = purged;
    let mut batch = Batch::default();
    let documents = snapshot.range(DOCUMENTS, next.document.as_deref().unwrap_or(from), to);
    for entry in documents.take(PURGE_KEYS) {
        let (key, value) = entry?;
        // A damaged document is deleted as well; the expiry sweep removes its expiry entry.
        if let Ok(item) = StoredItem::decode(value)
            && item.header.expiry_entry != 0
        {
            batch.delete(EXPIRY, expiry::entry_key(item.header.expiry_entry, &key));
        }
        batch.delete(DOCUMENTS, key.clone());
        next.document = Some(key);
    }
    let entries = snapshot.range(UNIQUE, next.unique.as_deref().unwrap_or(from), to);
    for entry in entries.take(PURGE_KEYS) {
        let (key, _) = entry?;
        batch.delete(UNIQUE, key.clone());
        next.unique = Some(key);
    }
    let entries = snapshot.range(INDEX, next.index.as_deref().unwrap_or(from), to);
    for entry in entries.take(PURGE_ENTRIES) {
        let (key, _) = entry?;
        batch.delete(INDEX, key.clone());
        next.index = Some(key);
    }
    for (space, last) in [
        (FEED, &mut next.feed),
        (HISTORY, &mut next.history),
        (VERSIONS, &mut next.versions),
        (CLAIMS, &mut next.claims),
    ] {
        let entries = snapshot.range(space, last.as_deref().unwrap_or(from), to);
        for entry in entries.take(PURGE_KEYS) {
            let (key, _) = entry?;
            batch.delete(space, key.clone());
            *last = Some(key);
        }
    }
    if !batch.is_empty() {
        return Ok((batch, Some(next)));
    }
    // All other rows are gone, so the rows that describe the container follow.
    for entry in snapshot.range(STATISTICS, from, to) {
        batch.delete(STATISTICS, entry?.0);
    }
    batch.delete(META, Bytes::copy_from_slice(&state_key(container)));
    for (from, to) in [
        counters_range(container),
        trimmed_range(container),
        rows_of(container),
    ] {
        for entry in snapshot.range(META, &from, to.as_deref()) {
            batch.delete(META, entry?.0);
        }
    }
    Ok((batch, None))
}
