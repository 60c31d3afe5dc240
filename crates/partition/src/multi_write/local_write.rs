//! The effect of a local transaction on versions: the transaction has seen all versions in this
//! region, so it replaces all of them. A delete leaves a tombstone.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_regions::{VersionId, VersionKind};

use super::unique_claims;
use super::versioned_item::{ApplyContext, VersionedItem};
use super::versions::{VersionsRow, removal};
use crate::apply::ChangeContext;
use crate::index_state::IndexStateCache;
use crate::keyspaces::VERSIONS;
use crate::overlay::Overlay;
use crate::record::RecordHeader;
use crate::{Counters, Error};

/// Replaces the hidden versions of a document. The caller changes the document itself afterwards.
pub(crate) fn replace_versions(
    overlay: &mut Overlay<'_>,
    at: ChangeContext,
    version_id: VersionId,
    key: &Bytes,
    value: Option<&Bytes>,
) -> Result<(), Error> {
    let row = overlay.get(VERSIONS, key)?;
    if let Some(row) = &row {
        let item = VersionedItem::of(key.clone(), None, Some(row.clone()))?;
        // A contested item has claims for its hidden version, and the write removes that version.
        if item.is_contested() {
            let prefix_bytes = item.prefix_bytes().unwrap_or_default();
            unique_claims::change(overlay, key, prefix_bytes, &item.stored_digests()?, &[])?;
        }
    }
    match value {
        Some(_) if row.is_none() => {}
        Some(_) => overlay.delete(VERSIONS, key.clone()),
        // The tombstone stays until every region has seen the delete: a concurrent put in another
        // region has to meet it.
        None => {
            let change = if at.is_expiry {
                VersionKind::Expiry
            } else {
                VersionKind::Delete
            };
            let RecordHeader {
                deciding_epoch,
                seconds,
                ..
            } = at.header;
            let row = VersionsRow {
                is_contested: false,
                versions: vec![removal(change, version_id, deciding_epoch, seconds)],
            };
            overlay.put(VERSIONS, key.clone(), row.encode());
        }
    }
    Ok(())
}

/// Ends the application of a record: makes hidden documents visible whose unique values are free
/// now, because the holder was removed or has other values.
pub(crate) fn finish_local_write(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    header: RecordHeader,
    changes: usize,
    counters: &mut Counters,
) -> Result<(), Error> {
    if header.version_id.is_none() {
        return Ok(());
    }
    let mut by_partition: BTreeMap<Bytes, Vec<Bytes>> = BTreeMap::new();
    for (prefix, entry) in overlay.take_contested() {
        by_partition.entry(prefix).or_default().push(entry);
    }
    let mut to = ApplyContext {
        overlay,
        states,
        header,
        counters,
        ordinal: changes,
    };
    for (prefix, entries) in by_partition {
        unique_claims::resolve_entries(&mut to, &prefix, entries)?;
    }
    // Resolving the entries writes documents and may note entries again; these are settled as well.
    to.overlay.take_contested();
    Ok(())
}
