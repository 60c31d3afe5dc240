//! The order of rows under `ORDER BY`.
//!
//! Columns compare by the total order of the language; arrays and objects compare by hash. Rows
//! with equal columns follow their resource ids in the direction of the first column, because
//! clients that merge partitions expect this. Rows of one document follow their ordinal.

use std::cmp::Ordering;

use orrery_json::{Number, Value, compare};
use orrery_sql::ast::SortDirection;

use crate::ExecError;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::scalar::Scalar;

/// A column of the order.
#[derive(Debug, Clone)]
pub(crate) struct OrderColumn {
    pub(crate) scalar: Scalar,
    pub(crate) direction: SortDirection,
}

/// The value of a row in one column. An array or object is represented by its hash.
#[derive(Debug, Clone)]
pub(crate) struct OrderKey {
    pub(crate) value: Value,
    pub(crate) hash: DistinctHash,
    pub(crate) direction: SortDirection,
}

/// The sort key of a row.
#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) keys: Vec<OrderKey>,
    pub(crate) tie: Tie,
}

/// The order of rows with equal keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    Row {
        rid: u64,
        row: u64,
    },
    /// Rows without their own document: groups, and distinct rows.
    Hash(DistinctHash),
}

impl SortKey {
    /// Evaluates the columns for a row.
    pub(crate) fn of(
        columns: &[OrderColumn],
        frame: &Frame<'_>,
        tie: Tie,
    ) -> Result<SortKey, ExecError> {
        // The lease covers the strings while the key is built; the caller counts the finished key.
        let mut held = frame.context().lease();
        let mut keys = Vec::with_capacity(columns.len());
        for column in columns {
            let value = column.scalar.evaluate(frame);
            if let Value::String(text) = value.as_ref() {
                held.add(text.len())?;
            }
            keys.push(OrderKey::of(&value, column.direction));
        }
        Ok(SortKey { keys, tie })
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        let keys = self.keys.iter();
        let keys = keys.map(|key| size_of::<OrderKey>() + key.value.allocated_bytes());
        2 * size_of::<SortKey>() + keys.sum::<usize>()
    }

    /// Compares the resource ids of rows with equal columns, in the direction of the first column.
    pub(crate) fn compare_tie(&self, other: Tie) -> Ordering {
        match (self.tie, other) {
            (
                Tie::Row { rid, row },
                Tie::Row {
                    rid: other,
                    row: other_row,
                },
            ) => {
                let descending = self
                    .keys
                    .first()
                    .is_some_and(|key| key.direction == SortDirection::Descending);
                let order = rid.cmp(&other);
                let order = if descending { order.reverse() } else { order };
                order.then(row.cmp(&other_row))
            }
            (Tie::Hash(hash), Tie::Hash(other)) => hash.cmp(&other),
            (Tie::Row { .. }, Tie::Hash(_)) => Ordering::Less,
            (Tie::Hash(_), Tie::Row { .. }) => Ordering::Greater,
        }
    }
}

impl OrderKey {
    pub(crate) fn of(value: &Value, direction: SortDirection) -> OrderKey {
        let (value, hash) = match value {
            Value::Array(_) => (Value::Array(Vec::new()), DistinctHash::of(value)),
            Value::Object(_) => (
                Value::Object(orrery_json::Object::default()),
                DistinctHash::of(value),
            ),
            primitive => (primitive.clone(), DistinctHash::default()),
        };
        OrderKey {
            value,
            hash,
            direction,
        }
    }
}

impl OrderKey {
    /// Compares a row's value with the key, before anything is copied. Two arrays compare as equal,
    /// and so do two objects.
    pub(crate) fn compare_value(&self, value: &Value) -> Ordering {
        self.directed(compare_values(value, &self.value))
    }

    fn directed(&self, order: Ordering) -> Ordering {
        match self.direction {
            SortDirection::Ascending => order,
            SortDirection::Descending => order.reverse(),
        }
    }
}

impl Ord for OrderKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = compare_values(&self.value, &other.value);
        self.directed(order.then_with(|| self.hash.cmp(&other.hash)))
    }
}

/// Compares two values without hashes.
fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(*a, *b),
        (a, b) => compare(a, b),
    }
}

/// Compares numbers exactly where a double cannot hold the integer. Otherwise two different
/// integers could both equal one double, and the order would not be transitive.
fn compare_numbers(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Int(a), Number::Float(b)) => compare_mixed(a, b),
        (Number::Float(a), Number::Int(b)) => compare_mixed(b, a).reverse(),
        (a, b) => a.total_cmp(b),
    }
}

fn compare_mixed(integer: i64, double: f64) -> Ordering {
    let order = Number::Int(integer).total_cmp(Number::Float(double));
    if order != Ordering::Equal {
        return order;
    }
    // The two are equal as doubles, so the double is an integer of at most 2^63.
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^127")]
    let whole = double as i128;
    i128::from(integer).cmp(&whole)
}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.keys
            .cmp(&other.keys)
            .then_with(|| self.compare_tie(other.tie))
    }
}

impl PartialOrd for OrderKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OrderKey {}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for SortKey {}
