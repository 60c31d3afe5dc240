//! Applies records without their transactions: records beyond the state after a start, and records
//! of a replicated store.
//!
//! One rule goes beyond the records themselves. The purge of a deleted container writes no log
//! records, but its end does: the record that removes the purge mark. Before such a record is
//! applied, all remaining rows of the container are removed, so that the same records always
//! produce the same state, whatever the local purge has done. For the same reason, items of a
//! container that is being purged are skipped: a write may follow the deletion in the log, and the
//! rows that it continues may be gone.

use bytes::Bytes;
use orrery_log::{Log, Position};
use orrery_model::RangeId;
use orrery_storage::Storage;

use crate::apply::{apply_catalogue, apply_items, apply_ranges};
use crate::counters::{APPLIED_KEY, counters_key};
use crate::document_key::container_of;
use crate::index_state::IndexStateCache;
use crate::keyspaces::{META, REMOVAL_MARK};
use crate::multi_write::{StreamHeader, advance_progress, apply_account, apply_merged};
use crate::note::put_note;
use crate::overlay::Overlay;
use crate::purge::{PurgeCursor, purge_step};
use crate::record::Record;
use crate::statistics::StatisticsCache;
use crate::{Counters, Error};

/// Bytes of records that replay applies with one batch.
const REPLAY_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Counters after a record, by container and partition.
pub(crate) type CounterRows = Vec<((u32, RangeId), Counters)>;

/// Applies a record to an overlay, and returns the counters that it changed.
pub(crate) fn apply_record(
    overlay: &mut Overlay<'_>,
    states: &mut IndexStateCache,
    record: &Record,
) -> Result<CounterRows, Error> {
    match record {
        Record::Items {
            header,
            stream_header,
            ..
        } if states.is_purging(overlay, header.container)? => {
            note_applied(overlay, stream_header.as_deref())?;
            Ok(Vec::new())
        }
        Record::Items {
            header,
            changes,
            stream_header,
        } => {
            let expired = stream_header
                .as_ref()
                .map_or(&[][..], |stream_header| &stream_header.expired);
            let partition = (header.container, header.range);
            let key = Bytes::copy_from_slice(&counters_key(partition.0, partition.1));
            let before = overlay.get(META, &key)?;
            let before =
                before.map_or(Ok(Counters::default()), |bytes| Counters::decode(&bytes))?;
            let after = apply_items(overlay, states, *header, changes, expired, before)?;
            overlay.put(META, key, after.encode());
            note_applied(overlay, stream_header.as_deref())?;
            Ok(vec![(partition, after)])
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
            note_applied(overlay, Some(&merged.stream_header))?;
            Ok(effect.map_or(Vec::new(), |effect| effect.counters))
        }
        Record::Account(account) => {
            apply_account(overlay, states, account)?;
            Ok(Vec::new())
        }
    }
}

/// Advances the version vector for a record of a region stream.
fn note_applied(
    overlay: &mut Overlay<'_>,
    stream_header: Option<&StreamHeader>,
) -> Result<(), Error> {
    stream_header.map_or(Ok(()), |stream_header| {
        advance_progress(overlay, stream_header.version_id)
    })
}

/// The containers whose rows must be gone before the record is applied.
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

/// Removes all remaining rows of a deleted container at once.
pub(crate) fn remove_container(
    storage: &Storage,
    container: u32,
    mut write: impl FnMut(orrery_storage::Batch) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut from = Some(PurgeCursor::default());
    while let Some(purged) = from {
        let (batch, next) = purge_step(&storage.snapshot(), container, purged)?;
        write(batch)?;
        from = next;
    }
    Ok(())
}

/// The position of the last applied record.
pub(crate) fn applied_position(storage: &Storage) -> Result<Position, Error> {
    position_of(storage.get(META, APPLIED_KEY)?)
}

/// Decodes the row of the applied position.
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
    overlay.put(META, APPLIED_KEY.into(), applied_row(position));
}

pub(crate) fn applied_row(position: Position) -> Bytes {
    Bytes::copy_from_slice(&position.0.to_le_bytes())
}

/// Applies the records that the log has beyond the state.
pub(crate) fn replay(storage: &Storage, log: &Log) -> Result<(), Error> {
    let mut batch = Replay {
        storage,
        overlay: Overlay::new(storage),
        states: IndexStateCache::default(),
        statistics: StatisticsCache::default(),
        bytes: 0,
        records: 0,
    };
    log.replay(applied_position(storage)?, &mut |position, payload| {
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
    states: IndexStateCache,
    statistics: StatisticsCache,
    bytes: usize,
    records: u64,
}

impl Replay<'_> {
    fn record(&mut self, position: Position, payload: &[u8]) -> Result<(), Error> {
        let record = Record::decode(payload)?;
        for container in removed_by(&record) {
            // Earlier records of this batch may have written rows of the container, so the batch is
            // written first.
            self.write()?;
            let write = |batch| Ok(self.storage.write(batch)?);
            remove_container(self.storage, container, write)?;
            self.states.forget(container);
            self.statistics.forget(container);
        }
        apply_record(&mut self.overlay, &mut self.states, &record)?;
        // The applied position is part of the same batch as the changes, so a crash never applies a
        // record twice.
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
        let batch = overlay.into_batch(&mut self.statistics)?;
        Ok(self.storage.write(batch)?)
    }
}
