//! What a transaction of this region does to versions: it has seen everything here, so it replaces
//! all of them, and a removal leaves its tombstone.

use std::collections::BTreeMap;

use bytes::Bytes;
use orrery_regions::{Change, Stamp};

use super::claims;
use super::item::{Item, Writing};
use super::versions::{Row, removal};
use crate::apply::ChangeAt;
use crate::index_state::IndexStates;
use crate::overlay::Overlay;
use crate::record::Moment;
use crate::spaces::VERSIONS;
use crate::{Counters, Error};

/// Called before the document itself is changed.
pub(crate) fn replace_versions(
    overlay: &mut Overlay<'_>,
    at: ChangeAt,
    stamp: Stamp,
    key: &Bytes,
    value: Option<&Bytes>,
) -> Result<(), Error> {
    let row = overlay.get(VERSIONS, key)?;
    if let Some(row) = &row {
        let item = Item::of(key.clone(), None, Some(row.clone()))?;
        if item.is_contested() {
            let prefix_bytes = item.prefix_bytes().unwrap_or_default();
            claims::change(overlay, key, prefix_bytes, &item.stored_digests()?, &[])?;
        }
    }
    match value {
        Some(_) if row.is_none() => {}
        Some(_) => overlay.delete(VERSIONS, key.clone()),
        None => {
            let change = if at.is_expiry {
                Change::Expiry
            } else {
                Change::Delete
            };
            let Moment {
                decided, seconds, ..
            } = at.moment;
            let row = Row {
                is_contested: false,
                versions: vec![removal(change, stamp, decided, seconds)],
            };
            overlay.put(VERSIONS, key.clone(), row.encode());
        }
    }
    Ok(())
}

/// Called after the changes of a record: shows what was not shown because of a document that has
/// gone or claims something else now.
pub(crate) fn finish_own(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    moment: Moment,
    changes: usize,
    counters: &mut Counters,
) -> Result<(), Error> {
    if moment.stamp.is_none() {
        return Ok(());
    }
    let mut by_partition: BTreeMap<Bytes, Vec<Bytes>> = BTreeMap::new();
    for (prefix, entry) in overlay.take_contested() {
        by_partition.entry(prefix).or_default().push(entry);
    }
    let mut to = Writing {
        overlay,
        states,
        moment,
        counters,
        ordinal: changes,
    };
    for (prefix, entries) in by_partition {
        claims::settle_entries(&mut to, &prefix, entries)?;
    }
    to.overlay.take_contested();
    Ok(())
}
