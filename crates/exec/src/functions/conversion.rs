//! Converts values to text, and JSON text to a value of the requested type.

use orrery_json::{Value, allocated_bytes_max, parse, write_long_value};

use crate::text_bytes::text_bytes;

use super::{Argument, Arity, Evaluate, Function};

pub(super) const FUNCTIONS: &[Function] = &[
    unary("TOSTRING", to_string).with_memory_bound(text),
    unary("TO_STRING", to_string).with_memory_bound(text),
    unary("STRINGTOARRAY", string_to_array).with_memory_bound(parts),
    unary("STRING_TO_ARRAY", string_to_array).with_memory_bound(parts),
    unary("STRINGTOBOOLEAN", string_to_boolean).with_memory_bound(parts),
    unary("STRING_TO_BOOLEAN", string_to_boolean).with_memory_bound(parts),
    unary("STRINGTONULL", string_to_null).with_memory_bound(parts),
    unary("STRING_TO_NULL", string_to_null).with_memory_bound(parts),
    unary("STRINGTONUMBER", string_to_number).with_memory_bound(parts),
    unary("STRING_TO_NUMBER", string_to_number).with_memory_bound(parts),
    unary("STRINGTOOBJECT", string_to_object).with_memory_bound(parts),
    unary("STRING_TO_OBJECT", string_to_object).with_memory_bound(parts),
];

const fn unary(name: &'static str, evaluate: Evaluate) -> Function {
    Function::new(name, Arity::Exactly(1), evaluate)
}

/// Upper bound of the text of a value: an escaped character takes up to six bytes.
fn text(arguments: &[Argument<'_>]) -> usize {
    let values = arguments.iter();
    values.map(|value| 6 * text_bytes(value)).sum()
}

/// Upper bound of the value that a JSON text describes.
fn parts(arguments: &[Argument<'_>]) -> usize {
    let texts = arguments.iter().filter_map(|text| text.as_str());
    texts.map(|text| allocated_bytes_max(text.as_bytes())).sum()
}

/// The text of a value. Numbers that are not finite have names, because JSON has no text for them.
fn to_string(arguments: &[Argument<'_>]) -> Option<Value> {
    Some(match arguments.first()?.as_ref() {
        // A string converts to itself, without quotation marks.
        Value::String(text) => Value::from(text.as_str()),
        Value::Number(number) if !number.is_finite() => {
            let value = number.as_f64();
            Value::from(match (value.is_nan(), value > 0.0) {
                (true, _) => "NaN",
                (false, true) => "Infinity",
                (false, false) => "-Infinity",
            })
        }
        value => {
            let mut text = Vec::new();
            write_long_value(value, &mut text);
            Value::String(String::from_utf8_lossy(&text).into_owned())
        }
    })
}

/// Parses JSON text and returns the value only if it has the requested type.
fn parsed(arguments: &[Argument<'_>], accept: fn(&Value) -> bool) -> Option<Value> {
    let text = arguments.first()?.as_str()?;
    parse(text.trim().as_bytes()).ok().filter(accept)
}

fn string_to_array(arguments: &[Argument<'_>]) -> Option<Value> {
    parsed(arguments, |value| matches!(value, Value::Array(_)))
}

fn string_to_boolean(arguments: &[Argument<'_>]) -> Option<Value> {
    parsed(arguments, |value| matches!(value, Value::Bool(_)))
}

fn string_to_null(arguments: &[Argument<'_>]) -> Option<Value> {
    parsed(arguments, |value| matches!(value, Value::Null))
}

fn string_to_number(arguments: &[Argument<'_>]) -> Option<Value> {
    parsed(arguments, |value| matches!(value, Value::Number(_)))
}

fn string_to_object(arguments: &[Argument<'_>]) -> Option<Value> {
    parsed(arguments, |value| matches!(value, Value::Object(_)))
}
