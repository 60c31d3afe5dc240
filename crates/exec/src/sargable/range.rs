//! Sets of values: the set that a comparison with a constant admits, and operations on sets.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Bound;

use orrery_json::{Number, Value, compare};
use orrery_sql::ast::BinaryOp;

use crate::distinct_hash::DistinctHash;
use crate::predicate::{ValueRange, ValueType};

/// At this size and above, several integers share one double, and an index of doubles does not
/// distinguish them.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Ranges, and whether they are exactly the intended values. An empty list is the empty set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranges {
    pub(super) list: Vec<ValueRange>,
    pub(super) is_exact: bool,
}

impl Ranges {
    pub(super) fn exactly(list: Vec<ValueRange>) -> Ranges {
        Ranges {
            list,
            is_exact: true,
        }
    }

    pub(super) fn within(list: Vec<ValueRange>) -> Ranges {
        Ranges {
            list,
            is_exact: false,
        }
    }

    pub(super) fn defined() -> Ranges {
        Ranges::within(vec![ValueRange::Defined])
    }

    pub(super) fn of_type(value_type: ValueType) -> Ranges {
        Ranges::within(vec![ValueRange::OfType(value_type)])
    }

    pub(super) fn inexact(self) -> Ranges {
        Ranges::within(self.list)
    }
}

/// Values equal to a constant.
pub(super) fn equal_to(value: &Value) -> Ranges {
    match value {
        Value::Undefined => Ranges::exactly(Vec::new()),
        // An index entry of an array or object holds only its type.
        Value::Array(_) => Ranges::of_type(ValueType::Array),
        Value::Object(_) => Ranges::of_type(ValueType::Object),
        scalar => Ranges {
            list: vec![ValueRange::Equal(scalar.clone())],
            is_exact: is_certain(scalar),
        },
    }
}

/// Values equal to one of several constants.
pub(super) fn equal_to_any<'a>(values: impl IntoIterator<Item = &'a Value>) -> Ranges {
    let mut seen = HashSet::new();
    let values = values
        .into_iter()
        .filter(|value| seen.insert(DistinctHash::of(value)));
    union(values.map(equal_to))
}

/// Values for which `value op constant` is `wanted`.
pub(super) fn compared(op: BinaryOp, constant: &Value, wanted: bool) -> Ranges {
    let op = if wanted { op } else { opposite(op) };
    let admits = |order: Ordering| match op {
        BinaryOp::Less => order == Ordering::Less,
        BinaryOp::LessOrEqual => order != Ordering::Greater,
        BinaryOp::Greater => order == Ordering::Greater,
        _ => order != Ordering::Less,
    };
    match constant {
        Value::Null if admits(Ordering::Equal) => equal_to(&Value::Null),
        // Only values of the same type compare, and null, arrays and objects have no smaller or
        // larger ones.
        Value::Null | Value::Undefined | Value::Array(_) | Value::Object(_) => {
            Ranges::exactly(Vec::new())
        }
        Value::Bool(constant) => {
            let mut list: Vec<_> = [false, true]
                .into_iter()
                .filter(|value| admits(value.cmp(constant)))
                .map(|value| ValueRange::Equal(Value::Bool(value)))
                .collect();
            if list.len() == 2 {
                list = vec![ValueRange::OfType(ValueType::Bool)];
            }
            Ranges::exactly(list)
        }
        Value::Number(_) | Value::String(_) => {
            let bound = constant.clone();
            let (low, high) = match op {
                BinaryOp::Less => (Bound::Unbounded, Bound::Excluded(bound)),
                BinaryOp::LessOrEqual => (Bound::Unbounded, Bound::Included(bound)),
                BinaryOp::Greater => (Bound::Excluded(bound), Bound::Unbounded),
                _ => (Bound::Included(bound), Bound::Unbounded),
            };
            Ranges {
                list: vec![ValueRange::Between { low, high }],
                is_exact: is_certain(constant),
            }
        }
    }
}

