//! Estimates the length of a value's JSON text for limits; escapes are not counted.

use orrery_json::{Number, Value};

/// Typical text length of a floating-point number.
const FLOAT_TEXT_BYTES: usize = 17;

pub(crate) fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Undefined => 0,
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(Number::Int(number)) => {
            usize::from(*number < 0)
                + number
                    .unsigned_abs()
                    .checked_ilog10()
                    .map_or(1, |digits| digits as usize + 1)
        }
        Value::Number(Number::Float(_)) => FLOAT_TEXT_BYTES,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => {
            2 + elements
                .iter()
                .map(|element| text_bytes(element) + 1)
                .sum::<usize>()
        }
        Value::Object(properties) => {
            2 + properties
                .iter()
                .map(|(name, value)| name.len() + 4 + text_bytes(value))
                .sum::<usize>()
        }
    }
}
