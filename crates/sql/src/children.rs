//! The parts of an expression.

use crate::ast::Expr;

impl Expr {
    /// The direct operands of this expression. A subquery is no operand: its clauses form a
    /// separate query.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_) | Expr::Parameter(_) | Expr::Identifier(_) | Expr::Subquery { .. } => {
                Vec::new()
            }
            Expr::Member { object, .. } => vec![object],
            Expr::Index { object, index, .. } => vec![object, index],
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
}
