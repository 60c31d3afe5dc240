//! Applies a record of another region to the state of this region.
//!
//! Application is deterministic: identical when the record arrives and at replay. The record takes
//! one LSN of each partition that owns documents of it, whichever versions become visible. A
//! container that is deleted here ignores the record, and the record still counts as applied.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};
use orrery_regions::{RegionId, VersionKind as Kind};

use super::StreamHeader;
use super::child_partitions::{holder, is_superseded};
use super::rids::{note_created, region_of, sequence_of};
use super::unique_claims::write_item;
use super::versioned_item::{ApplyContext, VersionedItem};
use super::versions::{ItemVersion, put, removal};
use crate::apply::SCRIPT_SEQUENCE_MIN;
use crate::counters::counters_key;
use crate::document_key::CONTAINER_BYTES;
use crate::index_state::IndexStateCache;
use crate::keyspaces::{CATALOGUE, INDEXING_POLICY, META};
use crate::overlay::Overlay;
use crate::record::{KeyChange, RecordHeader};
use crate::replay::CounterRows;
use crate::stored_item::StoredItem;
use crate::{Counters, Error};

/// A record of another region, as stored in the log of this region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedRecord {
    /// The LSN of the record in the partition of its first document; zero if the container is
    /// deleted here.
    pub(crate) lsn: Lsn,
    /// Whether this region made the record itself, before it lost its state and copied another
    /// region's.
    pub(crate) is_own: bool,
    pub(crate) stream_header: StreamHeader,
    /// The partition, LSN and time of the record at its origin.
    pub(crate) header: RecordHeader,
    pub(crate) changes: Vec<KeyChange>,
}

/// Whether a container exists and is not being purged.
fn is_alive(
    overlay: &Overlay<'_>,
    states: &mut IndexStateCache,
    container: u32,
) -> Result<bool, Error> {
    let key = [&[INDEXING_POLICY][..], &container.to_be_bytes()].concat();
    Ok(overlay.get(CATALOGUE, &key.into())?.is_some() && !states.is_purging(overlay, container)?)
}

/// The counters of a partition in the state.
pub(super) fn counters_of(
    overlay: &Overlay<'_>,
    (container, range): (u32, RangeId),
) -> Result<Counters, Error> {
    let key = Bytes::copy_from_slice(&counters_key(container, range));
    let row = overlay.get(META, &key)?;
    row.map_or(Ok(Counters::default()), |row| Counters::decode(&row))
}

/// The effect of a record on its partitions.
pub(crate) struct MergeEffect {
    pub(crate) counters: CounterRows,
    /// The growth of the logical partitions of these documents, in bytes.
    pub(crate) grown: Vec<(Bytes, i64)>,
}

/// The LSN that a record takes in this region.
pub(super) fn next_lsn(
    overlay: &Overlay<'_>,
    states: &mut IndexStateCache,
    merged: &MergedRecord,
) -> Result<Lsn, Error> {
    let RecordHeader {
        container, range, ..
    } = merged.header;
    let Some((first, _)) = merged.changes.first() else {
        return Ok(Lsn(0));
    };
    if !is_alive(overlay, states, container)? {
        return Ok(Lsn(0));
    }
    let holder = holder(overlay, container, range, key_position_of(first))?;
    Ok(Lsn(counters_of(overlay, (container, holder))?.lsn.0 + 1))
}

