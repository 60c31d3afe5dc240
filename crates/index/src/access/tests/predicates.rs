//! Short constructors for predicates, and their evaluation on documents.

use std::ops::Bound;

use orrery_exec::{DocumentPath, PathStep, Predicate, ValueRange, ValueType};
use orrery_json::{Value, compare, equal};

use super::container::values_at;

/// `a/b/[]`.
pub(super) fn path(text: &str) -> DocumentPath {
    let steps = text.split('/').map(|step| match step {
        "[]" => PathStep::Element,
        name => PathStep::Name(name.to_owned()),
    });
    DocumentPath(steps.collect())
}

pub(super) fn value(at: &str, ranges: Vec<ValueRange>) -> Predicate {
    Predicate::Value {
        path: path(at),
        ranges,
    }
}

pub(super) fn is(at: &str, of: impl Into<Value>) -> Predicate {
    value(at, vec![ValueRange::Equal(of.into())])
}

pub(super) fn is_in(at: &str, of: impl IntoIterator<Item = i64>) -> Predicate {
    let ranges = of.into_iter().map(|of| ValueRange::Equal(Value::from(of)));
    value(at, ranges.collect())
}

pub(super) fn above(at: &str, low: impl Into<Value>) -> Predicate {
    let low = Bound::Excluded(low.into());
    value(
        at,
        vec![ValueRange::Between {
            low,
            high: Bound::Unbounded,
        }],
    )
}

pub(super) fn below(at: &str, high: impl Into<Value>) -> Predicate {
    let high = Bound::Excluded(high.into());
    value(
        at,
        vec![ValueRange::Between {
            low: Bound::Unbounded,
            high,
        }],
    )
}

pub(super) fn defined(at: &str) -> Predicate {
    value(at, vec![ValueRange::Defined])
}

pub(super) fn and(all: impl Into<Vec<Predicate>>) -> Predicate {
    Predicate::And(all.into())
}

pub(super) fn or(any: impl Into<Vec<Predicate>>) -> Predicate {
    Predicate::Or(any.into())
}

/// Whether a document satisfies a predicate without geometries.
pub(super) fn holds(predicate: &Predicate, document: &Value) -> bool {
    match predicate {
        Predicate::Anything => true,
        Predicate::Nothing => false,
        Predicate::And(all) => all.iter().all(|one| holds(one, document)),
        Predicate::Or(any) => any.iter().any(|one| holds(one, document)),
        Predicate::Value { path, ranges } => values_at(document, path)
            .into_iter()
            .any(|value| ranges.iter().any(|range| is_within(range, value))),
        Predicate::Spatial { .. } => panic!("geometries are tested where they are indexed"),
    }
}

fn is_within(range: &ValueRange, value: &Value) -> bool {
    match range {
        ValueRange::Equal(of) => equal(of, value),
        ValueRange::Between { low, high } => {
            let same_type = |of: &Value| value_type(of) == value_type(value);
            let above = match low {
                Bound::Included(low) => same_type(low) && compare(value, low).is_ge(),
                Bound::Excluded(low) => same_type(low) && compare(value, low).is_gt(),
                Bound::Unbounded => true,
            };
            let below = match high {
                Bound::Included(high) => same_type(high) && compare(value, high).is_le(),
                Bound::Excluded(high) => same_type(high) && compare(value, high).is_lt(),
                Bound::Unbounded => true,
            };
            above && below
        }
        ValueRange::Prefix(text) => value.as_str().is_some_and(|of| of.starts_with(text)),
        ValueRange::OfType(of) => value_type(value) == Some(*of),
        ValueRange::Defined => true,
    }
}

fn value_type(value: &Value) -> Option<ValueType> {
    Some(match value {
        Value::Undefined => return None,
        Value::Null => ValueType::Null,
        Value::Bool(_) => ValueType::Bool,
        Value::Number(_) => ValueType::Number,
        Value::String(_) => ValueType::String,
        Value::Array(_) => ValueType::Array,
        Value::Object(_) => ValueType::Object,
    })
}
