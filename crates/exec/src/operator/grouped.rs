//! `GROUP BY` and aggregates.
//!
//! Groups leave in the hash order of their keys, and a page holds only the groups that it returns.
//! With `ORDER BY` or `DISTINCT` all groups must exist before the first row is known. The limit of
//! cells bounds them, and their rows pass through the operator of that clause.

use std::collections::HashSet;

use orrery_json::Value;

use super::{DistinctOperator, Setup, SortOperator, hash_position, make_row};
use crate::aggregate::HASH_BYTES;
use crate::context::Context;
use crate::continuation::ContinuationPosition;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::groups::{GROUP_CELLS_MAX, Grouping, Groups};
use crate::ledger::MemoryLease;
use crate::skip_take::{PageBuffer, fill};
use crate::sort_key::Tie;
use crate::{Continuation, ExecError};

/// Minimum of groups that a page may hold, if the page does not return more.
const GROUPS_MAX: usize = 50_000;

/// Collects groups and passes their rows on when all documents have been read.
#[derive(Debug)]
pub(crate) struct GroupOperator<'a> {
    pub(super) setup: Setup<'a>,
    groups: Option<(&'a Grouping, Groups)>,
    /// The operator behind the groups.
    downstream: Downstream<'a>,
    /// Hashes of the rows counted so far, for a query that counts distinct rows.
    counted: Option<(HashSet<DistinctHash>, MemoryLease)>,
}

/// The step that receives the rows of the groups.
#[derive(Debug)]
enum Downstream<'a> {
    Emit,
    Sort(Box<SortOperator<'a>>),
    Distinct(Box<DistinctOperator<'a>>),
}

impl<'a> GroupOperator<'a> {
    pub(super) fn new(
        setup: Setup<'a>,
        position: Option<ContinuationPosition>,
        context: &Context<'_>,
    ) -> Result<GroupOperator<'a>, ExecError> {
        let program = setup.program;
        let block = program.block();
        let (downstream, after) = if !program.order().is_empty() {
            (
                Downstream::Sort(Box::new(SortOperator::new(setup, position)?)),
                None,
            )
        } else if block.distinct {
            (
                Downstream::Distinct(Box::new(DistinctOperator::new(setup, position.as_ref())?)),
                None,
            )
        } else {
            (Downstream::Emit, hash_position(position.as_ref())?)
        };
        let groups_max = match downstream {
            Downstream::Emit => setup
                .skip_take
                .rows_wanted(&setup.limits)
                .min(setup.limits.items_max.max(GROUPS_MAX)),
            // A sort or a distinct needs all groups, so none may be dropped.
            Downstream::Sort(_) | Downstream::Distinct(_) => usize::MAX,
        };
        let groups = match &block.grouping {
            Some(grouping) => {
                let groups = Groups::for_page(grouping, after, groups_max, context)?;
                Some((grouping, groups))
            }
            None => None,
        };
        let counted = program.counts_distinct_rows();
        Ok(GroupOperator {
            setup,
            groups,
            downstream,
            counted: counted.then(|| (HashSet::new(), context.lease())),
        })
    }

    /// Adds a row to its group.
    pub(super) fn add(&mut self, frame: &Frame<'_>) -> Result<(), ExecError> {
        // Level 1 is the row of the subquery whose distinct rows the query counts.
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

    /// Completes the groups and returns their rows through the next step.
    pub(super) fn finish(
        self,
        context: &Context<'_>,
        output: &mut PageBuffer,
    ) -> Result<Option<Continuation>, ExecError> {
        let Some((_, groups)) = self.groups else {
            return Ok(None);
        };
        let nothing = Frame::document(&Value::Undefined, context);
        match self.downstream {
            Downstream::Emit => emit(self.setup, groups, &nothing, output),
            Downstream::Sort(mut sorted) => {
                for (hash, cells) in groups.finish() {
                    sorted.add(&nothing.with_cells(&cells), Tie::Hash(hash), None)?;
                }
                sorted.finish(output)
            }
            Downstream::Distinct(mut distinct) => {
                for (_, cells) in groups.finish() {
                    distinct.add(&nothing.with_cells(&cells), None)?;
                }
                Ok(distinct.finish(output))
            }
        }
    }
}

/// Returns the groups as rows of the page, without a further operator.
fn emit(
    setup: Setup<'_>,
    groups: Groups,
    nothing: &Frame<'_>,
    output: &mut PageBuffer,
) -> Result<Option<Continuation>, ExecError> {
    let mut window = setup.skip_take;
    let is_truncated = groups.is_truncated();
    let selection = &setup.program.block().projection;
    let mut last_seen = None;
    let mut failed = None;
    let rows = groups.finish().map_while(|(hash, cells)| {
        last_seen = Some(hash);
        let made = make_row(selection, &nothing.with_cells(&cells), None);
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
    // A full page continues behind its last row; otherwise dropped groups continue behind the last
    // group that this page has examined.
    let last = if used.has_more {
        used.keys.last().copied()
    } else {
        last_seen.filter(|_| is_truncated)
    };
    Ok(last.filter(|_| !window.is_over()).map(|hash| Continuation {
        skip_take: window,
        position: ContinuationPosition::Hash(hash),
    }))
}
