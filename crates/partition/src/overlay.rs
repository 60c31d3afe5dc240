//! Changes that are decided but not yet in the state, readable as if they were.
//!
//! A group of transactions runs over one overlay, so that a later one sees an earlier one; a
//! transaction that fails takes its changes back to its savepoint.

use std::collections::HashMap;

use bytes::Bytes;
use orrery_storage::{Batch, Space, Storage};

use crate::Error;

pub(crate) struct Overlay<'a> {
    storage: &'a Storage,
    pending: HashMap<(Space, Bytes), Option<Bytes>>,
    /// Every change in order, with what it hid, so that it can be taken back.
    history: Vec<Step>,
}

struct Step {
    place: (Space, Bytes),
    #[expect(
        clippy::option_option,
        reason = "nothing was pending, or a removal was"
    )]
    hidden: Option<Option<Bytes>>,
}

/// A moment in the history of an overlay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Savepoint(usize);

impl<'a> Overlay<'a> {
    pub(crate) fn new(storage: &'a Storage) -> Overlay<'a> {
        Overlay {
            storage,
            pending: HashMap::new(),
            history: Vec::new(),
        }
    }

    pub(crate) fn get(&self, space: Space, key: &Bytes) -> Result<Option<Bytes>, Error> {
        if !self.pending.is_empty()
            && let Some(value) = self.pending.get(&(space, key.clone()))
        {
            return Ok(value.clone());
        }
        Ok(self.storage.get(space, key)?)
    }

    pub(crate) fn put(&mut self, space: Space, key: Bytes, value: Bytes) {
        self.change(space, key, Some(value));
    }

    pub(crate) fn delete(&mut self, space: Space, key: Bytes) {
        self.change(space, key, None);
    }

    fn change(&mut self, space: Space, key: Bytes, value: Option<Bytes>) {
        let place = (space, key);
        let hidden = self.pending.insert(place.clone(), value);
        self.history.push(Step { place, hidden });
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint(self.history.len())
    }

    pub(crate) fn roll_back(&mut self, to: Savepoint) {
        while self.history.len() > to.0 {
            let step = self.history.pop().expect("longer than the savepoint");
            match step.hidden {
                Some(value) => self.pending.insert(step.place, value),
                None => self.pending.remove(&step.place),
            };
        }
    }

    /// The final value of every place that changed, in the order of first change.
    pub(crate) fn into_batch(mut self) -> Batch {
        let mut batch = Batch::default();
        for step in self.history {
            let Some((place, value)) = self.pending.remove_entry(&step.place) else {
                continue;
            };
            match value {
                Some(value) => batch.put(place.0, place.1, value),
                None => batch.delete(place.0, place.1),
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Space = Space(0);

    #[test]
    fn changes_are_read_and_taken_back() {
        let storage = Storage::in_memory(&["a"]);
        let mut seed = Batch::default();
        seed.put(A, "x", "0");
        storage.write(seed).unwrap();

        let mut overlay = Overlay::new(&storage);
        let read = |overlay: &Overlay<'_>, key: &'static str| {
            overlay
                .get(A, &Bytes::from(key))
                .unwrap()
                .map(|value| value.to_vec())
        };
        overlay.put(A, "x".into(), "1".into());
        let savepoint = overlay.savepoint();
        overlay.delete(A, "x".into());
        overlay.put(A, "y".into(), "2".into());
        assert_eq!(
            (read(&overlay, "x"), read(&overlay, "y")),
            (None, Some(b"2".to_vec()))
        );
        overlay.roll_back(savepoint);
        assert_eq!(
            (read(&overlay, "x"), read(&overlay, "y")),
            (Some(b"1".to_vec()), None)
        );
        storage.write(overlay.into_batch()).unwrap();
        assert_eq!(storage.get(A, b"x").unwrap().unwrap(), "1");
    }
}
