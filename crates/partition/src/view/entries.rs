//! Walks over index entries in index order.

use bytes::Bytes;
use orrery_index::{EntryRange, EntryScan, IndexDefinition, ScanDirection, skip, successor};
use orrery_model::Failure;

use super::read_ahead::ReadAhead;
use super::{View, values_of};
use crate::Error;
use crate::committer::internal;
use crate::document_key::prefix_end;
use crate::keyspaces::INDEX;
use crate::statistics::{ENTRY_PREFIX_BYTES, entry_prefix};

/// Number of entries to step over before the walk seeks past the rest of a value.
const STEPS_BEFORE_JUMP: u32 = 32;

/// An index entry in a walk.
#[derive(Debug, Clone, Copy)]
pub struct ScannedEntry<'a> {
    /// The encoded values.
    pub value: &'a [u8],
    pub key_position: &'a [u8],
    /// The position of the entry in the index; a later walk can start here.
    pub position: &'a [u8],
}

/// The answer of a visitor to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryFlow {
    Next,
    /// Skip all other entries with this value.
    NextValue,
    Stop,
}

/// The start of a walk.
#[derive(Debug, Clone, Copy)]
pub enum EntryPosition<'a> {
    Start,
    /// At this position. The index entry at the position may be removed already.
    At(&'a [u8]),
    /// At the first entry with this value, or the next value.
    Value(&'a [u8]),
}

impl View {
    /// Visits the entries of a scan whose documents are in the scope, until `visit` stops the walk.
    /// Returns the number of entries read.
    pub fn entries(
        &self,
        definition: &IndexDefinition,
        scan: &EntryScan,
        begin: EntryPosition<'_>,
        visit: &mut dyn FnMut(ScannedEntry<'_>) -> Result<EntryFlow, Failure>,
    ) -> Result<u64, Failure> {
        let mut walk = EntryWalk {
            view: self,
            position_bounds: self.position_bounds(),
            definition,
            read: 0,
            visit,
        };
        let forward = scan.direction == ScanDirection::Forward;
        let mut runs: Vec<&EntryRange> = scan.ranges.iter().collect();
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

    /// The key range of an entry range, in the index keyspace. For a point the range includes the
    /// bounds of the scope.
    pub(super) fn bounds(&self, run: &EntryRange) -> (Vec<u8>, Option<Vec<u8>>) {
        let prefix = entry_prefix(self.number(), run.index);
        if run.is_point {
            let (from, to) = self.position_bounds();
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

struct EntryWalk<'a, 'b> {
    view: &'a View,
    /// The bounds of the scope.
    position_bounds: (&'a [u8], Option<&'a [u8]>),
    definition: &'a IndexDefinition,
    read: u64,
    visit: &'b mut dyn FnMut(ScannedEntry<'_>) -> Result<EntryFlow, Failure>,
}

enum WalkStep {
    Go,
    /// Skip the rest of this value. The value ends after this many bytes of the key.
    Jump(usize),
    /// Skip the entries of this value before the scope.
    JumpToScope(usize),
    Over,
}

impl EntryWalk<'_, '_> {
    fn forward(&mut self, run: &EntryRange, begin: EntryPosition<'_>) -> Result<bool, Failure> {
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
                match self.visit_entry(&key, values)? {
                    WalkStep::Go => same = 0,
                    WalkStep::Over => return Ok(true),
                    WalkStep::Jump(end) if same >= STEPS_BEFORE_JUMP => {
                        let Some(next) = prefix_end(&key[..end]) else {
                            return Ok(false);
                        };
                        from = next;
                        continue 'seek;
                    }
                    WalkStep::JumpToScope(end) if same >= STEPS_BEFORE_JUMP => {
                        from = [&key[..end], self.view.position_bounds().0].concat();
                        continue 'seek;
                    }
                    WalkStep::Jump(_) | WalkStep::JumpToScope(_) => same += 1,
                }
            }
            return Ok(false);
        }
    }

    fn backward(&mut self, run: &EntryRange, begin: EntryPosition<'_>) -> Result<bool, Failure> {
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
            // Backward walks with long runs of one value are rare, so they do not seek.
            if let WalkStep::Over = self.visit_entry(&key, values)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn visit_entry(&mut self, key: &Bytes, values: usize) -> Result<WalkStep, Failure> {
        self.read += 1;
        let damaged = || internal(&Error::Damaged("an index entry does not decode".to_owned()));
        let position = key.get(ENTRY_PREFIX_BYTES..).ok_or_else(damaged)?;
        let mut key_position = position;
        for _ in 0..values {
            key_position = skip(key_position).ok_or_else(damaged)?;
        }
        let value_end = key.len() - key_position.len();
        let (from, to) = self.position_bounds;
        if key_position < from {
            return Ok(WalkStep::JumpToScope(value_end));
        }
        if to.is_some_and(|to| key_position >= to) {
            return Ok(WalkStep::Jump(value_end));
        }
        if !self.view.scope.matches_first_levels(key_position) {
            return Ok(WalkStep::Go);
        }
        let entry = ScannedEntry {
            value: &position[..position.len() - key_position.len()],
            key_position,
            position,
        };
        Ok(match (self.visit)(entry)? {
            EntryFlow::Next => WalkStep::Go,
            EntryFlow::NextValue => WalkStep::Jump(value_end),
            EntryFlow::Stop => WalkStep::Over,
        })
    }
}
