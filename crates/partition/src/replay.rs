//! Records become state without the transactions that made them: what the log holds beyond the state
//! at a start, and what another store has committed.
//!
//! One thing beside the record itself must hold. The removal of a deleted container is not in the
//! log, its end is: the record that takes the mark away. Whoever applies that record removes first
//! what is still there, so that the same records end in the same state whatever was done locally.
//! For the same reason items of a container that is being removed are passed over: a write may stand
//! behind the deletion that it was committed with, and what it would continue may be gone already.

use bytes::Bytes;
use orrery_log::{Log, Position};
use orrery_model::RangeId;
use orrery_storage::Storage;

use crate::apply::{apply_catalogue, apply_items, apply_ranges};
use crate::counters::{APPLIED_KEY, counters_key};
use crate::document_key::container_of;
use crate::index_state::IndexStates;
use crate::multi::{Stamped, advance_progress, apply_account, apply_merged};
use crate::note::put_note;
use crate::overlay::Overlay;
use crate::purge::{Purged, purge_step};
use crate::record::Record;
use crate::spaces::{META, REMOVAL_MARK};
use crate::statistics::Tallies;
use crate::{Counters, Error};

/// Bytes of records that recovery applies with one batch.
const REPLAY_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Counters after a record, by container and range.
pub(crate) type Counted = Vec<((u32, RangeId), Counters)>;

/// Applies a record to an overlay; gives the counters that it changed.
pub(crate) fn apply_record(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStates,
    record: &Record,
) -> Result<Counted, Error> {
    match record {
        Record::Items {
            moment, stamped, ..
        } if states.is_leaving(overlay, moment.container)? => {
            note_applied(overlay, stamped.as_deref())?;
            Ok(Vec::new())
        }
        Record::Items {
            moment,
            changes,
            stamped,
        } => {
            let expired = stamped.as_ref().map_or(&[][..], |stamped| &stamped.expired);
            let place = (moment.container, moment.range);
            let key = Bytes::copy_from_slice(&counters_key(place.0, place.1));
            let before = overlay.get(META, &key)?;
            let before =
                before.map_or(Ok(Counters::default()), |bytes| Counters::decode(&bytes))?;
            let after = apply_items(overlay, states, *moment, changes, expired, before)?;
            overlay.put(META, key, after.encode());
            note_applied(overlay, stamped.as_deref())?;
            Ok(vec![(place, after)])
        }
        Record::Ranges {
            container,
            counters,
            changes,
        } => {
            apply_ranges(overlay, states, *container, counters, changes)?;
            let counters = counters.iter();
            let counted = counters.map(|(range, counters)| ((*container, *range), *counters));
            Ok(counted.collect())
        }
        Record::Catalogue { changes } => {
            apply_catalogue(overlay, states, changes)?;
            Ok(Vec::new())
        }
        Record::Note { text } => {
            put_note(overlay, text.clone());
            Ok(Vec::new())
        }
        Record::Merged(merged) => {
            let effect = apply_merged(overlay, states, merged)?;
            note_applied(overlay, Some(&merged.stamped))?;
            Ok(effect.map_or(Vec::new(), |effect| effect.counters))
        }
        Record::Account(account) => {
            apply_account(overlay, states, account)?;
            Ok(Vec::new())
        }
    }
}

/// Moves the progress on along with a record of a region stream.
fn note_applied(overlay: &mut Overlay<'_>, stamped: Option<&Stamped>) -> Result<(), Error> {
    stamped.map_or(Ok(()), |stamped| advance_progress(overlay, stamped.stamp))
}

/// Containers of which nothing may be left when the record is applied.
pub(crate) fn removed_by(record: &Record) -> Vec<u32> {
    let changes = match record {
        Record::Catalogue { changes } => changes,
        Record::Account(account) => &account.changes,
        Record::Items { .. } | Record::Merged(_) | Record::Ranges { .. } | Record::Note { .. } => {
            return Vec::new();
        }
    };
    let ended = changes.iter().filter_map(|(key, value)| {
        let (&kind, number) = key.split_first()?;
        let is_end = kind == REMOVAL_MARK && value.is_none();
        container_of(number).filter(|_| is_end)
    });
    ended.collect()
}

/// Removes whatever is left of a deleted container, all at once.
pub(crate) fn remove_container(
    storage: &Storage,
    container: u32,
    mut write: impl FnMut(orrery_storage::Batch) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut from = Some(Purged::default());
    while let Some(purged) = from {
        let (batch, next) = purge_step(&storage.snapshot(), container, purged)?;
        write(batch)?;
        from = next;
    }
    Ok(())
}

/// The position of the record applied last.
pub(crate) fn applied(storage: &Storage) -> Result<Position, Error> {
    position_of(storage.get(META, APPLIED_KEY)?)
}

/// The position that the row of the one applied last says.
pub(crate) fn position_of(row: Option<Bytes>) -> Result<Position, Error> {
    let Some(bytes) = row else {
        return Ok(Position::ZERO);
    };
    let position = bytes.first_chunk().copied().map(u64::from_le_bytes);
    position
        .map(Position)
        .ok_or_else(|| Error::Damaged("the applied position is too short".to_owned()))
}

pub(crate) fn put_applied(overlay: &mut Overlay<'_>, position: Position) {
    let row = Bytes::copy_from_slice(&position.0.to_le_bytes());
    overlay.put(META, APPLIED_KEY.into(), row);
}

/// Applies the records that the log holds beyond the state.
pub(crate) fn replay(storage: &Storage, log: &Log) -> Result<(), Error> {
    let mut batch = Replay {
        storage,
        overlay: Overlay::new(storage),
        states: IndexStates::default(),
        tallies: Tallies::default(),
        bytes: 0,
        records: 0,
    };
    log.replay(applied(storage)?, &mut |position, payload| {
        batch
            .record(position, payload)
            .map_err(|error| orrery_log::Error::visit(position, error))
    })?;
    batch.write()?;
    if batch.records > 0 {
        tracing::info!(
            records = batch.records,
            "replayed the log beyond the stored state"
        );
    }
    Ok(())
}

struct Replay<'a> {
    storage: &'a Storage,
    overlay: Overlay<'a>,
    states: IndexStates,
    tallies: Tallies,
    bytes: usize,
    records: u64,
}

impl Replay<'_> {
    fn record(&mut self, position: Position, payload: &[u8]) -> Result<(), Error> {
        let record = Record::decode(payload)?;
        for container in removed_by(&record) {
            self.write()?;
            let write = |batch| Ok(self.storage.write(batch)?);
            remove_container(self.storage, container, write)?;
            self.states.forget(container);
            self.tallies.forget(container);
        }
        apply_record(&mut self.overlay, &mut self.states, &record)?;
        put_applied(&mut self.overlay, position);
        self.records += 1;
        self.bytes += payload.len();
        if self.bytes >= REPLAY_BATCH_BYTES {
            self.write()
        } else {
            Ok(())
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        let overlay = std::mem::replace(&mut self.overlay, Overlay::new(self.storage));
        self.bytes = 0;
        let batch = overlay.into_batch(&mut self.tallies)?;
        Ok(self.storage.write(batch)?)
    }
}
