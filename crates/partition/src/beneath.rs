//! What groups have changed that are durable and that the state does not have, because other regions
//! must keep them first: the next groups are decided over it.
//!
//! Each row and counter is that of the newest group that changed it, and goes when that group is in
//! the state. While no group waits there is nothing here, and a look costs one comparison.

use std::collections::HashMap;

use bytes::Bytes;
use orrery_model::RangeId;
use orrery_storage::Space;

use crate::Counters;
use crate::group::Touched;
use crate::overlay::Decided;

#[derive(Debug, Default)]
pub(crate) struct Beneath {
    /// With the number of the group.
    rows: HashMap<(Space, Bytes), (u64, Option<Bytes>)>,
    counters: HashMap<(u32, RangeId), (u64, Counters)>,
}

impl Beneath {
    /// The value of a row, or that it is removed, if a group has changed it.
    #[expect(
        clippy::option_option,
        reason = "nothing has changed, or something was removed"
    )]
    pub(crate) fn get(&self, space: Space, key: &Bytes) -> Option<Option<Bytes>> {
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

    /// A group goes under way. Groups come in the order of their numbers.
    pub(crate) fn add(&mut self, group: u64, decided: &Decided, touched: &Touched) {
        for (place, value) in decided.rows() {
            self.rows.insert(place.clone(), (group, value.clone()));
        }
        for (place, (_, counters)) in touched {
            self.counters.insert(*place, (group, *counters));
        }
    }

    /// A group is about to be in the state.
    pub(crate) fn remove(&mut self, group: u64, decided: &Decided, touched: &Touched) {
        for (place, _) in decided.rows() {
            if self.rows.get(place).is_some_and(|(by, _)| *by == group) {
                self.rows.remove(place);
            }
        }
        for place in touched.keys() {
            if self.counters.get(place).is_some_and(|(by, _)| *by == group) {
                self.counters.remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use orrery_storage::Storage;

    use super::*;
    use crate::overlay::Overlay;
    use crate::spaces::{NAMES, UNIQUE};

    fn decided(key: &'static str, value: Option<&'static str>) -> Decided {
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
        let mut beneath = Beneath::default();
        let touched = Touched::new();
        let (first, second) = (decided("x", Some("1")), decided("x", None));
        let get = |beneath: &Beneath| beneath.get(UNIQUE, &"x".into());
        assert_eq!(get(&beneath), None);
        beneath.add(1, &first, &touched);
        assert_eq!(get(&beneath), Some(Some("1".into())));
        beneath.add(2, &second, &touched);
        assert_eq!(get(&beneath), Some(None));
        beneath.remove(1, &first, &touched);
        assert_eq!(get(&beneath), Some(None));
        beneath.remove(2, &second, &touched);
        assert_eq!(get(&beneath), None);
    }
}
