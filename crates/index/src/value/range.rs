//! Converts ranges of values to ranges of encoded bytes.
//!
//! A byte range contains every value of its value range. It may contain further values where
//! strings are truncated or integers exceed the precision of doubles. A truncated string sorts
//! directly at its stored prefix, before every continuation of that prefix, whatever its own tail.
//! So a bound is widened only if it is long enough to be the prefix of a truncated string.

use std::ops::Bound;

use orrery_exec::{ValueRange, ValueType};
use orrery_json::Value;

use super::encode::{cut, encode, is_exact, write_text};
use super::{
    ARRAY, END_CUT, FALSE, NULL, NUMBER, OBJECT, STRING, STRING_BYTES_CUT_MIN, STRING_BYTES_MAX,
    TRUE,
};

/// Sorts after every byte that can follow within a string.
const STRING_ABOVE: u8 = 0xFF;

/// Encoded values from `from` up to but without `to`, with any bytes after the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteRange {
    pub from: Vec<u8>,
    /// At or below `from` when the range is empty.
    pub to: Vec<u8>,
    /// Whether all values in the range have the same encoding, `from`.
    pub is_point: bool,
    /// Whether the byte range contains no value outside the value range.
    pub is_exact: bool,
}

impl ByteRange {
    /// The byte range of the same values in a descending part of a composite index.
    #[must_use]
    pub fn reversed(self) -> ByteRange {
        let invert = |bytes: &[u8]| bytes.iter().map(|byte| !byte).collect::<Vec<u8>>();
        // A descending range swaps its bounds, and inversion turns the excluded bound into an
        // included one. For a point, `from` must stay the exact encoding.
        let from = if self.is_point {
            invert(&self.from)
        } else {
            successor(&invert(&self.to))
        };
        ByteRange {
            from,
            to: successor(&invert(&self.from)),
            ..self
        }
    }

    fn point(value: &Value) -> ByteRange {
        let mut from = Vec::new();
        encode(value, &mut from);
        ByteRange {
            to: successor(&from),
            from,
            is_point: true,
            is_exact: is_exact(value),
        }
    }

    fn exact(from: Vec<u8>, to: Vec<u8>) -> ByteRange {
        ByteRange {
            from,
            to,
            is_point: false,
            is_exact: true,
        }
    }
}

/// The byte range of all values in a value range.
pub fn byte_range(range: &ValueRange) -> ByteRange {
    match range {
        ValueRange::Equal(value) => ByteRange::point(value),
        ValueRange::Between { low, high } => between(low, high),
        ValueRange::Prefix(text) => prefix(text),
        ValueRange::OfType(value_type) => of_type(*value_type),
        ValueRange::Defined => defined(),
    }
}

/// The first byte string of a type's values.
pub fn type_start(value_type: ValueType) -> Vec<u8> {
    vec![markers(value_type).0]
}

/// The first byte string after a type's values.
pub fn type_end(value_type: ValueType) -> Vec<u8> {
    vec![markers(value_type).1 + 1]
}

/// The least byte string above all strings with the prefix `bytes`.
///
/// When `bytes` is empty or consists of `FF` only. No encoded value does.
pub fn successor(bytes: &[u8]) -> Vec<u8> {
    let last = bytes
        .iter()
        .rposition(|byte| *byte != 0xFF)
        .expect("the first byte of a value is below FF");
    let mut above = bytes[..=last].to_vec();
    above[last] += 1;
    above
}

/// The first and the last marker of a type.
fn markers(value_type: ValueType) -> (u8, u8) {
    match value_type {
        ValueType::Null => (NULL, NULL),
        ValueType::Bool => (FALSE, TRUE),
        ValueType::Number => (NUMBER, NUMBER),
        ValueType::String => (STRING, STRING),
        ValueType::Array => (ARRAY, ARRAY),
        ValueType::Object => (OBJECT, OBJECT),
    }
}

fn of_type(value_type: ValueType) -> ByteRange {
    let (first, last) = markers(value_type);
    ByteRange {
        // The encoding of these types is the marker alone, so all their values have equal bytes.
        is_point: matches!(
            value_type,
            ValueType::Null | ValueType::Array | ValueType::Object
        ),
        ..ByteRange::exact(vec![first], vec![last + 1])
    }
}

