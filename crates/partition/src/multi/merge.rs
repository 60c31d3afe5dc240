//! A record of another region becomes changes of this state.
//!
//! Like any record it is applied the same way when it arrives and when the log is replayed. It gets
//! one LSN of each partition that holds documents of it, whatever it shows. A container that is gone
//! here takes nothing more; the record still counts as applied.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};
use orrery_regions::{Change as Kind, RegionId};

use super::Stamped;
use super::claims::write_item;
use super::heirs::{holder, is_retired};
use super::item::{Item, Writing};
use super::rids::{note_created, region_of, sequence_of};
use super::versions::{ItemVersion, put, removal};
use crate::apply::SCRIPT_SEQUENCE_MIN;
use crate::counters::counters_key;
use crate::document_key::CONTAINER_BYTES;
use crate::index_state::IndexStates;
use crate::overlay::Overlay;
use crate::record::{Change, Moment};
use crate::replay::Counted;
use crate::spaces::{CATALOGUE, INDEXING_POLICY, META};
use crate::stored::StoredItem;
use crate::{Counters, Error};

/// A record of another region as it stands in the log of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// What it got here, in the partition that holds its first document; none where its container is
    /// gone.
    pub(crate) lsn: Lsn,
    /// Set if the record is of the region itself, which lost its state and has another's now.
    pub(crate) is_own: bool,
    pub(crate) stamped: Stamped,
    /// Where and when its origin made it.
    pub(crate) moment: Moment,
    pub(crate) changes: Vec<Change>,
}

/// Whether a container takes documents.
fn is_alive(
    overlay: &Overlay<'_>,
    states: &mut IndexStates,
    container: u32,
) -> Result<bool, Error> {
    let key = [&[INDEXING_POLICY][..], &container.to_be_bytes()].concat();
    Ok(overlay.get(CATALOGUE, &key.into())?.is_some() && !states.is_leaving(overlay, container)?)
}

/// The counters of a partition as the state has them.
pub(super) fn counters_of(
    overlay: &Overlay<'_>,
    (container, range): (u32, RangeId),
) -> Result<Counters, Error> {
    let key = Bytes::copy_from_slice(&counters_key(container, range));
    let row = overlay.get(META, &key)?;
    row.map_or(Ok(Counters::default()), |row| Counters::decode(&row))
}

/// What a record did to its partitions.
pub(crate) struct Effect {
    pub(crate) counters: Counted,
    /// By how many bytes the logical partitions of these documents have grown.
    pub(crate) grown: Vec<(Bytes, i64)>,
}

/// The LSN that a record is to get here.
pub(super) fn next_lsn(
    overlay: &Overlay<'_>,
    states: &mut IndexStates,
    merged: &Merged,
) -> Result<Lsn, Error> {
    let Moment {
        container, range, ..
    } = merged.moment;
    let Some((first, _)) = merged.changes.first() else {
        return Ok(Lsn(0));
    };
    if !is_alive(overlay, states, container)? {
        return Ok(Lsn(0));
    }
    let holder = holder(overlay, container, range, place_of(first))?;
    Ok(Lsn(counters_of(overlay, (container, holder))?.lsn.0 + 1))
}

/// Applies a record; tells what it did, if its container is there.
pub(crate) fn apply_merged(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    merged: &Merged,
) -> Result<Option<Effect>, Error> {
    let container = merged.moment.container;
    if !is_alive(overlay, states, container)? {
        return Ok(None);
    }
    let mut effect = Effect {
        counters: Vec::new(),
        grown: Vec::new(),
    };
    // Of the changes of an item in one record only the last is a version.
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
        let moment = Moment {
            range,
            lsn: counters.lsn,
            ..merged.moment
        };
        let mut to = Writing {
            overlay,
            states,
            moment,
            counters: &mut counters,
            ordinal: 0,
        };
        for ordinal in ordinals {
            let (key, value) = &merged.changes[ordinal];
            let version = version_of(&mut to, merged, ordinal, value.as_ref())?;
            if last.get(key) == Some(&ordinal) {
                let mut item = Item::load(to.overlay, key.clone())?;
                item.siblings.merge(version, &merged.stamped.deps);
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
    overlay.take_contested();
    Ok(Some(effect))
}

/// The changes of a record, by the partition that holds them here, that of the first one first.
///
/// A transaction is of one logical partition, but what a region removes because it has expired is of
/// one physical partition there, and that may be several here.
fn parts(overlay: &Overlay<'_>, merged: &Merged) -> Result<Vec<(RangeId, Vec<usize>)>, Error> {
    let Moment {
        container, range, ..
    } = merged.moment;
    if !is_retired(overlay, container, range)? {
        return Ok(vec![(range, (0..merged.changes.len()).collect())]);
    }
    let mut parts: Vec<(RangeId, Vec<usize>)> = Vec::new();
    for (ordinal, (key, _)) in merged.changes.iter().enumerate() {
        let holder = holder(overlay, container, range, place_of(key))?;
        match parts.iter_mut().find(|(range, _)| *range == holder) {
            Some((_, ordinals)) => ordinals.push(ordinal),
            None => parts.push((holder, vec![ordinal])),
        }
    }
    Ok(parts)
}

fn place_of(key: &[u8]) -> &[u8] {
    key.get(CONTAINER_BYTES..).unwrap_or_default()
}

/// The version that a change of a record is.
fn version_of(
    to: &mut Writing<'_, '_>,
    merged: &Merged,
    ordinal: usize,
    value: Option<&Bytes>,
) -> Result<ItemVersion, Error> {
    let Stamped {
        stamp,
        decided,
        expired,
        ..
    } = &merged.stamped;
    let Some(value) = value else {
        let is_expiry = merged.moment.is_expiry
            || u16::try_from(ordinal).is_ok_and(|ordinal| expired.contains(&ordinal));
        let kind = if is_expiry {
            Kind::Expiry
        } else {
            Kind::Delete
        };
        return Ok(removal(kind, *stamp, *decided, merged.moment.seconds));
    };
    let item = StoredItem::decode(value.clone())?;
    if item.header.version.map(|version| version.stamp) != Some(*stamp) {
        return Err(Error::Damaged("a version has another stamp".to_owned()));
    }
    note_created(to.overlay, merged.moment.container, &item)?;
    if merged.is_own {
        count_own(to.counters, &item, stamp.origin);
    }
    put(value.clone())
}

/// Goes on after the numbers that this region gave out before it lost its state.
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
