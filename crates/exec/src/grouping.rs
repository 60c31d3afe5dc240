//! `GROUP BY` and aggregates, while compiling: what the select list may say, and where it finds
//! it in a group.
//!
//! An expression over a group is built from the keys, matched as they are written, from
//! aggregates and from what is constant for all rows. Any other property is an error.

use std::cell::RefCell;

use orrery_sql::ast::{Call, Expr};

use crate::CompileError;
use crate::aggregate::{Aggregate, AggregateKind};
use crate::scalar::Scalar;
use crate::scope::Scope;
use crate::walk;

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

    pub(crate) fn into_aggregates(self) -> Vec<Aggregate> {
        self.aggregates.into_inner()
    }

    /// The key or the aggregate that `expr` is; `None` when its parts have to be looked at.
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

    fn aggregate(&self, kind: AggregateKind, call: &Call) -> Result<Scalar, CompileError> {
        let [argument] = call.arguments.as_slice() else {
            return Err(CompileError::ArgumentCount {
                name: call.name.name.clone(),
                expected: "1".to_owned(),
                span: call.span,
            });
        };
        let nested = |part: &Expr| is_aggregate(part) || matches!(part, Expr::Subquery { .. });
        if walk::any(argument, &nested) {
            return Err(CompileError::AggregateOfAggregate { span: call.span });
        }
        let argument = self.rows.compile(argument)?;
        let mut aggregates = self.aggregates.borrow_mut();
        aggregates.push(Aggregate { kind, argument });
        Ok(self.scalar(self.keys.len() + aggregates.len() - 1))
    }

    fn scalar(&self, index: usize) -> Scalar {
        Scalar::Cell(self.outer.level() + 1, index)
    }

    fn key(&self, expr: &Expr) -> Option<usize> {
        self.keys.iter().position(|key| walk::same(key, expr))
    }

    fn leads_to_key(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Member { object, .. } | Expr::Index { object, .. } => {
                self.key(object).is_some() || self.leads_to_key(object)
            }
            _ => false,
        }
    }
}

/// Whether an expression is an aggregate or has one among its parts.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    aggregate_in(expr).is_some()
}

/// The first aggregate among an expression and its parts.
pub(crate) fn aggregate_in(expr: &Expr) -> Option<&Call> {
    match expr {
        Expr::Call(call) if aggregate_kind(call).is_some() => Some(call),
        expr => walk::parts(expr).into_iter().find_map(aggregate_in),
    }
}

fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(call) if aggregate_kind(call).is_some())
}

fn aggregate_kind(call: &Call) -> Option<AggregateKind> {
    (!call.udf)
        .then(|| AggregateKind::named(&call.name.name))
        .flatten()
}
