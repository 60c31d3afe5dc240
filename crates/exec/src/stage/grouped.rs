//! `GROUP BY` and aggregates.
//!
//! Groups come in the order of the hashes of their keys, and a page holds only the groups it
//! gives. Under `ORDER BY` or `DISTINCT` all groups are needed before the first is known; they are
//! bounded by the cells they may have, and their rows go through the operator of that clause.

use std::collections::HashSet;

use orrery_json::Value;

use super::{Distinct, Setup, Sorted, hash_position, make};
use crate::aggregate::HASH_BYTES;
use crate::context::Context;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::groups::{GROUP_CELLS_MAX, Grouping, Groups};
use crate::ledger::Held;
use crate::resume::Position;
use crate::sort_key::Tie;
use crate::window::{Output, fill};
use crate::{ExecError, Resume};

/// Groups that a page holds at most, if it does not give more.
const GROUPS_MAX: usize = 50_000;

#[derive(Debug)]
pub(crate) struct Grouped<'a> {
    pub(super) setup: Setup<'a>,
    groups: Option<(&'a Grouping, Groups)>,
    then: Then<'a>,
    /// The rows counted so far, where each counts once.
    counted: Option<(HashSet<DistinctHash>, Held)>,
}

#[derive(Debug)]
enum Then<'a> {
    Give,
    Sort(Box<Sorted<'a>>),
    Distinct(Box<Distinct<'a>>),
}

impl<'a> Grouped<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<Position>,
        context: &Context<'_>,
    ) -> Result<Grouped<'a>, ExecError> {
        let program = setup.program;
        let block = program.block();
        let (then, after) = if !program.order().is_empty() {
            (Then::Sort(Box::new(Sorted::new(setup, position)?)), None)
        } else if block.distinct {
            (
                Then::Distinct(Box::new(Distinct::new(setup, position.as_ref())?)),
                None,
            )
        } else {
            (Then::Give, hash_position(position.as_ref())?)
        };
        let groups_max = match then {
            Then::Give => setup
                .window
                .rows_wanted(&setup.limits)
                .min(setup.limits.items_max.max(GROUPS_MAX)),
            Then::Sort(_) | Then::Distinct(_) => usize::MAX,
        };
        let groups = match &block.grouping {
            Some(grouping) => {
                let groups = Groups::page(grouping, after, groups_max, context)?;
                Some((grouping, groups))
            }
            None => None,
        };
        let counted = program.counts_distinct_rows();
        Ok(Grouped {
            setup,
            groups,
            then,
            counted: counted.then(|| (HashSet::new(), context.keep())),
        })
    }

    pub(super) fn add(&mut self, frame: &Frame<'_>) -> Result<(), ExecError> {
        if let Some((counted, held)) = &mut self.counted {
            if !counted.insert(DistinctHash::of(frame.value_at(1))) {
                return Ok(());
            }
            held.add(HASH_BYTES)?;
            if counted.len() > GROUP_CELLS_MAX {
                return Err(ExecError::LimitExceeded {
                    what: "distinct rows in an aggregate",
                    limit: GROUP_CELLS_MAX as u64,
                });
            }
        }
        match &mut self.groups {
            Some((grouping, groups)) => groups.add(grouping, frame),
            None => Ok(()),
        }
    }

    pub(super) fn finish(
        self,
        context: &Context<'_>,
        output: &mut Output,
    ) -> Result<Option<Resume>, ExecError> {
        let Some((_, groups)) = self.groups else {
            return Ok(None);
        };
        let nothing = Frame::document(&Value::Undefined, context);
        match self.then {
            Then::Give => give(self.setup, groups, &nothing, output),
            Then::Sort(mut sorted) => {
                for (hash, cells) in groups.finish() {
                    sorted.add(&nothing.with_cells(&cells), Tie::Hash(hash), None)?;
                }
                sorted.finish(output)
            }
            Then::Distinct(mut distinct) => {
                for (_, cells) in groups.finish() {
                    distinct.add(&nothing.with_cells(&cells), None)?;
                }
                Ok(distinct.finish(output))
            }
        }
    }
}

fn give(
    setup: Setup<'_>,
    groups: Groups,
    nothing: &Frame<'_>,
    output: &mut Output,
) -> Result<Option<Resume>, ExecError> {
    let mut window = setup.window;
    let is_truncated = groups.is_truncated();
    let selection = &setup.program.block().selection;
    let mut last_seen = None;
    let mut failed = None;
    let rows = groups.finish().map_while(|(hash, cells)| {
        last_seen = Some(hash);
        let made = make(selection, &nothing.with_cells(&cells), None);
        match made {
            Ok(made) => Some(made.map(|made| (hash, made))),
            Err(error) => {
                failed = Some(error);
                None
            }
        }
    });
    let rows = rows.flatten();
    let used = fill(rows, &mut window, &setup.limits, output);
    if let Some(error) = failed {
        return Err(error);
    }
    let last = if used.is_cut {
        used.keys.last().copied()
    } else {
        last_seen.filter(|_| is_truncated)
    };
    Ok(last.filter(|_| !window.is_over()).map(|hash| Resume {
        window,
        position: Position::Hash(hash),
    }))
}
