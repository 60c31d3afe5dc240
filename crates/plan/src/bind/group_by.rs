//! Checks the keys of `GROUP BY`: they read the items, and contain no aggregate and no subquery.

use orrery_sql::ast::{Expr, Query};

use super::{Binder, ExprContext};
use crate::ProblemKind;
use crate::aggregate::AggregateKind;
use crate::walk::{any, children};

impl Binder<'_> {
    pub(super) fn group_keys(&mut self, query: &Query) {
        for (index, key) in query.group_by.iter().enumerate() {
            self.expr(key, ExprContext::GroupBy);
            let span = query.spans.group_keys.of(index);
            self.no_aggregate(key);
            if !any(key, &mut |part| self.is_reference(part)) {
                self.problem(ProblemKind::ConstantGroupKey.at(span));
            }
        }
    }

    /// Reports the outermost aggregates and subqueries of a key.
    fn no_aggregate(&mut self, expr: &Expr) {
        match expr {
            Expr::Call(call) if AggregateKind::of_call(call).is_some() => {
                self.problem(ProblemKind::AggregateInGroupBy.at(call.span));
            }
            Expr::Subquery { query, .. } => {
                self.problem(ProblemKind::AggregateInGroupBy.at(query.spans.query));
            }
            _ => {
                for part in children(expr) {
                    self.no_aggregate(part);
                }
            }
        }
    }

    fn is_reference(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Identifier(name) if self.scope.lookup(&name.name).is_some())
    }
}
