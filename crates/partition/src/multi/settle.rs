//! A decision about a conflict: a write that has seen all versions of an item and leaves it as it is
//! shown.
//!
//! It travels like any other write. What is shown stays, with its entity tag and its place in the
//! feed; what is not shown because of a unique key is removed.

use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, Lsn, Stamp as Place};
use orrery_regions::{Epoch, Stamp};

use super::item::Item;
use super::{Stamps, finish_own};
use crate::apply::{ChangeAt, apply_change};
use crate::committer::internal;
use crate::document_key::CONTAINER_BYTES;
use crate::group::{Changed, Group, moment};
use crate::indexing::Known;
use crate::overlay::Overlay;
use crate::record::Moment;
use crate::stored::with_stamp;
use crate::{Container, Counters, Error, Reply};

/// Settles the conflict of one item.
pub struct SettleItem {
    pub container: Arc<Container>,
    /// The document, as a conflict names it.
    pub item: Bytes,
    /// A version that is not shown; if it is none of the item any more, there is nothing to settle.
    pub loser: Stamp,
    pub now_seconds: u64,
    /// Whether this region decides for all.
    pub is_hub: bool,
}

/// The value of an item that stays as it is shown.
pub(crate) fn as_shown(
    overlay: &Overlay<'_>,
    key: &Bytes,
    stamp: Stamp,
    decided: Epoch,
) -> Result<Option<Bytes>, Error> {
    let item = Item::load(overlay, key.clone())?;
    let shown = item.shown().filter(|shown| shown.header.version.is_some());
    Ok(shown.map(|shown| with_stamp(shown.stored(), stamp, decided)))
}

impl Group<'_> {
    pub(crate) fn settle(&mut self, settle: &SettleItem, reply: Reply<Result<Place, Failure>>) {
        let decided = self.settle_record(settle);
        self.replies.push(Box::new(move |failure| {
            reply(match failure {
                None => decided,
                Some(failure) => decided.and(Err(failure)),
            });
        }));
    }

    fn settle_record(&mut self, settle: &SettleItem) -> Result<Place, Failure> {
        let Some(stamps) = &self.stamps else {
            return Err(Failure::NOT_FOUND);
        };
        if !settle.container.is_alive() {
            return Err(Failure::NOT_FOUND);
        }
        let (stamp, epoch) = (Stamps::next(stamps), stamps.epoch);
        let decided = if settle.is_hub { epoch } else { Epoch::NONE };
        let key = &settle.item;
        let place = key.get(CONTAINER_BYTES..).unwrap_or_default();
        let container = &settle.container;
        self.check_write(container.rid.id(), place)?;
        let partition = Arc::clone(container.partition_at(place).holder(place));
        let load = Item::load(&self.overlay, key.clone());
        let item = load.map_err(|error| internal(&error))?;
        if !item.hides(settle.loser) {
            return Err(Failure::NOT_FOUND);
        }
        let value = as_shown(&self.overlay, key, stamp, decided);
        let value = value.map_err(|error| internal(&error))?;
        let number = container.rid.id();
        let before = self.counters(number, &partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let moment = Moment {
            stamp: Some(stamp),
            decided,
            ..moment(number, &partition, lsn, settle.now_seconds)
        };
        let at = ChangeAt {
            moment,
            ordinal: 0,
            is_expiry: false,
        };
        let savepoint = self.overlay.savepoint();
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        let (new, known) = (value.as_ref(), Known::default());
        let applied = apply_change(overlay, states, at, key, new, known, &mut counters)
            .and_then(|()| finish_own(overlay, states, moment, 1, &mut counters));
        if let Err(error) = applied {
            self.overlay.roll_back(savepoint);
            return Err(internal(&error));
        }
        let changed = Changed {
            list: vec![(key.clone(), value)],
            expired: Vec::new(),
        };
        self.record(moment, &partition, counters, changed);
        Ok(Place {
            range: partition.id,
            lsn,
        })
    }
}
