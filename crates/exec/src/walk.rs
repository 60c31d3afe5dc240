//! Walks over syntax trees. A walk stops at subqueries, which have their own clauses.

use orrery_sql::ast::{Expr, Identifier, Literal};

/// The direct operands of an expression.
pub(crate) fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Literal(_) | Expr::Parameter(_) | Expr::Identifier(_) | Expr::Subquery { .. } => {
            Vec::new()
        }
        Expr::Member { object, .. } => vec![object],
        Expr::Unary { operand, .. } => vec![operand],
        Expr::Index {
            object: left,
            index: right,
            ..
        }
        | Expr::Binary { left, right, .. }
        | Expr::Coalesce { left, right }
        | Expr::Like {
            value: left,
            pattern: right,
            ..
        }
        | Expr::Let {
            value: left,
            body: right,
            ..
        } => vec![left, right],
        Expr::Between {
            value: first,
            low: second,
            high: third,
            ..
        }
        | Expr::Conditional {
            condition: first,
            then: second,
            otherwise: third,
        } => vec![first, second, third],
        Expr::Logical { terms: list, .. } | Expr::Array(list) => list.iter().collect(),
        Expr::In { needle, list, .. } => std::iter::once(needle.as_ref()).chain(list).collect(),
        Expr::Object(properties) => properties.iter().map(|property| &property.value).collect(),
        Expr::Call(call) => call.arguments.iter().collect(),
    }
}

/// The name at the start of a property path.
pub(crate) fn path_root(expr: &Expr) -> Option<&Identifier> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::Member { object, .. } | Expr::Index { object, .. } => path_root(object),
        _ => None,
    }
}

/// Whether two expressions have the same meaning, as `c.a` and `c["a"]` do.
pub(crate) fn same(a: &Expr, b: &Expr) -> bool {
    match (step(a), step(b)) {
        (Some((a, a_name)), Some((b, b_name))) => a_name == b_name && same(a, b),
        _ => a == b,
    }
}

/// The object and property name of one path step, in either notation.
fn step(expr: &Expr) -> Option<(&Expr, &str)> {
    match expr {
        Expr::Member { object, name, .. } => Some((object, name)),
        Expr::Index { object, index, .. } => match index.as_ref() {
            Expr::Literal(Literal::String(name)) => Some((object, name)),
            _ => None,
        },
        _ => None,
    }
}
