//! Conflicts that wait for a decision, found in the rows of hidden versions.
//!
//! They follow from the versions alone, so every region lists the same. Only puts are listed: an
//! expiry loses by rule, and a removal never loses against a put.

use bytes::Bytes;
use orrery_regions::Stamp;
use orrery_storage::Snapshot;

use super::item::Item;
use crate::Error;
use crate::document_key::CONTAINER_BYTES;
use crate::scan::ScanRange;
use crate::spaces::{DOCUMENTS, UNIQUE, VERSIONS};
use crate::stored::StoredItem;
use crate::unique;

/// An item of which a version waits for a decision.
#[derive(Debug, Clone)]
pub struct StoredConflict {
    /// The document key.
    pub item: Bytes,
    /// What readers see.
    pub shown: Option<StoredItem>,
    /// Whether it waits because other documents hold what its version claims as unique.
    pub is_contested: bool,
    /// Those documents.
    pub holders: Vec<StoredItem>,
    /// The versions that are not shown, the best first.
    pub losers: Vec<StoredVersion>,
}

#[derive(Debug, Clone)]
pub struct StoredVersion {
    pub stamp: Stamp,
    pub document: StoredItem,
}

impl StoredConflict {
    /// The key without its container: where a page goes on.
    pub fn place(&self) -> &[u8] {
        &self.item[CONTAINER_BYTES..]
    }
}

/// Items of a scope with versions that are not shown, in key order, after one of them.
pub(super) fn conflicts(
    snapshot: &Snapshot,
    scope: &ScanRange,
    after: Option<&Bytes>,
    limit: usize,
) -> Result<Vec<StoredConflict>, Error> {
    let (from, to) = scope.bounds();
    let resumed = after.map(|key| [&key[..], &[0]].concat());
    // A page may go on in a smaller scope than the one before.
    let from = resumed.as_deref().map_or(from, |resumed| resumed.max(from));
    let mut found = Vec::new();
    for entry in snapshot.range(VERSIONS, from, to) {
        let (key, row) = entry?;
        if !scope.has(&key[CONTAINER_BYTES..]) {
            continue;
        }
        if let Some(conflict) = conflict(snapshot, key, row)? {
            found.push(conflict);
            if found.len() >= limit {
                break;
            }
        }
    }
    Ok(found)
}

fn conflict(snapshot: &Snapshot, key: Bytes, row: Bytes) -> Result<Option<StoredConflict>, Error> {
    let document = snapshot.get(DOCUMENTS, &key)?;
    let item = Item::of(key, document, Some(row))?;
    let tag = |item: &StoredItem| item.header.version.map(|version| version.tag);
    let shown = item.shown().cloned();
    let mut losers = Vec::new();
    for version in item.hidden().versions {
        let Some(stored) = version.body.stored else {
            continue;
        };
        let document = StoredItem::decode(stored)?;
        // Two decisions for the same text are no conflict.
        if shown.as_ref().and_then(tag) != tag(&document) || shown.is_none() {
            losers.push(StoredVersion {
                stamp: version.stamp,
                document,
            });
        }
    }
    if losers.is_empty() {
        return Ok(None);
    }
    let is_contested = item.is_contested();
    let holders = if is_contested {
        holders(snapshot, &item)?
    } else {
        Vec::new()
    };
    Ok(Some(StoredConflict {
        item: item.key,
        shown,
        is_contested,
        holders,
        losers,
    }))
}

fn holders(snapshot: &Snapshot, item: &Item) -> Result<Vec<StoredItem>, Error> {
    let prefix = item.prefix_bytes().and_then(|bytes| item.key.get(..bytes));
    let mut found: Vec<(Bytes, StoredItem)> = Vec::new();
    for digest in item.standing_digests()? {
        let prefix = prefix.unwrap_or_default();
        let Some(id) = snapshot.get(UNIQUE, &unique::entry_key(prefix, &digest))? else {
            continue;
        };
        let key = [prefix, &id[..]].concat();
        if let Some(document) = snapshot.get(DOCUMENTS, &key)?
            && !found.iter().any(|(known, _)| *known == id)
        {
            found.push((id, StoredItem::decode(document)?));
        }
    }
    Ok(found.into_iter().map(|(_, item)| item).collect())
}
