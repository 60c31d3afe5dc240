//! Bounds of documents that arrive in row order: where a walk begins, and when it stops.
//!
//! Index keys hold less than the values: a long string is cut, an integer beyond 53 bits becomes a
//! double, and an array is only its type. The comparisons here use only what is certain about the
//! values.

use std::cmp::Ordering;

use orrery_json::{Value, compare};
use orrery_sql::ast::SortDirection;

use crate::position::{CutPosition, extends_prefix};
use crate::sort_key::{OrderKey, SortKey};

/// At this size and above, several integers share one double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// What is known about the next document and all later ones, in the leading columns of an order.
///
/// A value is exact only if no later document can precede it in value order. If an index cuts
/// strings at different lengths, a string that is long enough to stand beside a cut one must be
/// passed as cut too.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderBound {
    /// An array or object stands for any value of its type.
    pub values: Vec<Value>,
    /// Whether the last value may be only the beginning of a string. Integers of more than 53 bits
    /// may be rounded to doubles without this mark.
    pub is_cut_last: bool,
}

/// The first value of a page's rows in the first column of the order.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderKeyHint {
    /// An array or object stands for any value of its type.
    pub value: Value,
    /// Whether the start lies among the strings that begin with this value. A descending walk must
    /// begin behind all of them.
    pub is_cut: bool,
}

impl OrderBound {
    /// Whether every document from here on certainly comes behind `row`.
    pub(crate) fn is_behind(&self, row: &SortKey) -> bool {
        let last = self.values.len().saturating_sub(1);
        for (index, (value, key)) in self.values.iter().zip(&row.keys).enumerate() {
            let is_cut = self.is_cut_last && index == last;
            match certain_order(value, is_cut, key) {
                Some(Ordering::Equal) => {}
                order => return order == Some(Ordering::Greater),
            }
        }
        false
    }

    /// Whether every document from here on follows all rows that begin like `cut`.
    pub(crate) fn is_behind_all(&self, cut: &CutPosition) -> bool {
        let last = self.values.len().saturating_sub(1);
        for (index, (value, key)) in self.values.iter().zip(&cut.keys).enumerate() {
            let is_cut = self.is_cut_last && index == last;
            let begins_alike = index + 1 == cut.keys.len()
                && (extends_prefix(value, &key.value)
                    || is_cut && extends_prefix(&key.value, value));
            // Strings with the same beginning may still belong in front of the cut position.
            if begins_alike {
                return false;
            }
            match certain_order(value, is_cut, key) {
                Some(Ordering::Equal) => {}
                order => return order == Some(Ordering::Greater),
            }
        }
        false
    }
}

/// The order of all values that `value` may stand for against `key`, in the column's direction;
/// `None` when these values compare differently.
fn certain_order(value: &Value, is_cut: bool, key: &OrderKey) -> Option<Ordering> {
    let order = match (value, &key.value) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => None,
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64(), b.as_f64());
            let is_exact = a.abs() < EXACT_MAX && !is_cut;
            a.partial_cmp(&b).filter(|order| is_exact || order.is_ne())
        }
        (Value::String(text), Value::String(other)) if is_cut => {
            // A cut string stands for all its extensions, and some of them may follow `other`.
            let is_among = other.starts_with(text.as_str());
            (!is_among).then(|| compare(value, &key.value))
        }
        (value, other) => Some(compare(value, other)),
    }?;
    Some(match key.direction {
        SortDirection::Ascending => order,
        SortDirection::Descending => order.reverse(),
    })
}
