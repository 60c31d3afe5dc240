//! A record becomes changes of the state: the only place where documents are written.
//!
//! Deterministic: it looks at the record and at the state, at no clock. What follows from a document
//! is in its stored header (its unique entries, its place in the expiry space) or follows from its
//! text and the stored policy (its index entries).

use bytes::Bytes;
use orrery_model::RangeId;

use crate::counters::counters_key;
use crate::document_key::container_of;
use crate::index_state::IndexStates;
use crate::indexing::{Known, change_entries};
use crate::multi::{finish_own, region_of, replace_versions, sequence_of};
use crate::overlay::Overlay;
use crate::record::{Change, Moment};
use crate::spaces::{
    CATALOGUE, CLAIMS, DOCUMENTS, EXPIRY, FEED, HISTORY, HISTORY_POLICY, INDEXING_POLICY, META,
    UNIQUE,
};
use crate::stored::StoredItem;
use crate::{Counters, Error, expiry, feed_entry, history, unique};

/// Low bits of an item's rid counter that number it within its partition.
const RID_SEQUENCE_BITS: u32 = 40;

/// The rid counter of the `sequence`-th item created in a partition.
pub(crate) fn rid_counter(range: RangeId, sequence: u64) -> u64 {
    (u64::from(range.0) << RID_SEQUENCE_BITS) | sequence
}

/// The partition and the number that make a rid counter.
pub(crate) fn split_rid_counter(counter: u64) -> (u64, u64) {
    let number = counter & ((1 << RID_SEQUENCE_BITS) - 1);
    (counter >> RID_SEQUENCE_BITS, number)
}

/// The first number of items that scripts create.
pub(crate) const SCRIPT_SEQUENCE_MIN: u64 = 1 << (RID_SEQUENCE_BITS - 1);

/// Applies the changes of an item record that follows `counters`; gives the counters after it.
pub(crate) fn apply_items(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    moment: Moment,
    changes: &[Change],
    expired: &[u16],
    mut counters: Counters,
) -> Result<Counters, Error> {
    let lsn = moment.lsn;
    if lsn.0 != counters.lsn.0 + 1 {
        return Err(Error::Damaged(format!(
            "record {lsn} follows {} in the log of a partition",
            counters.lsn
        )));
    }
    counters.lsn = lsn;
    for (ordinal, (key, value)) in changes.iter().enumerate() {
        let is_expired = u16::try_from(ordinal).is_ok_and(|ordinal| expired.contains(&ordinal));
        let at = ChangeAt {
            moment,
            ordinal,
            is_expiry: moment.is_expiry || is_expired,
        };
        let known = Known::default();
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
    finish_own(overlay, states, moment, changes.len(), &mut counters)?;
    Ok(counters)
}

/// One change of a record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChangeAt {
    pub(crate) moment: Moment,
    /// How many changes of the record are before it.
    pub(crate) ordinal: usize,
    /// Whether it removes what has expired.
    pub(crate) is_expiry: bool,
}

/// Applies one change of a record, with all that follows from it.
pub(crate) fn apply_change(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    at: ChangeAt,
    key: &Bytes,
    value: Option<&Bytes>,
    known: Known<'_>,
    counters: &mut Counters,
) -> Result<(), Error> {
    if let Some(stamp) = at.moment.stamp {
        replace_versions(overlay, at, stamp, key, value)?;
    }
    write_document(overlay, states, at, key, value, known, counters)
}

/// Writes the document that is to be read from now on, and all that follows from it.
pub(crate) fn write_document(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    at: ChangeAt,
    key: &Bytes,
    value: Option<&Bytes>,
    known: Known<'_>,
    counters: &mut Counters,
) -> Result<(), Error> {
    let decode = |bytes: Option<Bytes>| bytes.map(StoredItem::decode).transpose();
    let (old, new) = (
        decode(overlay.get(DOCUMENTS, key)?)?,
        decode(value.cloned())?,
    );
    let versions = (old.as_ref(), new.as_ref());
    change_entries(overlay, states, key, versions, known)?;
    change_feed(overlay, states, at, key, versions)?;
    if let Some(old) = &old {
        note_contested(overlay, key, old)?;
        forget(overlay, key, old, counters);
    }
    if let Some(new) = &new {
        note_contested(overlay, key, new)?;
        remember(overlay, at.moment, key, new, counters);
    }
    match value {
        Some(value) => overlay.put(DOCUMENTS, key.clone(), value.clone()),
        None => overlay.delete(DOCUMENTS, key.clone()),
    }
    Ok(())
}

/// Moves a document to its new place in the feed, and keeps what happened where that is asked.
fn change_feed(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    at: ChangeAt,
    key: &Bytes,
    (old, new): (Option<&StoredItem>, Option<&StoredItem>),
) -> Result<(), Error> {
    // Only what becomes a batch has a place.
    if !overlay.lists_entries() {
        return Ok(());
    }
    let ChangeAt {
        moment, ordinal, ..
    } = at;
    let container = moment.container;
    let entry = |item: &StoredItem| {
        let (range, lsn, ordinal) = item.moment();
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
        && let Some(event) = history::entry(key, old, new, moment.seconds, moment.is_expiry)
    {
        let ordinal = u16::try_from(ordinal).unwrap_or(u16::MAX);
        let place = feed_entry::entry_key(container, moment.range, moment.lsn, ordinal);
        overlay.put(HISTORY, place, event);
    }
    Ok(())
}

/// Notes values that documents claim which are not shown.
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

fn forget(overlay: &mut Overlay<'_>, key: &[u8], item: &StoredItem, counters: &mut Counters) {
    let (prefix, _) = key.split_at(usize::from(item.header.prefix_bytes));
    for digest in item.digests() {
        overlay.delete(UNIQUE, unique::entry_key(prefix, &digest));
    }
    if item.header.expiry_entry != 0 {
        overlay.delete(EXPIRY, expiry::entry_key(item.header.expiry_entry, key));
    }
    // An estimate may be less than what there is.
    counters.items = counters.items.wrapping_sub(1);
    counters.bytes = counters.bytes.wrapping_sub(item.text_bytes() as u64);
}

fn remember(
    overlay: &mut Overlay<'_>,
    moment: Moment,
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
    let own = moment.stamp.map(|stamp| stamp.origin);
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
    states: &mut IndexStates,
    changes: &[Change],
) -> Result<(), Error> {
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
        match value {
            Some(value) => overlay.put(CATALOGUE, key.clone(), value.clone()),
            None => overlay.delete(CATALOGUE, key.clone()),
        }
    }
    Ok(())
}

/// Gives partitions their counters, along with the change of the catalogue that made them.
pub(crate) fn apply_ranges(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    container: u32,
    counters: &[(RangeId, Counters)],
    changes: &[Change],
) -> Result<(), Error> {
    for (range, counters) in counters {
        let key = Bytes::copy_from_slice(&counters_key(container, *range));
        overlay.put(META, key, counters.encode());
    }
    apply_catalogue(overlay, states, changes)
}
