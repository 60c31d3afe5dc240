//! A walk over index entries in their own order.

use bytes::Bytes;
use orrery_index::{Direction, EntryScan, IndexDefinition, Run, skip, successor};
use orrery_model::Failure;

use super::read_ahead::ReadAhead;
use super::{View, values_of};
use crate::Error;
use crate::committer::internal;
use crate::document_key::prefix_end;
use crate::spaces::INDEX;
use crate::statistics::{ENTRY_PREFIX_BYTES, entry_prefix};

/// Entries that are passed one by one before the walk jumps over the rest of a value.
const STEPS_BEFORE_JUMP: u32 = 32;

/// An entry of an index as a walk meets it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The values, encoded.
    pub value: &'a [u8],
    pub place: &'a [u8],
    /// Where it is in the walk; a later walk can begin here.
    pub position: &'a [u8],
}

/// What a reader says of the entry it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryFlow {
    Next,
    /// Nothing more of the entries with this value.
    NextValue,
    Stop,
}

/// Where a walk begins.
#[derive(Debug, Clone, Copy)]
pub enum EntryPosition<'a> {
    Start,
    /// With the entry at this position, or the next one.
    At(&'a [u8]),
    /// With this value, or the next one.
    Value(&'a [u8]),
}

impl View {
    /// Shows the entries of a scan that lead into the scope, until `visit` says to stop. Gives
    /// how many entries were read.
    pub fn entries(
        &self,
        definition: &IndexDefinition,
        scan: &EntryScan,
        begin: EntryPosition<'_>,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<EntryFlow, Failure>,
    ) -> Result<u64, Failure> {
        let mut walk = Walk {
            view: self,
            places: self.places(),
            definition,
            read: 0,
            visit,
        };
        let forward = scan.direction == Direction::Forward;
        let mut runs: Vec<&Run> = scan.runs.iter().collect();
        if !forward {
            runs.reverse();
        }
        for run in runs {
            let is_over = if forward {
                walk.forward(run, begin)?
            } else {
                walk.backward(run, begin)?
            };
            if is_over {
                break;
            }
        }
        Ok(walk.read)
    }

    /// The first and last key of a run, in the index space.
    pub(super) fn bounds(&self, run: &Run) -> (Vec<u8>, Option<Vec<u8>>) {
        let prefix = entry_prefix(self.number(), run.index);
        if run.is_point {
            let (from, to) = self.places();
            let value = [&prefix[..], &run.from].concat();
            let end = match to {
                Some(to) => Some([&value[..], to].concat()),
                None => prefix_end(&value),
            };
            return ([&value[..], from].concat(), end);
        }
        let from = [&prefix[..], &run.from].concat();
        let to = match &run.to {
            Some(to) => Some([&prefix[..], to].concat()),
            None => prefix_end(&prefix),
        };
        (from, to)
    }
}

struct Walk<'a, 'b> {
    view: &'a View,
    /// Those of the scope.
    places: (&'a [u8], Option<&'a [u8]>),
    definition: &'a IndexDefinition,
    read: u64,
    visit: &'b mut dyn FnMut(Entry<'_>) -> Result<EntryFlow, Failure>,
}

enum Step {
    Go,
    /// The rest of the value does not matter; it ends with this many bytes of the key.
    Jump(usize),
    /// The part of the value before the scope does not matter.
    JumpToScope(usize),
    Over,
}

impl Walk<'_, '_> {
    fn forward(&mut self, run: &Run, begin: EntryPosition<'_>) -> Result<bool, Failure> {
        let prefix = entry_prefix(self.view.number(), run.index);
        let (mut from, to) = self.view.bounds(run);
        if let EntryPosition::At(position) | EntryPosition::Value(position) = begin {
            from = from.max([&prefix[..], position].concat());
        }
        let values = values_of(self.definition, run.index);
        'seek: loop {
            let mut same = 0;
            let range = self.view.snapshot.range(INDEX, &from, to.as_deref());
            for entry in ReadAhead::new(range) {
                let (key, _) = entry.map_err(|error| internal(&Error::from(error)))?;
                match self.show(&key, values)? {
                    Step::Go => same = 0,
                    Step::Over => return Ok(true),
                    Step::Jump(end) if same >= STEPS_BEFORE_JUMP => {
                        let Some(next) = prefix_end(&key[..end]) else {
                            return Ok(false);
                        };
                        from = next;
                        continue 'seek;
                    }
                    Step::JumpToScope(end) if same >= STEPS_BEFORE_JUMP => {
                        from = [&key[..end], self.view.places().0].concat();
                        continue 'seek;
                    }
                    Step::Jump(_) | Step::JumpToScope(_) => same += 1,
                }
            }
            return Ok(false);
        }
    }

    fn backward(&mut self, run: &Run, begin: EntryPosition<'_>) -> Result<bool, Failure> {
        let prefix = entry_prefix(self.view.number(), run.index);
        let (from, mut to) = self.view.bounds(run);
        let end = match begin {
            EntryPosition::Start => None,
            EntryPosition::At(position) => Some([&prefix[..], position, &[0]].concat()),
            EntryPosition::Value(value) => Some([&prefix[..], &successor(value)].concat()),
        };
        to = match (to, end) {
            (Some(to), Some(end)) => Some(to.min(end)),
            (to, end) => to.or(end),
        };
        let values = values_of(self.definition, run.index);
        let mut range = self.view.snapshot.range(INDEX, &from, to.as_deref());
        while let Some(entry) = range.next_back() {
            let (key, _) = entry.map_err(|error| internal(&Error::from(error)))?;
            // Jumping back over a value is not worth its rarity.
            if let Step::Over = self.show(&key, values)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn show(&mut self, key: &Bytes, values: usize) -> Result<Step, Failure> {
        self.read += 1;
        let damaged = || internal(&Error::Damaged("an index entry does not decode".to_owned()));
        let position = key.get(ENTRY_PREFIX_BYTES..).ok_or_else(damaged)?;
        let mut place = position;
        for _ in 0..values {
            place = skip(place).ok_or_else(damaged)?;
        }
        let value_end = key.len() - place.len();
        let (from, to) = self.places;
        if place < from {
            return Ok(Step::JumpToScope(value_end));
        }
        if to.is_some_and(|to| place >= to) {
            return Ok(Step::Jump(value_end));
        }
        if !self.view.scope.has(place) {
            return Ok(Step::Go);
        }
        let entry = Entry {
            value: &position[..position.len() - place.len()],
            place,
            position,
        };
        Ok(match (self.visit)(entry)? {
            EntryFlow::Next => Step::Go,
            EntryFlow::NextValue => Step::Jump(value_end),
            EntryFlow::Stop => Step::Over,
        })
    }
}
