//! `<`, `<=`, `>`, `>=` between two values of the same primitive type.

use std::cmp::Ordering;

use orrery_json::{Value, compare};
use orrery_sql::ast::BinaryOp;

/// Whether `left op right` holds; `None` when the values have no order.
pub(super) fn order(op: BinaryOp, left: &Value, right: &Value) -> Option<bool> {
    let ordering = match (left, right) {
        (Value::Number(a), Value::Number(b)) if a.as_f64().is_nan() || b.as_f64().is_nan() => {
            return Some(false);
        }
        (Value::Null, Value::Null)
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::String(_), Value::String(_)) => compare(left, right),
        _ => return None,
    };
    match op {
        BinaryOp::Less => Some(ordering == Ordering::Less),
        BinaryOp::LessOrEqual => Some(ordering != Ordering::Greater),
        BinaryOp::Greater => Some(ordering == Ordering::Greater),
        BinaryOp::GreaterOrEqual => Some(ordering != Ordering::Less),
        _ => None,
    }
}
