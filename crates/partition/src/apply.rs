//! Applies a record to the state. This module is the only one that writes documents.
//!
//! Application is deterministic: it depends on the record and the state, and never on a clock. The
//! secondary rows of a document come from its stored header (unique key entries, expiry entry) or
//! from its text and the stored policy (index entries).

use bytes::Bytes;
use orrery_model::RangeId;

use crate::counters::counters_key;
use crate::document_key::container_of;
use crate::first_lsn::put_first_lsn;
use crate::index_state::IndexStateCache;
use crate::indexing::{PrecomputedEntries, change_entries};
use crate::keyspaces::{
    CATALOGUE, CLAIMS, DOCUMENTS, EXPIRY, FEED, FIRST_LSN, HISTORY, HISTORY_POLICY,
    INDEXING_POLICY, META, UNIQUE,
};
use crate::multi_write::{finish_local_write, region_of, replace_versions, sequence_of};
use crate::overlay::Overlay;
use crate::record::{KeyChange, RecordHeader};
use crate::stored_item::StoredItem;
use crate::{Counters, Error, expiry, feed_entry, history, unique};

/// Number of low bits of an item's rid counter that count items within the partition.
const RID_SEQUENCE_BITS: u32 = 40;

/// The rid counter of the `sequence`-th item created in a partition.
pub(crate) fn rid_counter(range: RangeId, sequence: u64) -> u64 {
    (u64::from(range.0) << RID_SEQUENCE_BITS) | sequence
}

/// Splits a rid counter into the partition and the sequence number.
pub(crate) fn split_rid_counter(counter: u64) -> (u64, u64) {
    let number = counter & ((1 << RID_SEQUENCE_BITS) - 1);
    (counter >> RID_SEQUENCE_BITS, number)
}

/// The first sequence number for items that scripts create.
pub(crate) const SCRIPT_SEQUENCE_MIN: u64 = 1 << (RID_SEQUENCE_BITS - 1);

/// Applies the changes of an item record that follows `counters`, and returns the counters after
/// the record.
pub(crate) fn apply_items(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    header: RecordHeader,
    changes: &[KeyChange],
    expired: &[u16],
    mut counters: Counters,
) -> Result<Counters, Error> {
    let lsn = header.lsn;
    // Each record of a partition takes exactly one LSN, so a gap means a lost record.
    if lsn.0 != counters.lsn.0 + 1 {
        return Err(Error::Damaged(format!(
            "record {lsn} follows {} in the log of a partition",
            counters.lsn
        )));
    }
    counters.lsn = lsn;
    for (ordinal, (key, value)) in changes.iter().enumerate() {
        let is_expired = u16::try_from(ordinal).is_ok_and(|ordinal| expired.contains(&ordinal));
        let at = ChangeContext {
            header,
            ordinal,
            is_expiry: header.is_expiry || is_expired,
        };
        let known = PrecomputedEntries::default();
        apply_change(
            overlay,
            states,
            at,
            key,
            value.as_ref(),
            known,
            &mut counters,
        )?;
    }
    finish_local_write(overlay, states, header, changes.len(), &mut counters)?;
    Ok(counters)
}

/// One change of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeContext {
    pub(crate) header: RecordHeader,
    /// Index of the change within its record.
    pub(crate) ordinal: usize,
    /// Whether the change removes an expired document.
    pub(crate) is_expiry: bool,
}

/// Applies one change of a record, with all rows derived from the document.
pub(crate) fn apply_change(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    at: ChangeContext,
    key: &Bytes,
    value: Option<&Bytes>,
    known: PrecomputedEntries<'_>,
    counters: &mut Counters,
) -> Result<(), Error> {
    // The claims of this document are removed first: `write_document` takes the remaining claims as
    // those of other documents.
    if let Some(version_id) = at.header.version_id {
        replace_versions(overlay, at, version_id, key, value)?;
    }
    write_document(overlay, states, at, key, value, known, counters)
}

/// Writes the visible version of a document and all rows derived from it.
pub(crate) fn write_document(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    at: ChangeContext,
    key: &Bytes,
    value: Option<&Bytes>,
    known: PrecomputedEntries<'_>,
    counters: &mut Counters,
) -> Result<(), Error> {
    let decode = |bytes: Option<Bytes>| bytes.map(StoredItem::decode).transpose();
    let (old, new) = (
        decode(overlay.get(DOCUMENTS, key)?)?,
        decode(value.cloned())?,
    );
    // Every derived row is computed from the difference between the old and the new version, so the
    // old version must be read before any row is written.
    let versions = (old.as_ref(), new.as_ref());
    change_entries(overlay, states, key, versions, known)?;
    change_feed(overlay, states, at, key, versions)?;
    if let Some(old) = &old {
        note_contested(overlay, key, old)?;
        remove_derived(overlay, key, old, counters);
    }
    if let Some(new) = &new {
        note_contested(overlay, key, new)?;
        put_derived(overlay, at.header, key, new, counters);
    }
    match value {
        Some(value) => overlay.put(DOCUMENTS, key.clone(), value.clone()),
        None => overlay.delete(DOCUMENTS, key.clone()),
    }
    Ok(())
}