/// The comparison that is true where `op` is false.
fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        _ => BinaryOp::Less,
    }
}

/// Union of the sets, without ranges that lie within other ranges.
pub(super) fn union(sets: impl IntoIterator<Item = Ranges>) -> Ranges {
    let mut all = Ranges::exactly(Vec::new());
    for set in sets {
        all.is_exact &= set.is_exact;
        all.list.extend(set.list);
    }
    if all.list.contains(&ValueRange::Defined) {
        all.list = vec![ValueRange::Defined];
        return all;
    }
    let mut types: Vec<ValueType> = Vec::new();
    for range in &all.list {
        if let ValueRange::OfType(value_type) = range
            && !types.contains(value_type)
        {
            types.push(*value_type);
        }
    }
    all.list
        .retain(|range| !type_of(range).is_some_and(|of| types.contains(&of)));
    all.list.extend(types.into_iter().map(ValueRange::OfType));
    let mut seen = HashSet::new();
    all.list.retain(|range| match range {
        ValueRange::Equal(value) => seen.insert(DistinctHash::of(value)),
        _ => true,
    });
    all
}

/// Limit of range pairs in an intersection.
const PAIRS_MAX: usize = 4096;

/// Intersection of two sets; `None` when it would be too much work.
pub(super) fn intersection(a: &[ValueRange], b: &[ValueRange]) -> Option<Ranges> {
    if a.len() * b.len() > PAIRS_MAX {
        return None;
    }
    let mut shared = Ranges::exactly(Vec::new());
    for a in a {
        for b in b {
            match intersect(a, b) {
                RangeOverlap::Nowhere => {}
                RangeOverlap::Exactly(range) => shared.list.push(range),
                RangeOverlap::Within(range) => {
                    shared.is_exact = false;
                    shared.list.push(range);
                }
            }
        }
    }
    Some(union([shared]))
}

/// The common part of two ranges.
enum RangeOverlap {
    Nowhere,
    Exactly(ValueRange),
    /// Values in this range, or none.
    Within(ValueRange),
}

/// Intersects two ranges.
fn intersect(a: &ValueRange, b: &ValueRange) -> RangeOverlap {
    match (type_of(a), type_of(b)) {
        (None, _) => return RangeOverlap::Exactly(b.clone()),
        (_, None) => return RangeOverlap::Exactly(a.clone()),
        (Some(a), Some(b)) if a != b => return RangeOverlap::Nowhere,
        _ => {}
    }
    match (a, b) {
        (ValueRange::OfType(_), other) | (other, ValueRange::OfType(_)) => {
            RangeOverlap::Exactly(other.clone())
        }
        (ValueRange::Equal(value), range) | (range, ValueRange::Equal(value)) => {
            let same = ValueRange::Equal(value.clone());
            match contains(range, value) {
                Some(true) => RangeOverlap::Exactly(same),
                Some(false) => RangeOverlap::Nowhere,
                None => RangeOverlap::Within(same),
            }
        }
        (ValueRange::Prefix(a), ValueRange::Prefix(b)) if a.starts_with(b.as_str()) => {
            RangeOverlap::Exactly(ValueRange::Prefix(a.clone()))
        }
        (ValueRange::Prefix(a), ValueRange::Prefix(b)) if b.starts_with(a.as_str()) => {
            RangeOverlap::Exactly(ValueRange::Prefix(b.clone()))
        }
        (ValueRange::Prefix(_), ValueRange::Prefix(_)) => RangeOverlap::Nowhere,
        // The part of a string interval within a prefix is not computed, so the prefix is an upper
        // bound.
        (ValueRange::Prefix(prefix), _) | (_, ValueRange::Prefix(prefix)) => {
            RangeOverlap::Within(ValueRange::Prefix(prefix.clone()))
        }
        (
            ValueRange::Between { low, high },
            ValueRange::Between {
                low: other_low,
                high: other_high,
            },
        ) => between(
            stricter(low, other_low, Ordering::Greater),
            stricter(high, other_high, Ordering::Less),
        ),
        (ValueRange::Between { .. }, ValueRange::Defined) => RangeOverlap::Exactly(a.clone()),
        (ValueRange::Defined, _) => RangeOverlap::Exactly(b.clone()),
    }
}

