//! Conflicts that wait for a decision, read from the rows of hidden versions.
//!
//! Conflicts follow from the versions alone, so every region lists the same conflicts. Only puts
//! are listed: an expiry loses by rule, and a delete never loses against a put.

use bytes::Bytes;
use orrery_regions::VersionId;
use orrery_storage::Snapshot;

use super::versioned_item::VersionedItem;
use crate::Error;
use crate::document_key::CONTAINER_BYTES;
use crate::keyspaces::{DOCUMENTS, UNIQUE, VERSIONS};
use crate::scan::ScanRange;
use crate::stored_item::StoredItem;
use crate::unique;

/// An item with a version that waits for a decision.
#[derive(Debug, Clone)]
pub struct StoredConflict {
    /// The document key.
    pub item: Bytes,
    /// The visible version.
    pub visible: Option<StoredItem>,
    /// Whether the item waits because other documents hold unique values that its version claims.
    pub is_contested: bool,
    /// The documents that hold these values.
    pub holders: Vec<StoredItem>,
    /// The hidden versions, best first.
    pub losers: Vec<StoredVersion>,
}

#[derive(Debug, Clone)]
pub struct StoredVersion {
    pub id: VersionId,
    pub document: StoredItem,
}

impl StoredConflict {
    /// The key without its container, from which the next page continues.
    pub fn key_position(&self) -> &[u8] {
        &self.item[CONTAINER_BYTES..]
    }
}

/// Items of a scope with hidden versions, in key order, after the given key.
pub(super) fn conflicts(
    snapshot: &Snapshot,
    scope: &ScanRange,
    after: Option<&Bytes>,
    limit: usize,
) -> Result<Vec<StoredConflict>, Error> {
    let (from, to) = scope.bounds();
    let resumed = after.map(|key| [&key[..], &[0]].concat());
    // A page may have a smaller scope than the page before it, for instance after a split.
    let from = resumed.as_deref().map_or(from, |resumed| resumed.max(from));
    let mut found = Vec::new();
    for entry in snapshot.range(VERSIONS, from, to) {
        let (key, row) = entry?;
        if !scope.matches_first_levels(&key[CONTAINER_BYTES..]) {
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
    let item = VersionedItem::of(key, document, Some(row))?;
    let tag = |item: &StoredItem| item.header.version.map(|version| version.tag);
    let visible = item.visible().cloned();
    let mut losers = Vec::new();
    for version in item.hidden().versions {
        let Some(stored) = version.body.stored else {
            continue;
        };
        let document = StoredItem::decode(stored)?;
        // Two versions with the same entity tag have the same text and are no conflict.
        if visible.as_ref().and_then(tag) != tag(&document) || visible.is_none() {
            losers.push(StoredVersion {
                id: version.id,
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
        visible,
        is_contested,
        holders,
        losers,
    }))
}

fn holders(snapshot: &Snapshot, item: &VersionedItem) -> Result<Vec<StoredItem>, Error> {
    let prefix = item.prefix_bytes().and_then(|bytes| item.key.get(..bytes));
    let mut found: Vec<(Bytes, StoredItem)> = Vec::new();
    for digest in item.winning_digests()? {
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
