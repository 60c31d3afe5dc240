//! The changes of all groups in flight. These groups are durable here and wait for acknowledgements
//! of other regions, so the state lacks their changes. The commit thread decides later groups over
//! this overlay.
//!
//! Each row and counter has the value of the newest group that changed it. The committer removes the
//! row when it applies that group. Without groups in flight the overlay is empty, and a lookup costs
//! one comparison.

use std::collections::HashMap;

use bytes::Bytes;
use orrery_model::RangeId;
use orrery_storage::KeyspaceId;

use crate::Counters;
use crate::group::CounterUpdates;
use crate::overlay::OverlayChanges;

#[derive(Debug, Default)]
pub(crate) struct InFlightOverlay {
    /// The newest value of each changed row, with the number of the group that wrote it.
    rows: HashMap<(KeyspaceId, Bytes), (u64, Option<Bytes>)>,
    counters: HashMap<(u32, RangeId), (u64, Counters)>,
}

impl InFlightOverlay {
    /// The newest value of a row: `None` if no group in flight changed the row, `Some(None)` if a group
    /// removed the row.
    #[expect(
        clippy::option_option,
        reason = "nothing has changed, or something was removed"
    )]
    pub(crate) fn get(&self, space: KeyspaceId, key: &Bytes) -> Option<Option<Bytes>> {
        if self.rows.is_empty() {
            return None;
        }
        let row = self.rows.get(&(space, key.clone()));
        row.map(|(_, value)| value.clone())
    }

    pub(crate) fn counters(&self, container: u32, range: RangeId) -> Option<Counters> {
        let counters = self.counters.get(&(container, range));
        counters.map(|(_, counters)| *counters)
    }

    /// Adds the changes of a group that is now in flight. Callers add groups in the order of their
    /// numbers, so each insertion overwrites only older groups.
    pub(crate) fn add(
        &mut self,
        group: u64,
        changes: &OverlayChanges,
        counter_updates: &CounterUpdates,
    ) {
        for (key, value) in changes.rows() {
            self.rows.insert(key.clone(), (group, value.clone()));
        }
        for (key, (_, counters)) in counter_updates {
            self.counters.insert(*key, (group, *counters));
        }
    }

    /// Removes the changes of a group that the committer is about to apply. Rows that a later group
    /// has overwritten stay.
    pub(crate) fn remove(
        &mut self,
        group: u64,
        changes: &OverlayChanges,
        counter_updates: &CounterUpdates,
    ) {
        for (key, _) in changes.rows() {
            if self.rows.get(key).is_some_and(|(by, _)| *by == group) {
                self.rows.remove(key);
            }
        }
        for key in counter_updates.keys() {
            if self.counters.get(key).is_some_and(|(by, _)| *by == group) {
                self.counters.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::Storage;

    use super::*;
    use crate::keyspaces::{NAMES, UNIQUE};
    use crate::overlay::Overlay;

    fn changes_of(key: &'static str, value: Option<&'static str>) -> OverlayChanges {
        let storage = Storage::in_memory(&NAMES);
        let mut overlay = Overlay::new(&storage);
        match value {
            Some(value) => overlay.put(UNIQUE, key.into(), value.into()),
            None => overlay.delete(UNIQUE, key.into()),
        }
        overlay.detach().1
    }

    #[test]
    fn the_newest_group_counts_until_it_is_in_the_state() {
        let mut in_flight = InFlightOverlay::default();
        let counter_updates = CounterUpdates::new();
        let (first, second) = (changes_of("x", Some("1")), changes_of("x", None));
        let get = |in_flight: &InFlightOverlay| in_flight.get(UNIQUE, &"x".into());
        assert_eq!(get(&in_flight), None);
        in_flight.add(1, &first, &counter_updates);
        assert_eq!(get(&in_flight), Some(Some("1".into())));
        in_flight.add(2, &second, &counter_updates);
        assert_eq!(get(&in_flight), Some(None));
        in_flight.remove(1, &first, &counter_updates);
        assert_eq!(get(&in_flight), Some(None));
        in_flight.remove(2, &second, &counter_updates);
        assert_eq!(get(&in_flight), None);
    }
}
