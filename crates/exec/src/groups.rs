//! Groups of rows with equal keys, and their aggregates.
//!
//! The hash of its keys identifies a group and determines its order. A page needs only the groups
//! that it returns, so it keeps the first groups behind the end of the previous page. A dropped
//! group cannot return to the page, because the last kept group only moves towards the front.

use std::collections::BTreeMap;

use orrery_json::Value;

use crate::ExecError;
use crate::aggregate::{Accumulator, Aggregate, cells_of};
use crate::context::Context;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::ledger::MemoryLease;
use crate::scalar::Scalar;

/// Limit of keys, results and collected values in one query.
pub(crate) const GROUP_CELLS_MAX: usize = 500_000;

/// The compiled `GROUP BY` of a block.
#[derive(Debug, Clone)]
pub(crate) struct Grouping {
    pub(crate) keys: Vec<Scalar>,
    pub(crate) aggregates: Vec<Aggregate>,
}

/// The groups of one page, or all groups.
#[derive(Debug)]
pub(crate) struct Groups {
    // Ordered by hash, so that the last entry is the first to drop.
    kept: BTreeMap<DistinctHash, Group>,
    cells: usize,
    after: Option<DistinctHash>,
    kept_max: usize,
    truncated: bool,
}

/// One group with the state of its aggregates.
#[derive(Debug)]
struct Group {
    keys: Vec<Value>,
    accumulators: Vec<Accumulator>,
    cells: usize,
    held: MemoryLease,
}

/// Memory of a group in addition to its keys and accumulators.
const GROUP_BYTES: usize = 2 * (size_of::<Group>() + size_of::<DistinctHash>());

impl Groups {
    /// Starts groups without a limit, for a block that needs all of them.
    pub(crate) fn all(grouping: &Grouping, context: &Context<'_>) -> Result<Groups, ExecError> {
        Groups::for_page(grouping, None, usize::MAX, context)
    }

    /// Starts the groups of one page. A query without keys has one group, even without rows.
    pub(crate) fn for_page(
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
        // A later page of a query without keys has no group left.
        if grouping.keys.is_empty() && after.is_none_or(|after| only > after) {
            let group = Group::start(grouping, Vec::new(), context.lease())?;
            groups.kept.insert(only, group);
        }
        Ok(groups)
    }

    /// Whether groups were dropped, so that a further page exists.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Adds a row to the group of its keys, and drops the last group if the page is full.
    pub(crate) fn add(&mut self, grouping: &Grouping, frame: &Frame<'_>) -> Result<(), ExecError> {
        if grouping.keys.is_empty() {
            return self.add_to_all(grouping, frame);
        }
        let mut held = frame.context().scoped_lease();
        let mut keys = Vec::with_capacity(grouping.keys.len());
        for key in &grouping.keys {
            let key = key.evaluate(frame);
            held.add_made(&key);
            // The keys may be incomplete after a failure, so the failure is checked before they are
            // hashed.
            frame.context().check()?;
            keys.push(key);
        }
        let hash = DistinctHash::of_cells(&keys);
        // The previous pages have returned this group.
        if self.after.is_some_and(|after| hash <= after) {
            return Ok(());
        }
        if !self.kept.contains_key(&hash) {
            if !self.admit(hash) {
                return Ok(());
            }
            let keys = keys.into_iter().map(std::borrow::Cow::into_owned).collect();
            let group = Group::start(grouping, keys, frame.context().lease())?;
            self.cells += group.cells;
            self.kept.insert(hash, group);
        }
        if let Some(group) = self.kept.get_mut(&hash) {
            self.cells += group.add(grouping, frame)?;
        }
        self.check_cells()
    }

    /// Adds a row in a query without keys: it has one group, or none on a later page.
    fn add_to_all(&mut self, grouping: &Grouping, frame: &Frame<'_>) -> Result<(), ExecError> {
        for group in self.kept.values_mut() {
            self.cells += group.add(grouping, frame)?;
        }
        self.check_cells()
    }

    /// Fails above the limit of cells: the groups of one query must fit into memory.
    fn check_cells(&self) -> Result<(), ExecError> {
        if self.cells > GROUP_CELLS_MAX {
            return Err(ExecError::LimitExceeded {
                what: "cells of groups",
                limit: GROUP_CELLS_MAX as u64,
            });
        }
        Ok(())
    }

    /// The groups in hash order, each with its keys and then its aggregate results.
    pub(crate) fn finish(self) -> impl Iterator<Item = (DistinctHash, Vec<Value>)> {
        self.kept.into_iter().map(|(hash, group)| {
            let results = group.accumulators.into_iter().map(Accumulator::finish);
            (hash, group.keys.into_iter().chain(results).collect())
        })
    }

    /// Makes room for a new group; returns false if the new group lies behind the page.
    fn admit(&mut self, hash: DistinctHash) -> bool {
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
    /// Starts a group; its memory is counted before it exists.
    fn start(
        grouping: &Grouping,
        keys: Vec<Value>,
        mut held: MemoryLease,
    ) -> Result<Group, ExecError> {
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

    /// Adds a row to the group; returns the number of cells by which it has grown.
    fn add(&mut self, grouping: &Grouping, frame: &Frame<'_>) -> Result<usize, ExecError> {
        let before = self.cells;
        for (aggregate, accumulator) in grouping.aggregates.iter().zip(&mut self.accumulators) {
            self.cells += aggregate.add(accumulator, frame, &mut self.held)?;
        }
        Ok(self.cells - before)
    }
}
