//! Trims the history of containers to its retention period, and remembers how far, because a reader
//! of trimmed history must get an error.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};
use orrery_storage::{Batch, Snapshot};

use crate::changes::lsn_of;
use crate::counters::counters_key;
use crate::document_key::prefix_end;
use crate::history::seconds_of;
use crate::keyspaces::{HISTORY, META};
use crate::{Container, Error, feed_entry};

/// Number of history entries that one step deletes.
const FORGOTTEN_MAX: usize = 2_000;

/// The key of the trim position of a partition's history, in the meta keyspace.
fn trimmed_key(container: u32, range: RangeId) -> Bytes {
    let mut key = counters_key(container, range);
    key[0] = b'h';
    Bytes::copy_from_slice(&key)
}

/// The key range of the trim positions of all partitions of a container.
pub(crate) fn trimmed_range(container: u32) -> (Vec<u8>, Option<Vec<u8>>) {
    let prefix = [&b"h"[..], &container.to_be_bytes()].concat();
    let end = prefix_end(&prefix);
    (prefix, end)
}

pub(crate) fn trimmed_lsn(
    snapshot: &Snapshot,
    container: u32,
    range: RangeId,
) -> Result<Lsn, Error> {
    let row = snapshot.get(META, &trimmed_key(container, range))?;
    let until = row.and_then(|row| row.first_chunk().copied());
    Ok(Lsn(until.map_or(0, u64::from_le_bytes)))
}

/// Deletes some entries that are older than the retention period. Returns whether more may be left.
pub(crate) fn trim_history_step(
    snapshot: &Snapshot,
    container: &Container,
    now_seconds: u64,
) -> Result<(Batch, bool), Error> {
    let minutes = container.definition.change_feed.retention_minutes;
    let kept = minutes.and_then(|minutes| u64::try_from(minutes).ok());
    let oldest = kept.map_or(u64::MAX, |minutes| now_seconds.saturating_sub(minutes * 60));
    let number = container.rid.id();
    let mut batch = Batch::default();
    let mut left = FORGOTTEN_MAX;
    let mut ranges: Vec<RangeId> = Vec::new();
    for partition in &container.partitions {
        ranges.extend(&partition.ancestors);
        ranges.push(partition.id);
    }
    ranges.sort_unstable();
    ranges.dedup();
    for range in ranges {
        let until = trimmed_lsn(snapshot, number, range)?;
        let from = feed_entry::entry_key(number, range, Lsn(until.0 + 1), 0);
        let to = feed_entry::run_end(number, range);
        let mut last = None;
        for entry in snapshot.range(HISTORY, &from, Some(&to)) {
            let (key, value) = entry?;
            let lsn = lsn_of(&key)?;
            let is_young = seconds_of(&value).is_none_or(|seconds| u64::from(seconds) >= oldest);
            // Entries with the same LSN are deleted together, because the trim position is an LSN.
            if is_young || (left == 0 && last != Some(lsn)) {
                break;
            }
            left = left.saturating_sub(1);
            last = Some(lsn);
            batch.delete(HISTORY, key);
        }
        if let Some(last) = last {
            let row = Bytes::copy_from_slice(&last.0.to_le_bytes());
            batch.put(META, trimmed_key(number, range), row);
        }
    }
    Ok((batch, left == 0))
}
