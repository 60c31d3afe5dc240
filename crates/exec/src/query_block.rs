//! One `SELECT`: sources, filter, groups and row, without an order and without row limits.
//!
//! The query and each of its subqueries are blocks. A block runs within the frame that surrounds
//! it, so a subquery sees the current document and never the container.

use std::collections::HashSet;
use std::ops::ControlFlow::{self, Break, Continue};

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::{Expr, OrderBy, Projection};

use crate::CompileError;
use crate::aggregate::HASH_BYTES;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::grouping::{GroupScope, has_aggregate};
use crate::groups::{Grouping, Groups};
use crate::projection::RowProjection;
use crate::row_source::{self, RowSource, RowSources};
use crate::scalar::Scalar;
use crate::scope::Scope;

/// A compiled block.
#[derive(Debug, Clone)]
pub(crate) struct QueryBlock {
    pub(crate) sources: Vec<RowSource>,
    pub(crate) filter: Option<Scalar>,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) projection: RowProjection,
    pub(crate) distinct: bool,
}

impl QueryBlock {
    /// Compiles a subquery of an expression or of `FROM`.
    pub(crate) fn subquery(query: &Query, outer: &Scope<'_>) -> Result<QueryBlock, CompileError> {
        refuse_clauses(query)?;
        let (block, _) = QueryBlock::compile(query, outer, &[])?;
        Ok(block)
    }

    /// Compiles a block, and the `order` expressions within it: over the groups if the block has
    /// group keys, otherwise over its rows.
    pub(crate) fn compile(
        query: &Query,
        outer: &Scope<'_>,
        order: &[&Expr],
    ) -> Result<(QueryBlock, Vec<Scalar>), CompileError> {
        let projection = &query.select.projection;
        if let (Projection::Star(span), [_, ..]) = (projection, &*query.group_by) {
            return Err(CompileError::StarWithGroupBy { span: *span });
        }
        // The aliases of this block must not leak into the surrounding one.
        let mut rows = outer.inside();
        let sources = RowSources::compile(&query.from, &mut rows)?;
        let filter = query.filter.as_ref();
        let filter = filter.map(|filter| rows.compile(filter)).transpose()?;
        let filter = all_of(sources.filters, filter);
        let is_grouped = !query.group_by.is_empty() || selects_aggregate(projection);
        let (selection, order, grouping) = if is_grouped && !rows.is_filter_language() {
            let keys = rows.all(&query.group_by)?;
            let group = GroupScope::new(outer, &rows, &query.group_by);
            let over_groups = outer.grouped(&group);
            let selection = RowProjection::compile(projection, &over_groups, None)?;
            // Without keys all rows form one group, so an order over rows is checked and then
            // ignored.
            let order_scope = if keys.is_empty() { &rows } else { &over_groups };
            let order = compile_all(order, order_scope)?;
            let aggregates = group.into_aggregates();
            (selection, order, Some(Grouping { keys, aggregates }))
        } else {
            let selection = RowProjection::compile(projection, &rows, sources.star)?;
            (selection, compile_all(order, &rows)?, None)
        };
        let block = QueryBlock {
            sources: sources.list,
            filter,
            grouping,
            projection: selection,
            distinct: query.select.distinct,
        };
        Ok((block, order))
    }

    /// Visits every combination of sources that passes the filter.
    pub(crate) fn each_frame(
        &self,
        outer: &Frame<'_>,
        visit: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        row_source::each(&self.sources, outer, &mut |frame| {
            if !self.passes(frame) {
                return Continue(());
            }
            visit(frame)
        })
    }

    /// Whether a combination passes the filter: only `true` passes, not undefined.
    pub(crate) fn passes(&self, frame: &Frame<'_>) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.truth(frame) == Some(true))
    }

    /// Visits every row of a subquery. An undefined value is no row.
    pub(crate) fn each_row(
        &self,
        outer: &Frame<'_>,
        visit: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut seen = HashSet::new();
        let mut held = outer.context().scoped_lease();
        let mut emit = |row: Value| {
            // Every row counts as a step, so that a subquery cannot run past the limits.
            if !outer.context().step() {
                return Break(());
            }
            if row.is_undefined() {
                return Continue(());
            }
            if self.distinct {
                if !seen.insert(DistinctHash::of(&row)) {
                    return Continue(());
                }
                if !held.add_bytes(HASH_BYTES) {
                    return Break(());
                }
            }
            visit(row)
        };
        match &self.grouping {
            None => self.each_frame(outer, &mut |frame| emit(self.projection.value(frame))),
            Some(grouping) => self.each_group(grouping, outer, &mut emit),
        }
    }

    /// Visits the row of every group.
    fn each_group(
        &self,
        grouping: &Grouping,
        outer: &Frame<'_>,
        emit: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let stopped = |error| {
            outer.context().fail(error);
            Break(())
        };
        let mut groups = match Groups::all(grouping, outer.context()) {
            Ok(groups) => groups,
            Err(error) => return stopped(error),
        };
        // Aggregates need all rows, so the groups are complete before the first row is emitted.
        self.each_frame(outer, &mut |frame| {
            groups.add(grouping, frame).map_or_else(stopped, Continue)
        })?;
        groups
            .finish()
            .try_for_each(|(_, cells)| emit(self.projection.value(&outer.with_cells(&cells))))
    }
}

/// The conjunction of the source conditions and the filter.
fn all_of(mut filters: Vec<Scalar>, filter: Option<Scalar>) -> Option<Scalar> {
    filters.extend(filter);
    match filters.len() {
        0 | 1 => filters.pop(),
        _ => Some(Scalar::And(filters)),
    }
}

fn selects_aggregate(projection: &Projection) -> bool {
    match projection {
        Projection::Star(_) => false,
        Projection::Value(expr) => has_aggregate(expr),
        Projection::Items(items) => items.iter().any(|item| has_aggregate(&item.expr)),
    }
}

fn compile_all(exprs: &[&Expr], scope: &Scope<'_>) -> Result<Vec<Scalar>, CompileError> {
    exprs.iter().map(|expr| scope.compile(expr)).collect()
}

/// Refuses clauses that the service does not permit in a subquery.
fn refuse_clauses(query: &Query) -> Result<(), CompileError> {
    let refuse = |clause, code| Err(CompileError::ClauseInSubquery { clause, code });
    match &query.order_by {
        Some(OrderBy::Items(_)) => return refuse("ORDER BY", "SC2202"),
        Some(OrderBy::Rank(_)) => return refuse("ORDER BY RANK", "SC2228"),
        None => {}
    }
    if query.select.top.is_some() {
        return refuse("TOP", "SC2203");
    }
    if query.offset_limit.is_some() {
        return refuse("OFFSET LIMIT", "SC2204");
    }
    Ok(())
}
