//! Ranges of values as ranges of bytes.
//!
//! A range of bytes has every value of its range of values, and may have others when strings that
//! are cut or integers beyond the doubles are in play. A cut string stands where its beginning
//! does: before the continuations of that beginning, whatever its own tail. So only bounds so long
//! that a cut string can begin like them are widened.

use std::ops::Bound;

use orrery_exec::{ValueRange, ValueType};
use orrery_json::Value;

use super::encode::{cut, encode, is_exact, write_text};
use super::{
    ARRAY, END_CUT, FALSE, NULL, NUMBER, OBJECT, STRING, STRING_BYTES_CUT_MIN, STRING_BYTES_MAX,
    TRUE,
};

/// Above all that can follow within a string.
const STRING_ABOVE: u8 = 0xFF;

/// Values from `from` up to but without `to`, with whatever follows a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteRange {
    pub from: Vec<u8>,
    /// Not above `from` when there is no such value.
    pub to: Vec<u8>,
    /// Whether all values in it have the same bytes, `from`.
    pub is_point: bool,
    /// Whether all values in it are of the range of values.
    pub is_exact: bool,
}

impl ByteRange {
    /// The same values in a descending part of a composite index.
    #[must_use]
    pub fn reversed(self) -> ByteRange {
        let invert = |bytes: &[u8]| bytes.iter().map(|byte| !byte).collect::<Vec<u8>>();
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

/// The bytes of all values of a range.
pub fn byte_range(range: &ValueRange) -> ByteRange {
    match range {
        ValueRange::Equal(value) => ByteRange::point(value),
        ValueRange::Between { low, high } => between(low, high),
        ValueRange::Prefix(text) => prefix(text),
        ValueRange::OfType(value_type) => of_type(*value_type),
        ValueRange::Defined => defined(),
    }
}

/// Where the values of a type begin.
pub fn type_start(value_type: ValueType) -> Vec<u8> {
    vec![markers(value_type).0]
}

/// Before this the values of a type end.
pub fn type_end(value_type: ValueType) -> Vec<u8> {
    vec![markers(value_type).1 + 1]
}

/// Above all bytes that begin with these, and not above any other.
///
/// # Panics
/// When no byte is below `FF`, as for no bytes. No value is like that.
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
        // Nothing follows these markers, so that all their values have the same bytes.
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
        // No comparison with NaN holds; the type is at least not less than that.
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

/// Where the first cut string stands that may go on like this text, which is long enough for it.
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

/// Above all strings that begin with this text.
fn above_prefix(text: &str) -> Vec<u8> {
    let mut to = vec![STRING];
    write_text(text, &mut to);
    to.push(STRING_ABOVE);
    to
}
