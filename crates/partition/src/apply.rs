//! A record becomes changes of the state: the only place where documents are written.
//!
//! Deterministic: it looks at the record and at the state, at no clock and no policy. What follows
//! from a document (its unique entries, its place in the expiry space) is in its stored header.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::overlay::Overlay;
use crate::record::Change;
use crate::spaces::{CATALOGUE, DOCUMENTS, EXPIRY, UNIQUE};
use crate::stored::StoredItem;
use crate::{Counters, Error, expiry, unique};

/// Low bits of an item's rid counter that number it within its partition.
const RID_SEQUENCE_BITS: u32 = 40;

/// The rid counter of the `sequence`-th item created in a partition.
pub(crate) fn rid_counter(range: RangeId, sequence: u64) -> u64 {
    (u64::from(range.0) << RID_SEQUENCE_BITS) | sequence
}

/// Applies the changes of an item record that follows `counters`; gives the counters after it.
pub(crate) fn apply_items(
    overlay: &mut Overlay<'_>,
    lsn: Lsn,
    changes: &[Change],
    mut counters: Counters,
) -> Result<Counters, Error> {
    if lsn.0 != counters.lsn.0 + 1 {
        return Err(Error::Damaged(format!(
            "record {lsn} follows {} in the log of a partition",
            counters.lsn
        )));
    }
    counters.lsn = lsn;
    for (key, value) in changes {
        apply_change(overlay, key, value.as_ref(), &mut counters)?;
    }
    Ok(counters)
}

/// Applies one document of a record, with all that follows from it.
pub(crate) fn apply_change(
    overlay: &mut Overlay<'_>,
    key: &Bytes,
    value: Option<&Bytes>,
    counters: &mut Counters,
) -> Result<(), Error> {
    if let Some(old) = overlay.get(DOCUMENTS, key)? {
        forget(overlay, key, &StoredItem::decode(old)?, counters);
    }
    match value {
        Some(value) => {
            let item = StoredItem::decode(value.clone())?;
            remember(overlay, key, &item, counters);
            overlay.put(DOCUMENTS, key.clone(), value.clone());
        }
        None => overlay.delete(DOCUMENTS, key.clone()),
    }
    Ok(())
}

fn forget(overlay: &mut Overlay<'_>, key: &[u8], item: &StoredItem, counters: &mut Counters) {
    let (prefix, _) = key.split_at(usize::from(item.header.prefix_bytes));
    for digest in item.digests() {
        overlay.delete(UNIQUE, unique::entry_key(prefix, &digest));
    }
    if item.header.expiry_entry != 0 {
        overlay.delete(EXPIRY, expiry::entry_key(item.header.expiry_entry, key));
    }
    counters.items -= 1;
    counters.bytes -= item.text_bytes() as u64;
}

fn remember(overlay: &mut Overlay<'_>, key: &[u8], item: &StoredItem, counters: &mut Counters) {
    let (prefix, id) = key.split_at(usize::from(item.header.prefix_bytes));
    for digest in item.digests() {
        overlay.put(
            UNIQUE,
            unique::entry_key(prefix, &digest),
            Bytes::copy_from_slice(id),
        );
    }
    if item.header.expiry_entry != 0 {
        overlay.put(
            EXPIRY,
            expiry::entry_key(item.header.expiry_entry, key),
            Bytes::new(),
        );
    }
    counters.items += 1;
    counters.bytes += item.text_bytes() as u64;
    let sequence = item.header.rid_counter & ((1 << RID_SEQUENCE_BITS) - 1);
    if item.header.rid_counter == rid_counter(item.header.range, sequence) {
        counters.next_rid = counters.next_rid.max(sequence + 1);
    }
}

pub(crate) fn apply_catalogue(overlay: &mut Overlay<'_>, changes: &[Change]) {
    for (key, value) in changes {
        match value {
            Some(value) => overlay.put(CATALOGUE, key.clone(), value.clone()),
            None => overlay.delete(CATALOGUE, key.clone()),
        }
    }
}
