//! A record of another region becomes changes of this state.
//!
//! Like any record it is applied the same way when it arrives and when the log is replayed. It gets
//! one LSN of the partition that holds its documents, whatever it shows. A container that is gone
//! here takes nothing more; the record still counts as applied.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};
use orrery_regions::{Change as Kind, RegionId};

use super::Stamped;
use super::claims::write_item;
use super::item::{Item, Writing};
use super::rids::{note_created, region_of, sequence_of};
use super::versions::{put, removal};
use crate::apply::SCRIPT_SEQUENCE_MIN;
use crate::counters::counters_key;
use crate::index_state::IndexStates;
use crate::overlay::Overlay;
use crate::record::{Change, Moment};
use crate::spaces::{CATALOGUE, INDEXING_POLICY, META};
use crate::stored::StoredItem;
use crate::{Counters, Error};

/// A record of another region as it stands in the log of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// What it got here; none where its container is gone.
    pub(crate) lsn: Lsn,
    /// Set if the record is of the region itself, which lost its state and has another's now.
    pub(crate) is_own: bool,
    pub(crate) stamped: Stamped,
    /// Where and when its origin made it.
    pub(crate) moment: Moment,
    pub(crate) changes: Vec<Change>,
}

impl Merged {
    pub(crate) fn place(&self) -> (u32, RangeId) {
        (self.moment.container, self.moment.range)
    }
}

/// Whether a container takes documents.
pub(super) fn is_alive(
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

/// Applies a record; gives the counters that it changed, if it did.
pub(crate) fn apply_merged(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    merged: &Merged,
) -> Result<Option<Counters>, Error> {
    let container = merged.moment.container;
    if !is_alive(overlay, states, container)? {
        return Ok(None);
    }
    let mut counters = counters_of(overlay, merged.place())?;
    if merged.lsn.0 != counters.lsn.0 + 1 {
        return Err(Error::Damaged(format!(
            "merged record {} follows {} in the log of a partition",
            merged.lsn, counters.lsn
        )));
    }
    counters.lsn = merged.lsn;
    let moment = Moment {
        lsn: merged.lsn,
        ..merged.moment
    };
    let mut to = Writing {
        overlay,
        states,
        moment,
        counters: &mut counters,
        ordinal: 0,
    };
    // Of the changes of an item in one record only the last is a version.
    let last: BTreeMap<&Bytes, usize> = merged
        .changes
        .iter()
        .enumerate()
        .map(|(ordinal, (key, _))| (key, ordinal))
        .collect();
    for (ordinal, (key, value)) in merged.changes.iter().enumerate() {
        let Stamped { stamp, deps, .. } = &merged.stamped;
        let version = match value {
            Some(value) => {
                let item = StoredItem::decode(value.clone())?;
                if item.header.version.map(|version| version.stamp) != Some(*stamp) {
                    return Err(Error::Damaged("a version has another stamp".to_owned()));
                }
                note_created(to.overlay, container, &item)?;
                if merged.is_own {
                    count_own(to.counters, &item, stamp.origin);
                }
                put(value.clone())?
            }
            None => {
                let is_expiry = merged.moment.is_expiry
                    || u16::try_from(ordinal)
                        .is_ok_and(|ordinal| merged.stamped.expired.contains(&ordinal));
                let kind = if is_expiry {
                    Kind::Expiry
                } else {
                    Kind::Delete
                };
                removal(kind, *stamp, merged.stamped.decided, moment.seconds)
            }
        };
        if last.get(key) == Some(&ordinal) {
            let mut item = Item::load(to.overlay, key.clone())?;
            item.siblings.merge(version, deps);
            write_item(&mut to, item)?;
        }
    }
    overlay.take_contested();
    let (container, range) = merged.place();
    let key = Bytes::copy_from_slice(&counters_key(container, range));
    overlay.put(META, key, counters.encode());
    Ok(Some(counters))
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
