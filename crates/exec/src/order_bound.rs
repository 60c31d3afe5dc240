//! Documents that come in the order of their rows: where to begin, and when to stop.
//!
//! The keys of an index hold less than the values: a long string is cut, an integer beyond 53 bits
//! becomes a double, of an array only the type is there. What is compared here is what stays true
//! of the values.

use std::cmp::Ordering;

use orrery_json::{Value, compare};
use orrery_sql::ast::Direction;

use crate::sort_key::{OrderKey, SortKey};

/// From here on several integers are one double.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// What is known of the next document, and so of all behind it, in the leading columns of an
/// order.
///
/// A value is exact only if no document behind it can come before it in the order of values. Where
/// an index cuts strings at different lengths, one that is long enough to stand beside a cut one
/// has to be given as cut, too.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderBound {
    /// Arrays and objects stand for any of their type.
    pub values: Vec<Value>,
    /// Whether the last value is a string that may be only the beginning of the real one. Integers of
    /// more than 53 bits may be rounded to doubles without saying so.
    pub is_cut_last: bool,
}

/// Where the rows of a page begin in the first column of the order: at this value, or behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderKeyHint {
    /// Arrays and objects stand for any of their type.
    pub value: Value,
    /// Whether the place is somewhere among the strings that begin with the value. Going down, a
    /// walk has to begin behind all of them.
    pub is_cut: bool,
}

impl OrderBound {
    /// Whether every document from here on comes behind `row` for certain.
    pub(crate) fn is_behind(&self, row: &SortKey) -> bool {
        let last = self.values.len().saturating_sub(1);
        for (index, (value, key)) in self.values.iter().zip(&row.keys).enumerate() {
            let is_cut = self.is_cut_last && index == last;
            match certain(value, is_cut, key) {
                Some(Ordering::Equal) => {}
                order => return order == Some(Ordering::Greater),
            }
        }
        false
    }
}

/// How all values that `value` may stand for compare with `key`, in the direction of its column;
/// none when they differ in that.
fn certain(value: &Value, is_cut: bool, key: &OrderKey) -> Option<Ordering> {
    let order = match (value, &key.value) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => None,
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64(), b.as_f64());
            let is_exact = a.abs() < EXACT_MAX && !is_cut;
            a.partial_cmp(&b).filter(|order| is_exact || order.is_ne())
        }
        (Value::String(text), Value::String(other)) if is_cut => {
            let is_among = other.starts_with(text.as_str());
            (!is_among).then(|| compare(value, &key.value))
        }
        (value, other) => Some(compare(value, other)),
    }?;
    Some(match key.direction {
        Direction::Ascending => order,
        Direction::Descending => order.reverse(),
    })
}
