//! `SELECT`: what one row becomes.

use orrery_json::Value;
use orrery_sql::ast::{Expr, Literal, Projection, SelectItem};

use crate::CompileError;
use crate::frame::Frame;
use crate::scalar::{self, Scalar};
use crate::scope::Scope;

#[derive(Debug, Clone)]
pub(crate) enum Selection {
    Document,
    Value(Scalar),
    Properties(Vec<(String, Scalar)>),
}

impl Selection {
    /// `star` is what `*` stands for, where it stands for anything.
    pub(crate) fn compile(
        syntax: &Projection,
        scope: &Scope<'_>,
        star: Option<Scalar>,
    ) -> Result<Selection, CompileError> {
        match syntax {
            Projection::Star(span) => star
                .map(Selection::of_value)
                .ok_or(CompileError::StarWithoutSingleSource { span: *span }),
            Projection::Value(expr) => scope.compile(expr).map(Selection::of_value),
            Projection::Items(items) => {
                let names = names(items);
                let scalars = items.iter().map(|item| scope.compile(&item.expr));
                names
                    .into_iter()
                    .zip(scalars)
                    .map(|(name, scalar)| Ok((name, scalar?)))
                    .collect::<Result<_, _>>()
                    .map(Selection::Properties)
            }
        }
    }

    fn of_value(scalar: Scalar) -> Selection {
        match scalar {
            Scalar::Path(0, steps) if steps.is_empty() => Selection::Document,
            scalar => Selection::Value(scalar),
        }
    }

    /// The row as a value of the language; `Undefined` when there is none.
    pub(crate) fn value(&self, frame: &Frame<'_>) -> Value {
        match self {
            Selection::Document => frame.value_at(0).clone(),
            Selection::Value(scalar) => scalar.evaluate(frame).into_owned(),
            Selection::Properties(properties) => scalar::object(properties, frame),
        }
    }

    /// The row as it is printed: numbers that are not finite have no text and leave it, as an
    /// undefined value does.
    pub(crate) fn output(&self, frame: &Frame<'_>) -> Value {
        let value = self.value(frame);
        if is_finite(&value) {
            value
        } else {
            finite(value)
        }
    }

    /// Whether equal rows have equal values of `path` of the document.
    pub(crate) fn decides(&self, path: &Scalar) -> bool {
        match self {
            Selection::Document => true,
            Selection::Value(scalar) => holds(scalar, path),
            Selection::Properties(properties) => {
                properties.iter().any(|(_, scalar)| holds(scalar, path))
            }
        }
    }
}

fn holds(scalar: &Scalar, path: &Scalar) -> bool {
    match (scalar, path) {
        (Scalar::Path(level, steps), Scalar::Path(path_level, path_steps)) => {
            level == path_level && path_steps.starts_with(steps)
        }
        (Scalar::Cell(level, index), Scalar::Cell(path_level, path_index)) => {
            level == path_level && index == path_index
        }
        (Scalar::Object(properties), path) => {
            properties.iter().any(|(_, scalar)| holds(scalar, path))
        }
        _ => false,
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

fn is_finite(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_finite(),
        Value::Array(elements) => elements.iter().all(is_finite),
        Value::Object(properties) => properties.values().all(is_finite),
        _ => true,
    }
}

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
