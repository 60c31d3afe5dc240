//! The property names of result rows.

use orrery_sql::ast::{Expr, Literal, SelectItem};

/// The alias, or the last name of a path, or `$1`, `$2`, ... for expressions without a name.
pub(super) fn names(items: &[SelectItem]) -> Vec<String> {
    let mut unnamed = 0;
    items
        .iter()
        .map(|item| {
            name(item).unwrap_or_else(|| {
                unnamed += 1;
                format!("${unnamed}")
            })
        })
        .collect()
}

/// The name of one expression; `None` for an expression that is neither a path nor has an alias.
fn name(item: &SelectItem) -> Option<String> {
    if let Some(alias) = &item.alias {
        return Some(alias.clone());
    }
    match &item.expr {
        Expr::Identifier(name) => Some(name.name.clone()),
        Expr::Member { name, .. } => Some(name.clone()),
        Expr::Index { index, .. } => match &**index {
            Expr::Literal(Literal::String(name)) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}
