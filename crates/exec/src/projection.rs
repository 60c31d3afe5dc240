//! `SELECT`: what one row becomes.

use orrery_json::{Object, Value};
use orrery_sql::ast::{Expr, Literal, Projection, SelectItem};

use crate::CompileError;
use crate::compile::Scope;
use crate::scalar::Scalar;

#[derive(Debug, Clone)]
pub(crate) enum Row {
    Document,
    Value(Scalar),
    Properties(Vec<(String, Scalar)>),
}

impl Row {
    pub(crate) fn compile(syntax: &Projection, scope: &Scope<'_>) -> Result<Row, CompileError> {
        match syntax {
            Projection::Star(span) if scope.root().is_none() => {
                Err(CompileError::StarWithoutSingleSource { span: *span })
            }
            Projection::Star(_) => Ok(Row::Document),
            Projection::Value(expr) => Ok(match scope.compile(expr)? {
                Scalar::Document(steps) if steps.is_empty() => Row::Document,
                scalar => Row::Value(scalar),
            }),
            Projection::Items(items) => {
                let names = names(items);
                let scalars = items.iter().map(|item| scope.compile(&item.expr));
                names
                    .into_iter()
                    .zip(scalars)
                    .map(|(name, scalar)| Ok((name, scalar?)))
                    .collect::<Result<_, _>>()
                    .map(Row::Properties)
            }
        }
    }

    /// The row that `document` gives; `Undefined` when it gives none.
    pub(crate) fn project(&self, document: &Value) -> Value {
        match self {
            Row::Document => document.clone(),
            Row::Value(scalar) => finite(scalar.evaluate(document).into_owned()),
            Row::Properties(properties) => {
                let mut row = Object::with_capacity(properties.len());
                for (name, scalar) in properties {
                    let value = finite(scalar.evaluate(document).into_owned());
                    if !value.is_undefined() {
                        row.insert(name.clone(), value);
                    }
                }
                Value::Object(row)
            }
        }
    }
}

/// The property names of a select list: the alias, the last name of a path, or `$1`, `$2`, ...
/// counted over the items that have neither.
fn names(items: &[SelectItem]) -> Vec<String> {
    let mut unnamed = 0;
    items
        .iter()
        .map(|item| {
            item.alias
                .clone()
                .or_else(|| path_name(&item.expr))
                .unwrap_or_else(|| {
                    unnamed += 1;
                    format!("${unnamed}")
                })
        })
        .collect()
}

fn path_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.name.clone()),
        Expr::Member { name, .. } => Some(name.clone()),
        Expr::Index { index, .. } => match index.as_ref() {
            Expr::Literal(Literal::String(name)) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// A number that is not finite has no text: it leaves the row as an undefined value does.
fn finite(value: Value) -> Value {
    match value {
        Value::Number(number) if !number.is_finite() => Value::Undefined,
        Value::Array(elements) => Value::Array(
            elements
                .into_iter()
                .map(finite)
                .filter(|value| !value.is_undefined())
                .collect(),
        ),
        Value::Object(properties) => Value::Object(
            properties
                .into_iter()
                .map(|(name, value)| (name, finite(value)))
                .filter(|(_, value)| !value.is_undefined())
                .collect(),
        ),
        value => value,
    }
}
