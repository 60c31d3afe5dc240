//! Short constructors for the syntax tree of rewritten queries.

use orrery_sql::ast::{
    Call, Expr, FromSource, Identifier, LogicalOp, Projection, Property, Query, SelectItem,
};
use orrery_sql::{Span, Spans};

use super::select_names::names;

/// An expression that prints as exactly this text.
pub(super) fn verbatim(text: impl Into<String>) -> Expr {
    Expr::Identifier(identifier(text))
}

pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    Expr::Call(Call {
        udf: false,
        name: identifier(name),
        arguments,
        argument_spans: Spans::default(),
        span: Span::default(),
    })
}

pub(super) fn object<const N: usize>(properties: [(&str, Expr); N]) -> Expr {
    Expr::Object(properties.map(|(name, value)| property(name, value)).into())
}

pub(super) fn property(name: impl Into<String>, value: Expr) -> Property {
    Property {
        name: name.into(),
        name_span: Span::default(),
        value,
    }
}

/// `[{"item": a}, {"item": b}] AS alias`.
pub(super) fn items<'a>(keys: impl Iterator<Item = &'a Expr>, alias: &str) -> SelectItem {
    let items = keys.map(|key| object([("item", key.clone())])).collect();
    aliased(Expr::Array(items), alias)
}

pub(super) fn aliased(expr: Expr, alias: &str) -> SelectItem {
    SelectItem {
        expr,
        alias: Some(alias.to_owned()),
        alias_span: Span::default(),
    }
}

/// `c._rid` of the first source, regardless of joins.
pub(super) fn rid(query: &Query) -> SelectItem {
    SelectItem {
        expr: Expr::Member {
            object: Box::new(root(query)),
            name: "_rid".to_owned(),
            name_span: Span::default(),
        },
        alias: None,
        alias_span: Span::default(),
    }
}

/// The user's row as a single expression.
pub(super) fn payload(query: &Query) -> Expr {
    match &query.select.projection {
        Projection::Star(_) => root(query),
        Projection::Value(expr) => expr.clone(),
        Projection::Items(items) => Expr::Object(
            names(items)
                .into_iter()
                .zip(items)
                .map(|(name, item)| property(name, item.expr.clone()))
                .collect(),
        ),
    }
}

/// `a AND b AND c` of the present conditions; `None` without any condition.
pub(super) fn all_of(conditions: impl IntoIterator<Item = Option<Expr>>) -> Option<Expr> {
    let mut terms = Vec::new();
    for condition in conditions.into_iter().flatten() {
        match condition {
            // A user's leading chain is extended instead of nested.
            Expr::Logical {
                op: LogicalOp::And,
                terms: chain,
            } if terms.is_empty() => terms = chain,
            condition => terms.push(condition),
        }
    }
    if terms.len() > 1 {
        return Some(Expr::Logical {
            op: LogicalOp::And,
            terms,
        });
    }
    terms.pop()
}

fn root(query: &Query) -> Expr {
    verbatim(
        query
            .from
            .first()
            .and_then(FromSource::alias)
            .unwrap_or("root"),
    )
}

fn identifier(name: impl Into<String>) -> Identifier {
    Identifier {
        name: name.into(),
        span: Span::default(),
    }
}
