//! One `SELECT`: sources, filter, groups and row, without order and without a window.
//!
//! The query itself and each of its subqueries is a block. A block runs over the frame that
//! surrounds it; a subquery therefore sees the current document and never the container.

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
use crate::projection::Selection;
use crate::scalar::Scalar;
use crate::scope::Scope;
use crate::source::{self, Source, Sources};

#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) sources: Vec<Source>,
    pub(crate) filter: Option<Scalar>,
    pub(crate) grouping: Option<Grouping>,
    pub(crate) selection: Selection,
    pub(crate) distinct: bool,
}

impl Block {
    /// A subquery in an expression or in `FROM`.
    pub(crate) fn subquery(query: &Query, outer: &Scope<'_>) -> Result<Block, CompileError> {
        refuse_clauses(query)?;
        let (block, _) = Block::compile(query, outer, &[])?;
        Ok(block)
    }

    /// The block, and what `order` means in it: over its groups when it has keys, else over its
    /// rows.
    pub(crate) fn compile(
        query: &Query,
        outer: &Scope<'_>,
        order: &[&Expr],
    ) -> Result<(Block, Vec<Scalar>), CompileError> {
        let projection = &query.select.projection;
        if let (Projection::Star(span), [_, ..]) = (projection, &*query.group_by) {
            return Err(CompileError::StarWithGroupBy { span: *span });
        }
        let mut rows = outer.inside();
        let sources = Sources::compile(&query.from, &mut rows)?;
        let filter = query.filter.as_ref();
        let filter = filter.map(|filter| rows.compile(filter)).transpose()?;
        let is_grouped = !query.group_by.is_empty() || selects_aggregate(projection);
        let (selection, order, grouping) = if is_grouped && !rows.is_subset() {
            let keys = rows.all(&query.group_by)?;
            let group = GroupScope::new(outer, &rows, &query.group_by);
            let over_groups = outer.grouped(&group);
            let selection = Selection::compile(projection, &over_groups, None)?;
            let order_scope = if keys.is_empty() { &rows } else { &over_groups };
            let order = compile_all(order, order_scope)?;
            let aggregates = group.into_aggregates();
            (selection, order, Some(Grouping { keys, aggregates }))
        } else {
            let selection = Selection::compile(projection, &rows, sources.star)?;
            (selection, compile_all(order, &rows)?, None)
        };
        let block = Block {
            sources: sources.list,
            filter,
            grouping,
            selection,
            distinct: query.select.distinct,
        };
        Ok((block, order))
    }

    /// Every combination of sources that passes the filter.
    pub(crate) fn each_frame(
        &self,
        outer: &Frame<'_>,
        visit: &mut dyn FnMut(&Frame<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        source::each(&self.sources, outer, &mut |frame| {
            if !self.passes(frame) {
                return Continue(());
            }
            visit(frame)
        })
    }

    pub(crate) fn passes(&self, frame: &Frame<'_>) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.truth(frame) == Some(true))
    }

    /// Every row of a subquery. A row without a value is no row.
    pub(crate) fn each_row(
        &self,
        outer: &Frame<'_>,
        visit: &mut dyn FnMut(Value) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut seen = HashSet::new();
        let mut held = outer.context().hold();
        let mut emit = |row: Value| {
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
            None => self.each_frame(outer, &mut |frame| emit(self.selection.value(frame))),
            Some(grouping) => self.each_group(grouping, outer, &mut emit),
        }
    }

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
        self.each_frame(outer, &mut |frame| {
            groups.add(grouping, frame).map_or_else(stopped, Continue)
        })?;
        groups
            .finish()
            .try_for_each(|(_, cells)| emit(self.selection.value(&outer.with_cells(&cells))))
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
