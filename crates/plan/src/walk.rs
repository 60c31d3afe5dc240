//! Walks over expressions.

use orrery_sql::ast::{Expr, Projection, Query};

/// The expressions directly inside one. Subqueries are other queries, not parts.
pub(crate) fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Literal(_) | Expr::Parameter(_) | Expr::Identifier(_) | Expr::Subquery { .. } => {
            Vec::new()
        }
        Expr::Member { object, .. } => vec![object],
        Expr::Index { object, index } => vec![object, index],
        Expr::Unary { operand, .. } => vec![operand],
        Expr::Binary { left, right, .. } | Expr::Coalesce { left, right } => vec![left, right],
        Expr::Logical { terms, .. } => terms.iter().collect(),
        Expr::In { needle, list, .. } => std::iter::once(&**needle).chain(list).collect(),
        Expr::Between {
            value, low, high, ..
        } => vec![value, low, high],
        Expr::Like { value, pattern, .. } => vec![value, pattern],
        Expr::Conditional {
            condition,
            then,
            otherwise,
        } => vec![condition, then, otherwise],
        Expr::Array(elements) => elements.iter().collect(),
        Expr::Object(properties) => properties.iter().map(|property| &property.value).collect(),
        Expr::Call(call) => call.arguments.iter().collect(),
        Expr::Let { value, body, .. } => vec![value, body],
    }
}

/// Whether the expression or something inside it is what is looked for.
pub(crate) fn any(expr: &Expr, found: &mut impl FnMut(&Expr) -> bool) -> bool {
    found(expr) || parts(expr).into_iter().any(|part| any(part, found))
}

/// The expressions of the select list.
pub(crate) fn selected(query: &Query) -> Vec<&Expr> {
    match &query.select.projection {
        Projection::Star(_) => Vec::new(),
        Projection::Value(expr) => vec![expr],
        Projection::Items(items) => items.iter().map(|item| &item.expr).collect(),
    }
}
