//! The index entries of a document, and their changes when the document changes.
//!
//! Entries follow from the text of a document and the policy for its key, so the log does not
//! contain them. The thread of a request computes the entries in advance and passes them on; replay
//! computes them again.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use orrery_index::Entries;
use orrery_json::{Value, parse};
use orrery_model::Document;

use crate::Error;
use crate::document_key::{CONTAINER_BYTES, container_of};
use crate::index_state::{ContainerIndex, IndexStateCache};
use crate::overlay::Overlay;
use crate::stored_item::StoredItem;

/// The entries of one version of a document under one policy.
#[derive(Debug, Clone)]
pub(crate) struct IndexedVersion {
    index: Arc<ContainerIndex>,
    pub(crate) entries: Entries,
}

impl IndexedVersion {
    /// The entries of a document without system properties that is written at `modified_seconds`.
    pub(crate) fn new(
        index: &Arc<ContainerIndex>,
        key: &[u8],
        document: &Value,
        modified_seconds: u32,
    ) -> IndexedVersion {
        IndexedVersion {
            index: Arc::clone(index),
            entries: entries(index, key, document, modified_seconds),
        }
    }

    /// The entries of a document that is excluded from indexing.
    pub(crate) fn unindexed(index: &Arc<ContainerIndex>, key: &[u8]) -> IndexedVersion {
        let (container, key_position) = (
            container_of(key).unwrap_or_default(),
            &key[CONTAINER_BYTES..],
        );
        IndexedVersion {
            index: Arc::clone(index),
            entries: index
                .definition()
                .unindexed_entries(container, key_position),
        }
    }

    pub(crate) fn of_stored(
        index: &Arc<ContainerIndex>,
        key: &[u8],
        item: &StoredItem,
    ) -> Result<IndexedVersion, Error> {
        if !item.header.indexed || index.definition().is_nothing() {
            return Ok(IndexedVersion::unindexed(index, key));
        }
        let document = stored_document(item)?;
        let seconds = item.header.modified_seconds;
        Ok(IndexedVersion::new(index, key, document.value(), seconds))
    }
}

/// Entries that the caller of a change has computed in advance.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PrecomputedEntries<'a> {
    pub(crate) old: Option<&'a IndexedVersion>,
    pub(crate) new: Option<&'a IndexedVersion>,
}

/// Changes the index entries of a document together with the document.
pub(crate) fn change_entries(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    key: &Bytes,
    (old, new): (Option<&StoredItem>, Option<&StoredItem>),
    known: PrecomputedEntries<'_>,
) -> Result<(), Error> {
    if !overlay.lists_entries() {
        return Ok(());
    }
    // Index entries depend on the text and the `indexed` flag alone.
    if let (Some(old), Some(new)) = (old, new)
        && old.header.indexed == new.header.indexed
        && old.text() == new.text()
    {
        return Ok(());
    }
    let container = container_of(key)
        .ok_or_else(|| Error::Damaged("a document key is too short".to_owned()))?;
    let state = states.of(overlay, container)?;
    let index = state.index_at(key);
    if index.definition().is_nothing() {
        return Ok(());
    }
    let old = entries_of(index, key, old, known.old)?;
    let new = entries_of(index, key, new, known.new)?;
    replace_entries(overlay, key, &old, &new);
    Ok(())
}

/// The entries of a version of a document: the precomputed ones if they were computed under this
/// policy, else new ones. Empty without a version.
fn entries_of<'a>(
    index: &Arc<ContainerIndex>,
    key: &[u8],
    item: Option<&StoredItem>,
    known: Option<&'a IndexedVersion>,
) -> Result<Cow<'a, Entries>, Error> {
    let Some(item) = item else {
        return Ok(Cow::Owned(Entries::default()));
    };
    // The policy may have changed between the request's thread and the committer.
    match known.filter(|known| known.index.text() == index.text()) {
        Some(known) => Ok(Cow::Borrowed(&known.entries)),
        None => {
            let version = IndexedVersion::of_stored(index, key, item)?;
            Ok(Cow::Owned(version.entries))
        }
    }
}

/// Replaces the entries `old` of a document by `new`.
pub(crate) fn replace_entries(overlay: &mut Overlay<'_>, key: &[u8], old: &Entries, new: &Entries) {
    let key_position_bytes = key.len() - CONTAINER_BYTES;
    if old.is_empty() {
        for (_, entry) in new.iter() {
            overlay.put_entry(entry, key_position_bytes);
        }
        return;
    }
    let difference = Entries::difference(old, new);
    for (_, entry) in difference.removed {
        overlay.delete_entry(entry, key_position_bytes);
    }
    for (_, entry) in difference.added {
        overlay.put_entry(entry, key_position_bytes);
    }
}

fn entries(index: &ContainerIndex, key: &[u8], document: &Value, modified_seconds: u32) -> Entries {
    let container = container_of(key).unwrap_or_default();
    let key_position = &key[CONTAINER_BYTES..];
    index
        .definition()
        .entries_at(container, document, modified_seconds, key_position)
}

/// The document as the client wrote it, parsed from its stored text.
pub(crate) fn stored_document(item: &StoredItem) -> Result<Document, Error> {
    let damaged = |cause: &dyn std::fmt::Display| {
        Error::Damaged(format!("a stored document does not parse: {cause}"))
    };
    let value = parse(&item.text()).map_err(|error| damaged(&error))?;
    Document::from_value(value).map_err(|failure| damaged(&format!("{failure:?}")))
}
