//! The property names of result rows.

use orrery_sql::ast::{Expr, Literal, SelectItem};

/// The alias, or the last name of a path, or `$1`, `$2`, ... for expressions without a name.
pub(super) fn names(items: &[SelectItem]) -> Vec<String> {
    let mut unnamed = 0;
    items
        .iter()
        .map(|item| {
            own_name(item).map_or_else(
                || {
                    unnamed += 1;
                    format!("${unnamed}")
                },
                str::to_owned,
            )
        })
        .collect()
}

/// The name of one item; `None` for an expression that is neither a path nor has an alias.
pub(crate) fn own_name(item: &SelectItem) -> Option<&str> {
    if let Some(alias) = &item.alias {
        return Some(alias);
    }
    match &item.expr {
        Expr::Identifier(name) => Some(&name.name),
        Expr::Member { name, .. } => Some(name),
        Expr::Index { index, .. } => match &**index {
            Expr::Literal(Literal::String(name)) => Some(name),
            _ => None,
        },
        _ => None,
    }
}
