//! The part of the [check](crate::check) that verifies that each row has the format of its
//! keyspace: catalogue, history and metadata.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::Counters;
use crate::check::{Check, RowProblem, RowResult};
use crate::counters::{APPLIED_KEY, container_of_counters};
use crate::document_key::container_of;
use crate::feed_entry::lsn_of;
use crate::history::HistoryEntry;
use crate::index_state::IndexState;
use crate::keyspaces::INDEXING_POLICY;
use crate::snapshot_install::INSTALLING_KEY;

/// First bytes of catalogue keys with JSON values; see `docs/format.md`.
const JSON_KINDS: &[u8] = b"ndcoupsi";
/// First bytes of catalogue keys whose values are empty or a single byte.
const MARK_KINDS: &[u8] = b"xthr";
const CONTAINER: u8 = b'c';

impl Check {
    pub(crate) fn catalogue_entry(&mut self, key: &Bytes, value: &Bytes) -> RowResult {
        let Some((&kind, rest)) = key.split_first() else {
            return Err("its key is empty".into());
        };
        if JSON_KINDS.contains(&kind) {
            // One mode byte precedes the text of an indexing policy.
            let text = if kind == INDEXING_POLICY {
                value.get(1..).unwrap_or_default()
            } else {
                value
            };
            if let Err(error) = orrery_json::parse(text) {
                return Err(RowProblem(format!("its value is not JSON: {error}")));
            }
        } else if MARK_KINDS.contains(&kind) {
            if container_of(rest).is_none() {
                return Err("its key is too short to name a container".into());
            }
        } else {
            return Err("there is no such kind of entry".into());
        }
        if kind == CONTAINER {
            let number = container_of(rest);
            let Some(number) = number else {
                return Err("its key is too short to name a container".into());
            };
            self.named.insert(number);
        }
        Ok(())
    }

    pub(crate) fn history_entry(&mut self, key: &Bytes, value: &Bytes) -> RowResult {
        let (Some(container), Some(_)) = (container_of(key), lsn_of(key)) else {
            return Err("its key is too short".into());
        };
        let event = HistoryEntry::decode(value)?;
        if self.purging.contains(&container) {
            return Ok(());
        }
        for text in [&event.current, &event.previous].into_iter().flatten() {
            if let Err(error) = orrery_json::parse(text) {
                return Err(RowProblem(format!("its text is not JSON: {error}")));
            }
        }
        self.note_change(key);
        Ok(())
    }

    /// Records the newest change of a partition. The counters of the partition must include it.
    pub(crate) fn note_change(&mut self, key: &[u8]) {
        let range = key.get(4..8).and_then(container_of).map(RangeId);
        if let (Some(container), Some(range), Some(lsn)) = (container_of(key), range, lsn_of(key)) {
            let newest = self.newest.entry((container, range)).or_insert(Lsn(0));
            *newest = (*newest).max(lsn);
        }
    }

    pub(crate) fn meta_entry(&mut self, key: &Bytes, value: &Bytes) -> RowResult {
        if key == APPLIED_KEY {
            if value.len() != 8 {
                return Err("the applied position has another length than 8 bytes".into());
            }
        } else if key == INSTALLING_KEY {
            return Err("the store was being filled from another one and is not whole".into());
        } else if let Some(container) = container_of_counters(key) {
            let counters = Counters::decode(value)?;
            // The estimates of child partitions add up to the exact count before the split.
            let counted = self.counted.entry(container).or_default();
            counted.add(counters.items, counters.bytes);
            let range = key.get(5..9).and_then(container_of).map(RangeId);
            let newest = range.and_then(|range| self.newest.remove(&(container, range)));
            if newest.is_some_and(|newest| newest > counters.lsn) {
                return Err("its partition has a newer change than it counts".into());
            }
        } else if key.starts_with(b"i") {
            IndexState::decode(value)?;
        }
        Ok(())
    }

    /// Every partition with changes must have counters, and every container with data must have a
    /// catalogue entry. A store without any container row belongs to no account, and this check
    /// ends.
    pub(crate) fn positions_of_partitions(&mut self) {
        let newest = std::mem::take(&mut self.newest);
        for ((container, range), _) in newest {
            if !self.purging.contains(&container) {
                self.problem(format!(
                    "container {container}: partition {} has changes and no counters",
                    range.0
                ));
            }
        }
        if self.named.is_empty() {
            return;
        }
        let counted: Vec<u32> = self.counted.keys().copied().collect();
        for container in counted {
            if !self.named.contains(&container) && !self.purging.contains(&container) {
                self.problem(format!(
                    "container {container} has data and no entry in the catalogue"
                ));
            }
        }
    }
}
