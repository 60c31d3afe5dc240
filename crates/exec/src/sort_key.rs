//! The order of rows under `ORDER BY`.
//!
//! Columns compare by the total order of the language, arrays and objects by their hash. Rows
//! that are equal in all columns follow their resource ids in the direction of the first column,
//! because clients that merge partitions expect it; rows of one document follow their number.

use std::cmp::Ordering;

use orrery_json::{Number, Value, compare};
use orrery_sql::ast::Direction;

use crate::ExecError;
use crate::distinct_hash::DistinctHash;
use crate::frame::Frame;
use crate::scalar::Scalar;

#[derive(Debug, Clone)]
pub(crate) struct OrderColumn {
    pub(crate) scalar: Scalar,
    pub(crate) direction: Direction,
}

/// The value of a row in one column. What an array or an object holds is only in its hash.
#[derive(Debug, Clone)]
pub(crate) struct OrderKey {
    pub(crate) value: Value,
    pub(crate) hash: DistinctHash,
    pub(crate) direction: Direction,
}

#[derive(Debug, Clone)]
pub(crate) struct SortKey {
    pub(crate) keys: Vec<OrderKey>,
    pub(crate) tie: Tie,
}

/// What orders rows with equal keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tie {
    Row {
        rid: u64,
        row: u64,
    },
    /// Rows without a document of their own: groups, and distinct rows.
    Hash(DistinctHash),
}

impl SortKey {
    pub(crate) fn of(
        columns: &[OrderColumn],
        frame: &Frame<'_>,
        tie: Tie,
    ) -> Result<SortKey, ExecError> {
        let mut held = frame.context().keep();
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
                    .is_some_and(|key| key.direction == Direction::Descending);
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
    pub(crate) fn of(value: &Value, direction: Direction) -> OrderKey {
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
    /// How a row with this value in the column stands to the key, before anything is copied.
    /// Arrays among arrays and objects among objects are equal.
    pub(crate) fn compare_value(&self, value: &Value) -> Ordering {
        self.directed(compare_values(value, &self.value))
    }

    fn directed(&self, order: Ordering) -> Ordering {
        match self.direction {
            Direction::Ascending => order,
            Direction::Descending => order.reverse(),
        }
    }
}

impl Ord for OrderKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = compare_values(&self.value, &other.value);
        self.directed(order.then_with(|| self.hash.cmp(&other.hash)))
    }
}

fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(*a, *b),
        (a, b) => compare(a, b),
    }
}

/// Exact where a double cannot hold the integer, so that the order stays one of equals and
/// betters: two integers equal to one double would be equal to each other.
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
    // Equal as doubles, so the double is whole and at most 2^63.
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
