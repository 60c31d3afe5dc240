//! The part of the [check](crate::check) that asks whether a row is what its map has: catalogue, history and
//! what is noted of the store itself.

use bytes::Bytes;
use orrery_model::{Lsn, RangeId};

use crate::Counters;
use crate::check::{Check, Problem, Verdict};
use crate::counters::{APPLIED_KEY, container_of_counters};
use crate::document_key::container_of;
use crate::feed_entry::lsn_of;
use crate::filling::FILLING_KEY;
use crate::history::Event;
use crate::index_state::IndexState;
use crate::spaces::INDEXING_POLICY;

/// Letters of catalogue keys whose values are JSON; see `docs/format.md`.
const JSON_KINDS: &[u8] = b"ndcoupsi";
/// Those whose values are empty, or a byte.
const MARK_KINDS: &[u8] = b"xthr";
const CONTAINER: u8 = b'c';

impl Check {
    pub(crate) fn catalogue_entry(&mut self, key: &Bytes, value: &Bytes) -> Verdict {
        let Some((&kind, rest)) = key.split_first() else {
            return Err("its key is empty".into());
        };
        if JSON_KINDS.contains(&kind) {
            // The policy of an index stands behind a byte.
            let text = if kind == INDEXING_POLICY {
                value.get(1..).unwrap_or_default()
            } else {
                value
            };
            if let Err(error) = orrery_json::parse(text) {
                return Err(Problem(format!("its value is not JSON: {error}")));
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

    pub(crate) fn history_entry(&mut self, key: &Bytes, value: &Bytes) -> Verdict {
        let (Some(container), Some(_)) = (container_of(key), lsn_of(key)) else {
            return Err("its key is too short".into());
        };
        let event = Event::decode(value)?;
        if self.leaving.contains(&container) {
            return Ok(());
        }
        for text in [&event.current, &event.previous].into_iter().flatten() {
            if let Err(error) = orrery_json::parse(text) {
                return Err(Problem(format!("its text is not JSON: {error}")));
            }
        }
        self.note_change(key);
        Ok(())
    }

    /// Remembers the newest change of a partition, of which its counters must know.
    pub(crate) fn note_change(&mut self, key: &[u8]) {
        let range = key.get(4..8).and_then(container_of).map(RangeId);
        if let (Some(container), Some(range), Some(lsn)) = (container_of(key), range, lsn_of(key)) {
            let newest = self.newest.entry((container, range)).or_insert(Lsn(0));
            *newest = (*newest).max(lsn);
        }
    }

    pub(crate) fn meta_entry(&mut self, key: &Bytes, value: &Bytes) -> Verdict {
        if key == APPLIED_KEY {
            if value.len() != 8 {
                return Err("the applied position has another length than 8 bytes".into());
            }
        } else if key == FILLING_KEY {
            return Err("the store was being filled from another one and is not whole".into());
        } else if let Some(container) = container_of_counters(key) {
            let counters = Counters::decode(value)?;
            // Estimates of the parts of a split add up to what was counted before it.
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

    /// Every partition that has changes must have counters, and every container that has data must have
    /// an entry in the catalogue. A store without any named container is not of an account.
    pub(crate) fn positions_of_partitions(&mut self) {
        let newest = std::mem::take(&mut self.newest);
        for ((container, range), _) in newest {
            if !self.leaving.contains(&container) {
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
            if !self.named.contains(&container) && !self.leaving.contains(&container) {
                self.problem(format!(
                    "container {container} has data and no entry in the catalogue"
                ));
            }
        }
    }
}
