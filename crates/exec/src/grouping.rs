//! Compiles `GROUP BY` and aggregates: it decides which expressions a select list may contain, and
//! maps them to the cells of a group.
//!
//! An expression over a group consists of group keys, matched by their syntax, of aggregates, and
//! of values that are constant for all rows. Any other property is an error.

use std::cell::RefCell;

use orrery_sql::ast::{Call, Expr};

use crate::CompileError;
use crate::aggregate::{Aggregate, AggregateKind};
use crate::scalar::Scalar;
use crate::scope::Scope;
use crate::walk;

/// The scope of a select list over groups. It collects the aggregates that the list uses.
pub(crate) struct GroupScope<'a> {
    outer: &'a Scope<'a>,
    rows: &'a Scope<'a>,
    keys: &'a [Expr],
    aggregates: RefCell<Vec<Aggregate>>,
}

impl<'a> GroupScope<'a> {
    pub(crate) fn new(
        outer: &'a Scope<'a>,
        rows: &'a Scope<'a>,
        keys: &'a [Expr],
    ) -> GroupScope<'a> {
        GroupScope {
            outer,
            rows,
            keys,
            aggregates: RefCell::new(Vec::new()),
        }
    }

    /// The aggregates found while the select list was compiled, in the order of their cells.
    pub(crate) fn into_aggregates(self) -> Vec<Aggregate> {
        self.aggregates.into_inner()
    }

    /// The cell of `expr` if it is a key or an aggregate; `None` when the compiler must look at its
    /// parts.
    pub(crate) fn cell(&self, expr: &Expr) -> Result<Option<Scalar>, CompileError> {
        if let Some(index) = self.key(expr) {
            return Ok(Some(self.scalar(index)));
        }
        if let Expr::Call(call) = expr
            && let Some(kind) = aggregate_kind(call)
        {
            return self.aggregate(kind, call).map(Some);
        }
        match walk::path_root(expr) {
            Some(root)
                // A path of the rows that is no key has no single value in a group.
                if self.rows.binds_more_than(self.outer, &root.name)
                    && !self.leads_to_key(expr) =>
            {
                Err(CompileError::NotGrouped {
                    reference: expr.to_string(),
                    span: root.span,
                })
            }
            _ => Ok(None),
        }
    }

    /// Compiles an aggregate call into a cell of the group. Aggregates cannot nest.
    fn aggregate(&self, kind: AggregateKind, call: &Call) -> Result<Scalar, CompileError> {
        let [argument] = call.arguments.as_slice() else {
            return Err(CompileError::ArgumentCount {
                name: call.name.name.clone(),
                expected: "1".to_owned(),
                span: call.span,
            });
        };
        if has_aggregate(argument) {
            return Err(CompileError::AggregateOfAggregate { span: call.span });
        }
        // The argument is compiled over the rows: an aggregate reads rows, not groups.
        let argument = self.rows.compile(argument)?;
        let mut aggregates = self.aggregates.borrow_mut();
        aggregates.push(Aggregate { kind, argument });
        // Aggregate cells follow the key cells.
        Ok(self.scalar(self.keys.len() + aggregates.len() - 1))
    }

    /// The reference to a cell. The group is one level above the outer frame.
    fn scalar(&self, index: usize) -> Scalar {
        Scalar::GroupCell(self.outer.level() + 1, index)
    }

    fn key(&self, expr: &Expr) -> Option<usize> {
        self.keys.iter().position(|key| walk::same(key, expr))
    }

    /// Whether a path continues a key, as `c.a.b` continues `c.a`.
    fn leads_to_key(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Member { object, .. } | Expr::Index { object, .. } => {
                self.key(object).is_some() || self.leads_to_key(object)
            }
            _ => false,
        }
    }
}

/// Whether an expression is or contains an aggregate.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    aggregate_in(expr).is_some()
}

/// The first aggregate in an expression and its parts.
pub(crate) fn aggregate_in(expr: &Expr) -> Option<&Call> {
    match expr {
        Expr::Call(call) if aggregate_kind(call).is_some() => Some(call),
        expr => walk::children(expr).into_iter().find_map(aggregate_in),
    }
}

fn aggregate_kind(call: &Call) -> Option<AggregateKind> {
    (!call.udf)
        .then(|| AggregateKind::named(&call.name.name))
        .flatten()
}