/// Moves a document to its new position in the feed, and adds a history entry if the container
/// keeps its history.
fn change_feed(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    at: ChangeContext,
    key: &Bytes,
    (old, new): (Option<&StoredItem>, Option<&StoredItem>),
) -> Result<(), Error> {
    // The feed position is part of a batch, and an overlay without entries never becomes a batch.
    if !overlay.lists_entries() {
        return Ok(());
    }
    let ChangeContext {
        header, ordinal, ..
    } = at;
    let container = header.container;
    let entry = |item: &StoredItem| {
        let (range, lsn, ordinal) = item.feed_position();
        feed_entry::entry_key(container, range, lsn, ordinal)
    };
    if let Some(old) = old {
        overlay.delete(FEED, entry(old));
    }
    if let Some(new) = new {
        let seconds = new.header.modified_seconds;
        overlay.put(FEED, entry(new), feed_entry::entry_value(seconds, key));
    }
    if states.keeps_history(overlay, container)?
        && let Some(event) = history::entry(key, old, new, header.seconds, header.is_expiry)
    {
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        let key = feed_entry::entry_key(container, header.range, header.lsn, ordinal);
        overlay.put(HISTORY, key, event);
    }
    Ok(())
}

/// Notes the unique values of a document that hidden documents claim as well. Their claims must be
/// decided again after this change.
fn note_contested(overlay: &mut Overlay<'_>, key: &[u8], item: &StoredItem) -> Result<(), Error> {
    if item.header.version.is_none() {
        return Ok(());
    }
    let (prefix, _) = key.split_at(usize::from(item.header.prefix_bytes));
    for digest in item.digests() {
        let entry = unique::entry_key(prefix, &digest);
        if overlay.get(CLAIMS, &entry)?.is_some() {
            overlay.note_contested(Bytes::copy_from_slice(prefix), entry);
        }
    }
    Ok(())
}

fn remove_derived(
    overlay: &mut Overlay<'_>,
    key: &[u8],
    item: &StoredItem,
    counters: &mut Counters,
) {
    let (prefix, _) = key.split_at(usize::from(item.header.prefix_bytes));
    for digest in item.digests() {
        overlay.delete(UNIQUE, unique::entry_key(prefix, &digest));
    }
    if item.header.expiry_entry != 0 {
        overlay.delete(EXPIRY, expiry::entry_key(item.header.expiry_entry, key));
    }
    // The counts of a new child partition are estimates, which may fall below zero.
    counters.items = counters.items.wrapping_sub(1);
    counters.bytes = counters.bytes.wrapping_sub(item.text_bytes() as u64);
}

fn put_derived(
    overlay: &mut Overlay<'_>,
    header: RecordHeader,
    key: &[u8],
    item: &StoredItem,
    counters: &mut Counters,
) {
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
    counters.items = counters.items.wrapping_add(1);
    counters.bytes = counters.bytes.wrapping_add(item.text_bytes() as u64);
    let Some((range, number)) = item.created_in() else {
        return;
    };
    // A counter advances only for items that this partition and this region created. Items of other
    // regions have their own number space.
    let own = header.version_id.map(|version_id| version_id.origin);
    let is_own = item.header.version.is_none() || own == Some(region_of(number));
    if range == item.header.range && is_own {
        let sequence = if own.is_none() {
            number
        } else {
            sequence_of(number)
        };
        let next = if sequence < SCRIPT_SEQUENCE_MIN {
            &mut counters.next_rid
        } else {
            &mut counters.next_script_rid
        };
        *next = (*next).max(sequence + 1);
    }
}

pub(crate) fn apply_catalogue(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    changes: &[KeyChange],
) -> Result<(), Error> {
    // A policy row affects cached index states, so those are updated in the same step as the row.
    for (key, value) in changes {
        if let Some((&HISTORY_POLICY, number)) = key.split_first()
            && let Some(container) = container_of(number)
        {
            states.forget(container);
        }
        if let (Some((&INDEXING_POLICY, number)), Some(value)) = (key.split_first(), value)
            && let Some(container) = container_of(number)
        {
            states.apply(overlay, container, value)?;
        }
        if let (Some((&FIRST_LSN, number)), Some(rows)) = (key.split_first(), value)
            && let Some(container) = container_of(number)
        {
            put_first_lsn(overlay, container, rows)?;
            continue;
        }
        match value {
            Some(value) => overlay.put(CATALOGUE, key.clone(), value.clone()),
            None => overlay.delete(CATALOGUE, key.clone()),
        }
    }
    Ok(())
}

/// Stores the counters of partitions together with the catalogue change that created the
/// partitions.
pub(crate) fn apply_ranges(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    container: u32,
    counters: &[(RangeId, Counters)],
    changes: &[KeyChange],
) -> Result<(), Error> {
    for (range, counters) in counters {
        let key = Bytes::copy_from_slice(&counters_key(container, *range));
        overlay.put(META, key, counters.encode());
    }
    apply_catalogue(overlay, states, changes)
}