/// Applies a record. Returns its effect, or `None` if its container is deleted here.
pub(crate) fn apply_merged(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    merged: &MergedRecord,
) -> Result<Option<MergeEffect>, Error> {
    let container = merged.header.container;
    if !is_alive(overlay, states, container)? {
        return Ok(None);
    }
    let mut effect = MergeEffect {
        counters: Vec::new(),
        grown: Vec::new(),
    };
    // A record may change an item several times. Only the last change is a version.
    let last: BTreeMap<&Bytes, usize> = merged
        .changes
        .iter()
        .enumerate()
        .map(|(ordinal, (key, _))| (key, ordinal))
        .collect();
    for (range, ordinals) in parts(overlay, merged)? {
        let mut counters = counters_of(overlay, (container, range))?;
        if effect.counters.is_empty() && merged.lsn.0 != counters.lsn.0 + 1 {
            return Err(Error::Damaged(format!(
                "merged record {} follows {} in the log of a partition",
                merged.lsn, counters.lsn
            )));
        }
        counters.lsn = Lsn(counters.lsn.0 + 1);
        let header = RecordHeader {
            range,
            lsn: counters.lsn,
            ..merged.header
        };
        let mut to = ApplyContext {
            overlay,
            states,
            header,
            counters: &mut counters,
            ordinal: 0,
        };
        for ordinal in ordinals {
            let (key, value) = &merged.changes[ordinal];
            let version = version_of(&mut to, merged, ordinal, value.as_ref())?;
            if last.get(key) == Some(&ordinal) {
                let mut item = VersionedItem::load(to.overlay, key.clone())?;
                // The version replaces every sibling that its origin had seen (`deps`), and becomes
                // a concurrent sibling of all others.
                item.siblings.merge(version, &merged.stream_header.deps);
                let bytes = to.counters.bytes;
                write_item(&mut to, item)?;
                let more = to.counters.bytes.wrapping_sub(bytes).cast_signed();
                effect.grown.push((key.clone(), more));
            }
        }
        let key = Bytes::copy_from_slice(&counters_key(container, range));
        overlay.put(META, key, counters.encode());
        effect.counters.push(((container, range), counters));
    }
    // The rows that this record contested have been settled by `write_item`.
    overlay.take_contested();
    Ok(Some(effect))
}

/// The changes of a record, grouped by the partition that owns them here, starting with the
/// partition of the first change.
///
/// A transaction concerns one logical partition. An expiry record concerns one physical partition
/// at its origin, which may be several physical partitions here.
fn parts(
    overlay: &Overlay<'_>,
    merged: &MergedRecord,
) -> Result<Vec<(RangeId, Vec<usize>)>, Error> {
    let RecordHeader {
        container, range, ..
    } = merged.header;
    if !is_superseded(overlay, container, range)? {
        return Ok(vec![(range, (0..merged.changes.len()).collect())]);
    }
    let mut parts: Vec<(RangeId, Vec<usize>)> = Vec::new();
    for (ordinal, (key, _)) in merged.changes.iter().enumerate() {
        let holder = holder(overlay, container, range, key_position_of(key))?;
        match parts.iter_mut().find(|(range, _)| *range == holder) {
            Some((_, ordinals)) => ordinals.push(ordinal),
            None => parts.push((holder, vec![ordinal])),
        }
    }
    Ok(parts)
}

fn key_position_of(key: &[u8]) -> &[u8] {
    key.get(CONTAINER_BYTES..).unwrap_or_default()
}

/// The version that a change of a record creates.
fn version_of(
    to: &mut ApplyContext<'_, '_>,
    merged: &MergedRecord,
    ordinal: usize,
    value: Option<&Bytes>,
) -> Result<ItemVersion, Error> {
    let StreamHeader {
        version_id,
        deciding_epoch,
        expired,
        ..
    } = &merged.stream_header;
    let Some(value) = value else {
        let is_expiry = merged.header.is_expiry
            || u16::try_from(ordinal).is_ok_and(|ordinal| expired.contains(&ordinal));
        let kind = if is_expiry {
            Kind::Expiry
        } else {
            Kind::Delete
        };
        return Ok(removal(
            kind,
            *version_id,
            *deciding_epoch,
            merged.header.seconds,
        ));
    };
    let item = StoredItem::decode(value.clone())?;
    if item.header.version.map(|version| version.id) != Some(*version_id) {
        return Err(Error::Damaged(
            "a version has another version id".to_owned(),
        ));
    }
    note_created(to.overlay, merged.header.container, &item)?;
    if merged.is_own {
        count_own(to.counters, &item, version_id.origin);
    }
    put(value.clone())
}

/// Raises the rid counters above the numbers that this region assigned before it lost its state.
fn count_own(counters: &mut Counters, item: &StoredItem, own: RegionId) {
    if let Some((_, number)) = item.created_in()
        && region_of(number) == own
    {
        let sequence = sequence_of(number);
        let next = if sequence < SCRIPT_SEQUENCE_MIN {
            &mut counters.next_rid
        } else {
            &mut counters.next_script_rid
        };
        *next = (*next).max(sequence + 1);
    }
}
