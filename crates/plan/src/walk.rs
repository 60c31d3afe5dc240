//! Traversal of expressions.

use orrery_sql::ast::{Expr, Projection, Query};

/// The direct subexpressions of an expression.
pub(crate) fn children(expr: &Expr) -> Vec<&Expr> {
    expr.children()
}

/// Whether the expression or one of its subexpressions satisfies `found`.
pub(crate) fn any(expr: &Expr, found: &mut impl FnMut(&Expr) -> bool) -> bool {
    found(expr) || children(expr).into_iter().any(|part| any(part, found))
}

/// The expressions of the select list.
pub(crate) fn selected(query: &Query) -> Vec<&Expr> {
    match &query.select.projection {
        Projection::Star(_) => Vec::new(),
        Projection::Value(expr) => vec![expr],
        Projection::Items(items) => items.iter().map(|item| &item.expr).collect(),
    }
}
