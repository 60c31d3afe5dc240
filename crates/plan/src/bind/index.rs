//! Checks `object[index]`: the index must be constant.

use orrery_json::Value;
use orrery_sql::Span;
use orrery_sql::ast::{Expr, Literal, Projection, SubqueryKind};

use super::Binder;
use crate::ProblemKind;

impl Binder<'_> {
    /// The index must be a string or a number whose value is known before planning, because only
    /// such a path maps to an index of the container. Every other expression is an error, including
    /// constant expressions like `1 + 1`.
    pub(super) fn index(&mut self, index: &Expr, span: Span) {
        // For `c.a[1 + 1][2 + 2]` only one problem is reported, for the whole path. The inner
        // problem starts at the same position and is removed here.
        if !self.is_index(index) {
            let is_inside = |problem: &crate::Problem| {
                problem.kind == ProblemKind::MemberIndexer
                    && problem
                        .span
                        .is_some_and(|inner| inner.start == span.start && inner.end < span.end)
            };
            self.problems.retain(|problem| !is_inside(problem));
            self.problem(ProblemKind::MemberIndexer.at(span));
        }
    }

    fn is_index(&self, index: &Expr) -> bool {
        match index {
            Expr::Literal(literal) => matches!(literal, Literal::String(_) | Literal::Number(_)),
            Expr::Parameter(name) => {
                let mut supplied = self.parameters.iter();
                supplied
                    .find(|(known, _)| *known == name.name)
                    .is_some_and(|(_, value)| matches!(value, Value::String(_) | Value::Number(_)))
            }
            Expr::Subquery {
                kind: SubqueryKind::Scalar,
                query,
            } => match &query.select.projection {
                Projection::Value(value) => query.from.is_empty() && self.is_index(value),
                Projection::Star(_) | Projection::Items(_) => false,
            },
            _ => false,
        }
    }
}
