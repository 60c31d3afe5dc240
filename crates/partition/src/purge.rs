//! The removal of what a deleted container left, a step at a time between other work.
//!
//! It is not in the log: a mark in the catalogue stands until it is done and saved, and a restart
//! begins it again. No write of the container can follow it, because the container is dead before
//! its removal begins.

use bytes::Bytes;
use orrery_storage::{Batch, Snapshot};

use crate::counters::counters_range;
use crate::index_state::state_key;
use crate::multi::rows_of;
use crate::retention::forgotten_range;
use crate::scan::ScanRange;
use crate::spaces::{
    CLAIMS, DOCUMENTS, EXPIRY, FEED, HISTORY, INDEX, META, STATISTICS, UNIQUE, VERSIONS,
};
use crate::stored::StoredItem;
use crate::{Error, expiry};

/// Keys of each space that one step takes.
const PURGE_KEYS: usize = 2_000;

/// A document has about so many index entries for each of its own.
const PURGE_ENTRIES: usize = 8 * PURGE_KEYS;

/// How far the removal of a container has come: the keys removed last. Without it each step would
/// begin by passing over everything that the steps before it have removed.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    document: Option<Bytes>,
    unique: Option<Bytes>,
    index: Option<Bytes>,
    feed: Option<Bytes>,
    history: Option<Bytes>,
    versions: Option<Bytes>,
    claims: Option<Bytes>,
}

/// The next removals of a container, and how far they get; none if they are the last. The counters
/// go last of all.
pub(crate) fn purge_step(
    snapshot: &Snapshot,
    container: u32,
    purged: Purged,
) -> Result<(Batch, Option<Purged>), Error> {
    let range = ScanRange::of_container(container);
    let (from, to) = range.bounds();
    let mut next = purged;
    let mut batch = Batch::default();
    let documents = snapshot.range(DOCUMENTS, next.document.as_deref().unwrap_or(from), to);
    for entry in documents.take(PURGE_KEYS) {
        let (key, value) = entry?;
        // A damaged document goes as well; its entry is left to the sweep.
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
    for entry in snapshot.range(STATISTICS, from, to) {
        batch.delete(STATISTICS, entry?.0);
    }
    batch.delete(META, Bytes::copy_from_slice(&state_key(container)));
    for (from, to) in [
        counters_range(container),
        forgotten_range(container),
        rows_of(container),
    ] {
        for entry in snapshot.range(META, &from, to.as_deref()) {
            batch.delete(META, entry?.0);
        }
    }
    Ok((batch, None))
}
