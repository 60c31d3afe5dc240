//! Rows that share their keys, and what the aggregates make of them.
//!
//! Groups are told apart by the hash of their keys and kept in its order. A page needs only the
//! groups that it will return, so it keeps the first ones after the place where the page before
//! it ended: a group beyond them cannot come back into the page, because the last group that is
//! kept only ever moves down.

use std::collections::BTreeMap;

use orrery_json::Value;

use crate::ExecError;
use crate::aggregate::{Accumulator, Aggregate, cells_of};
use crate::context::Context;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::ledger::Held;
use crate::scalar::Scalar;

/// Keys, results and collected values that one query may hold.
pub(crate) const GROUP_CELLS_MAX: usize = 500_000;

#[derive(Debug, Clone)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Scalar>,
    pub(crate) aggregates: Vec<Aggregate>,
}

#[derive(Debug)]
pub(crate) struct Groups {
    kept: BTreeMap<DistinctHash, Group>,
    cells: usize,
    after: Option<DistinctHash>,
    kept_max: usize,
    truncated: bool,
}

#[derive(Debug)]
struct Group {
    keys: Vec<Value>,
    accumulators: Vec<Accumulator>,
    cells: usize,
    held: Held,
}

/// What a group takes beside its keys and its accumulators.
const GROUP_BYTES: usize = 2 * (size_of::<Group>() + size_of::<DistinctHash>());

impl Groups {
    pub(crate) fn all(grouping: &Grouping, context: &Context<'_>) -> Result<Groups, ExecError> {
        Groups::page(grouping, None, usize::MAX, context)
    }

    /// Without keys there is one group even when there are no rows.
    pub(crate) fn page(
        grouping: &Grouping,
        after: Option<DistinctHash>,
        kept_max: usize,
        context: &Context<'_>,
    ) -> Result<Groups, ExecError> {
        let mut groups = Groups {
            kept: BTreeMap::new(),
            cells: 0,
            after,
            kept_max: kept_max.max(1),
            truncated: false,
        };
        let only = DistinctHash::of_cells::<Value>(&[]);
        if grouping.keys.is_empty() && after.is_none_or(|after| only > after) {
            let group = Group::start(grouping, Vec::new(), context.keep())?;
            groups.kept.insert(only, group);
        }
        Ok(groups)
    }

    /// Whether there are groups that were not kept.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    pub(crate) fn add(&mut self, grouping: &Grouping, frame: &Frame<'_>) -> Result<(), ExecError> {
        if grouping.keys.is_empty() {
            return self.add_to_all(grouping, frame);
        }
        let mut held = frame.context().hold();
        let mut keys = Vec::with_capacity(grouping.keys.len());
        for key in &grouping.keys {
            let key = key.evaluate(frame);
            held.add_made(&key);
            frame.context().check()?;
            keys.push(key);
        }
        let hash = DistinctHash::of_cells(&keys);
        if self.after.is_some_and(|after| hash <= after) {
            return Ok(());
        }
        if !self.kept.contains_key(&hash) {
            if !self.make_room(hash) {
                return Ok(());
            }
            let keys = keys.into_iter().map(std::borrow::Cow::into_owned).collect();
            let group = Group::start(grouping, keys, frame.context().keep())?;
            self.cells += group.cells;
            self.kept.insert(hash, group);
        }
        if let Some(group) = self.kept.get_mut(&hash) {
            self.cells += group.add(grouping, frame)?;
        }
        self.check_cells()
    }

    /// Without keys there is one group, or none on the pages behind it.
    fn add_to_all(&mut self, grouping: &Grouping, frame: &Frame<'_>) -> Result<(), ExecError> {
        for group in self.kept.values_mut() {
            self.cells += group.add(grouping, frame)?;
        }
        self.check_cells()
    }

    fn check_cells(&self) -> Result<(), ExecError> {
        if self.cells > GROUP_CELLS_MAX {
            return Err(ExecError::LimitExceeded {
                what: "cells of groups",
                limit: GROUP_CELLS_MAX as u64,
            });
        }
        Ok(())
    }

    /// Each group with its keys and then the results of its aggregates.
    pub(crate) fn finish(self) -> impl Iterator<Item = (DistinctHash, Vec<Value>)> {
        self.kept.into_iter().map(|(hash, group)| {
            let results = group.accumulators.into_iter().map(Accumulator::finish);
            (hash, group.keys.into_iter().chain(results).collect())
        })
    }

    /// False when the group comes after as many others as the page can have.
    fn make_room(&mut self, hash: DistinctHash) -> bool {
        if self.kept.len() < self.kept_max {
            return true;
        }
        self.truncated = true;
        match self.kept.last_entry() {
            Some(last) if hash < *last.key() => {
                self.cells -= last.remove().cells;
                true
            }
            _ => false,
        }
    }
}

impl Group {
    fn start(grouping: &Grouping, keys: Vec<Value>, mut held: Held) -> Result<Group, ExecError> {
        let keys_bytes: usize = keys.iter().map(Value::allocated_bytes).sum();
        let accumulators = grouping.aggregates.len() * size_of::<Accumulator>();
        held.add(GROUP_BYTES + keys_bytes + accumulators)?;
        let accumulators: Vec<_> = grouping.aggregates.iter().map(Aggregate::start).collect();
        Ok(Group {
            cells: keys.iter().map(cells_of).sum::<usize>() + accumulators.len(),
            keys,
            accumulators,
            held,
        })
    }

    /// Adds a row to the group; gives the number of cells by which the group has grown.
    fn add(&mut self, grouping: &Grouping, frame: &Frame<'_>) -> Result<usize, ExecError> {
        let before = self.cells;
        for (aggregate, accumulator) in grouping.aggregates.iter().zip(&mut self.accumulators) {
            self.cells += aggregate.add(accumulator, frame, &mut self.held)?;
        }
        Ok(self.cells - before)
    }
}
