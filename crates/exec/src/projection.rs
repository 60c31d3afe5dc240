//! `SELECT`: computes the row from a combination of sources.

use orrery_json::Value;
use orrery_sql::ast::{Expr, Literal, Projection, SelectItem};

use crate::CompileError;
use crate::frame::Frame;
use crate::scalar::{self, Scalar};
use crate::scope::Scope;

/// The form of a row.
#[derive(Debug, Clone)]
pub(crate) enum RowProjection {
    Document,
    Value(Scalar),
    Properties(Vec<(String, Scalar)>),
}

impl RowProjection {
    /// Compiles the select list; `star` is the value of `*`, if `*` is allowed.
    pub(crate) fn compile(
        syntax: &Projection,
        scope: &Scope<'_>,
        star: Option<Scalar>,
    ) -> Result<RowProjection, CompileError> {
        match syntax {
            Projection::Star(span) => star
                .map(RowProjection::of_value)
                .ok_or(CompileError::StarWithoutSingleSource { span: *span }),
            Projection::Value(expr) => scope.compile(expr).map(RowProjection::of_value),
            Projection::Items(items) => {
                let names = names(items);
                let scalars = items.iter().map(|item| scope.compile(&item.expr));
                names
                    .into_iter()
                    .zip(scalars)
                    .map(|(name, scalar)| Ok((name, scalar?)))
                    .collect::<Result<_, _>>()
                    .map(RowProjection::Properties)
            }
        }
    }

    /// Recognises the document itself, whose stored text can be returned without rendering.
    fn of_value(scalar: Scalar) -> RowProjection {
        match scalar {
            Scalar::Path(0, steps) if steps.is_empty() => RowProjection::Document,
            scalar => RowProjection::Value(scalar),
        }
    }

    /// The row as a value of the language; `Undefined` for no row.
    pub(crate) fn value(&self, frame: &Frame<'_>) -> Value {
        match self {
            RowProjection::Document => frame.value_at(0).clone(),
            RowProjection::Value(scalar) => scalar.evaluate(frame).into_owned(),
            RowProjection::Properties(properties) => scalar::object(properties, frame),
        }
    }

    /// The row as it is returned. JSON has no text for numbers that are not finite, so they are
    /// left out like undefined values.
    pub(crate) fn output(&self, frame: &Frame<'_>) -> Value {
        let value = self.value(frame);
        // Most rows are finite and are returned without a copy.
        if is_finite(&value) {
            value
        } else {
            finite(value)
        }
    }

    /// Whether equal rows imply equal values of `path` in the document.
    pub(crate) fn determines(&self, path: &Scalar) -> bool {
        match self {
            RowProjection::Document => true,
            RowProjection::Value(scalar) => contains(scalar, path),
            RowProjection::Properties(properties) => {
                properties.iter().any(|(_, scalar)| contains(scalar, path))
            }
        }
    }
}

/// Whether `scalar` contains the value of `path`: the path itself, a prefix of it, or an object
/// with it.
fn contains(scalar: &Scalar, path: &Scalar) -> bool {
    match (scalar, path) {
        (Scalar::Path(level, steps), Scalar::Path(path_level, path_steps)) => {
            level == path_level && path_steps.starts_with(steps)
        }
        (Scalar::GroupCell(level, index), Scalar::GroupCell(path_level, path_index)) => {
            level == path_level && index == path_index
        }
        (Scalar::Object(properties), path) => {
            properties.iter().any(|(_, scalar)| contains(scalar, path))
        }
        _ => false,
    }
}

/// The property names of a select list: the alias, the last name of a path, or else `$1`, `$2`, ...
/// counted over the items without a name.
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

fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_finite(),
        Value::Array(elements) => elements.iter().all(is_finite),
        Value::Object(properties) => properties.values().all(is_finite),
        _ => true,
    }
}

/// Removes numbers that are not finite, at any depth.
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
