//! The `resumeFilter` of a request: an ordered result that begins at given values.
//!
//! Clients that merge partitions send it to go on where they stopped. A scalar stands for itself,
//! `[]` for undefined, and an array or object is given by the two halves of its hash.

use std::cmp::Ordering;

use orrery_json::{Object, Value};
use orrery_sql::ast::Direction;

use crate::distinct_hash::DistinctHash;
use crate::sort_key::{OrderColumn, OrderKey, SortKey, Tie};

#[derive(Debug, Clone)]
pub(crate) struct ResumeFilter {
    keys: Vec<OrderKey>,
    /// Where to begin among the rows that are equal to the keys.
    rid: Option<u64>,
    /// Whether to begin behind that place instead of at it.
    exclude: bool,
}

impl ResumeFilter {
    /// None when the values do not fit the columns.
    pub(crate) fn new(
        columns: &[OrderColumn],
        values: &[Value],
        rid: Option<u64>,
        exclude: bool,
    ) -> Option<ResumeFilter> {
        if columns.is_empty() || columns.len() != values.len() {
            return None;
        }
        let keys = columns
            .iter()
            .zip(values)
            .map(|(column, value)| key(value, column.direction))
            .collect::<Option<_>>()?;
        Some(ResumeFilter { keys, rid, exclude })
    }

    /// The key of the first column.
    pub(crate) fn first(&self) -> Option<&OrderKey> {
        self.keys.first()
    }

    pub(crate) fn admits(&self, row: &SortKey) -> bool {
        let order = row
            .keys
            .cmp(&self.keys)
            .then_with(|| match (self.rid, row.tie) {
                (Some(rid), Tie::Row { row: number, .. }) => {
                    row.compare_tie(Tie::Row { rid, row: number })
                }
                _ => Ordering::Equal,
            });
        match order {
            Ordering::Less => false,
            Ordering::Equal => !self.exclude,
            Ordering::Greater => true,
        }
    }
}

fn key(value: &Value, direction: Direction) -> Option<OrderKey> {
    let (value, hash) = match value {
        Value::Array(elements) if elements.is_empty() => {
            (Value::Undefined, DistinctHash::default())
        }
        Value::Object(_) => {
            let stands_for = match value.get("type").as_str()? {
                "array" => Value::Array(Vec::new()),
                "object" => Value::Object(Object::default()),
                _ => return None,
            };
            let half = |name| Some(value.get(name).as_number()?.as_i64()?.cast_unsigned());
            let hash = DistinctHash {
                low: half("low")?,
                high: half("high")?,
            };
            (stands_for, hash)
        }
        Value::Array(_) | Value::Undefined => return None,
        primitive => (primitive.clone(), DistinctHash::default()),
    };
    Some(OrderKey {
        value,
        hash,
        direction,
    })
}
