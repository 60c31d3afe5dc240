//! The `resumeFilter` of a request: an ordered result that starts at given values.
//!
//! Clients that merge partitions send it to resume. A scalar is sent as itself, undefined as `[]`,
//! and an array or object as the two halves of its hash.

use std::cmp::Ordering;

use orrery_json::{Object, Value};
use orrery_sql::ast::SortDirection;

use crate::distinct_hash::DistinctHash;
use crate::sort_key::{OrderColumn, OrderKey, SortKey, Tie};

/// The start of a resumed result.
#[derive(Debug, Clone)]
pub(crate) struct ResumeFilter {
    keys: Vec<OrderKey>,
    /// The document at which to start among rows with equal keys.
    rid: Option<u64>,
    /// Whether the result starts behind the given row instead of at the row.
    exclude: bool,
}

impl ResumeFilter {
    /// Builds the filter; `None` when the values do not fit the columns.
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

    pub(crate) fn keys(&self) -> &[OrderKey] {
        &self.keys
    }

    /// The key of the first column.
    pub(crate) fn first(&self) -> Option<&OrderKey> {
        self.keys.first()
    }

    /// Whether a row lies at or behind the start. Without a resource id, all rows with equal keys
    /// are treated alike.
    pub(crate) fn admits(&self, row: &SortKey) -> bool {
        let order = row
            .keys
            .cmp(&self.keys)
            .then_with(|| match (self.rid, row.tie) {
                (Some(rid), Tie::Row { row: number, .. }) => {
                    // The row number within the document must not decide, so the start takes that
                    // of the row.
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

/// Decodes the value of one column; `None` for a value that no client sends.
fn key(value: &Value, direction: SortDirection) -> Option<OrderKey> {
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