/// The range between two bounds, if it is not empty.
fn between(low: &Bound<Value>, high: &Bound<Value>) -> RangeOverlap {
    let range = ValueRange::Between {
        low: low.clone(),
        high: high.clone(),
    };
    let (Some(from), Some(to)) = (end(low), end(high)) else {
        return RangeOverlap::Exactly(range);
    };
    let is_closed = matches!((low, high), (Bound::Included(_), Bound::Included(_)));
    // Large integers may be equal as doubles, so only a strict difference makes the set empty.
    if !is_certain(from) || !is_certain(to) {
        return match (from, to) {
            (Value::Number(from), Value::Number(to)) if from.as_f64() > to.as_f64() => {
                RangeOverlap::Nowhere
            }
            _ => RangeOverlap::Within(range),
        };
    }
    match compare(from, to) {
        Ordering::Less => RangeOverlap::Exactly(range),
        Ordering::Equal if is_closed => RangeOverlap::Exactly(ValueRange::Equal(from.clone())),
        _ => RangeOverlap::Nowhere,
    }
}

/// The bound of two on the same side that admits less.
fn stricter<'a>(a: &'a Bound<Value>, b: &'a Bound<Value>, wanted: Ordering) -> &'a Bound<Value> {
    let (Some(of_a), Some(of_b)) = (end(a), end(b)) else {
        return if end(a).is_none() { b } else { a };
    };
    match compare(of_a, of_b) {
        Ordering::Equal if matches!(b, Bound::Excluded(_)) => b,
        Ordering::Equal => a,
        order if order == wanted => a,
        _ => b,
    }
}

fn end(bound: &Bound<Value>) -> Option<&Value> {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value),
        Bound::Unbounded => None,
    }
}

/// Whether a range contains a value; `None` where large numbers leave it open.
fn contains(range: &ValueRange, value: &Value) -> Option<bool> {
    let bounds = match range {
        ValueRange::Equal(other) => [Some(other), None],
        ValueRange::Between { low, high } => [end(low), end(high)],
        _ => [None, None],
    };
    if !bounds.into_iter().flatten().chain([value]).all(is_certain) {
        return None;
    }
    Some(match range {
        ValueRange::Equal(other) => other == value,
        ValueRange::Prefix(prefix) => value.as_str()?.starts_with(prefix.as_str()),
        ValueRange::Between { low, high } => {
            let above = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => compare(value, low) != Ordering::Less,
                Bound::Excluded(low) => compare(value, low) == Ordering::Greater,
            };
            let below = match high {
                Bound::Unbounded => true,
                Bound::Included(high) => compare(value, high) != Ordering::Greater,
                Bound::Excluded(high) => compare(value, high) == Ordering::Less,
            };
            above && below
        }
        ValueRange::OfType(_) | ValueRange::Defined => true,
    })
}

/// Whether doubles represent the value exactly, for equality and for order.
fn is_certain(value: &Value) -> bool {
    match value {
        Value::Number(number) => is_small(*number),
        _ => true,
    }
}

fn is_small(number: Number) -> bool {
    number.as_f64().abs() < EXACT_MAX
}

pub(super) fn type_of(range: &ValueRange) -> Option<ValueType> {
    match range {
        ValueRange::Equal(value) => value_type(value),
        ValueRange::Between { low, high } => end(low).or(end(high)).and_then(value_type),
        ValueRange::Prefix(_) => Some(ValueType::String),
        ValueRange::OfType(value_type) => Some(*value_type),
        ValueRange::Defined => None,
    }
}

pub(super) fn value_type(value: &Value) -> Option<ValueType> {
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