fn defined() -> ByteRange {
    ByteRange::exact(vec![NULL], vec![OBJECT + 1])
}

fn between(low: &Bound<Value>, high: &Bound<Value>) -> ByteRange {
    let type_of = |bound: &Bound<Value>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => Some(value_type(value)),
        Bound::Unbounded => None,
    };
    let value_type = match (type_of(low), type_of(high)) {
        (Some(Some(low)), Some(Some(high))) if low == high => low,
        (Some(Some(one)), None) | (None, Some(Some(one))) => one,
        _ => {
            return ByteRange {
                is_exact: false,
                ..defined()
            };
        }
    };
    let (from, is_low_exact) = lower(low, value_type);
    let (to, is_high_exact) = upper(high, value_type);
    ByteRange {
        from,
        to,
        is_point: false,
        is_exact: is_low_exact && is_high_exact,
    }
}

fn value_type(value: &Value) -> Option<ValueType> {
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

fn lower(bound: &Bound<Value>, value_type: ValueType) -> (Vec<u8>, bool) {
    match bound {
        Bound::Unbounded => (type_start(value_type), true),
        Bound::Included(Value::String(text)) | Bound::Excluded(Value::String(text))
            if text.len() > STRING_BYTES_CUT_MIN =>
        {
            (lowest_cut(text), false)
        }
        Bound::Included(value) => (bytes(value), is_exact(value)),
        Bound::Excluded(value) if is_exact(value) => (successor(&bytes(value)), true),
        Bound::Excluded(value) => (bytes(value), false),
    }
}

fn upper(bound: &Bound<Value>, value_type: ValueType) -> (Vec<u8>, bool) {
    match bound {
        Bound::Unbounded => (type_end(value_type), true),
        Bound::Included(Value::String(text)) | Bound::Excluded(Value::String(text))
            if text.len() > STRING_BYTES_MAX =>
        {
            (above_prefix(cut(text)), false)
        }
        Bound::Excluded(value @ Value::String(text)) => {
            (bytes(value), text.len() <= STRING_BYTES_CUT_MIN)
        }
        Bound::Included(value @ Value::String(text)) => {
            (successor(&bytes(value)), text.len() <= STRING_BYTES_CUT_MIN)
        }
        // No comparison with NaN is true in a query. The bound keeps the type, so that the range is
        // a superset.
        Bound::Included(Value::Number(number)) | Bound::Excluded(Value::Number(number))
            if number.as_f64().is_nan() =>
        {
            (type_end(value_type), false)
        }
        Bound::Excluded(value) if is_exact(value) => (bytes(value), true),
        Bound::Included(value) | Bound::Excluded(value) => {
            (successor(&bytes(value)), is_exact(value))
        }
    }
}

fn prefix(text: &str) -> ByteRange {
    let is_exact = text.len() <= STRING_BYTES_CUT_MIN;
    let from = if is_exact {
        let mut from = vec![STRING];
        write_text(text, &mut from);
        from
    } else {
        lowest_cut(text)
    };
    let text = if text.len() > STRING_BYTES_MAX {
        cut(text)
    } else {
        text
    };
    ByteRange {
        is_exact,
        ..ByteRange::exact(from, above_prefix(text))
    }
}

fn bytes(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(value, &mut bytes);
    bytes
}

/// The encoding of the shortest truncated string that may continue like this text. The text is at
/// least `STRING_BYTES_CUT_MIN` bytes long.
fn lowest_cut(text: &str) -> Vec<u8> {
    let is_end = |end: &usize| text.is_char_boundary(*end);
    let end = (STRING_BYTES_CUT_MIN..text.len()).find(is_end);
    let mut from = vec![STRING];
    write_text(&text[..end.unwrap_or(text.len())], &mut from);
    if end.is_some() {
        from.extend_from_slice(&[0, END_CUT]);
    }
    from
}

/// A bound above all strings that begin with this text.
fn above_prefix(text: &str) -> Vec<u8> {
    let mut to = vec![STRING];
    write_text(text, &mut to);
    to.push(STRING_ABOVE);
    to
}
