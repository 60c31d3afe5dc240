//! Encodes values as bytes of index entries.

use orrery_json::Value;
use orrery_keys::sortable_number;
use orrery_model::SortOrder;

use super::{
    ARRAY, CELL, END_CUT, END_WHOLE, FALSE, INTEGERS_EXACT_END, NULL, NUMBER, OBJECT, STRING,
    STRING_BYTES_MAX, TRUE, UNDEFINED, ZERO,
};

/// Appends the encoding of a value.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => out.push(UNDEFINED),
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => write_number(number.as_f64(), out),
        Value::String(text) => write_string(text, out),
        Value::Array(_) => out.push(ARRAY),
        Value::Object(_) => out.push(OBJECT),
    }
}

/// Appends the encoding of one part of a composite index.
pub fn encode_ordered(value: &Value, order: SortOrder, out: &mut Vec<u8>) {
    let start = out.len();
    encode(value, out);
    match order {
        SortOrder::Ascending => {}
        SortOrder::Descending => out[start..].iter_mut().for_each(|byte| *byte = !*byte),
    }
}

/// Whether the encoding distinguishes this value from all other values.
pub(crate) fn is_exact(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.as_f64().abs() < INTEGERS_EXACT_END,
        Value::String(text) => text.len() <= STRING_BYTES_MAX,
        Value::Array(_) | Value::Object(_) => false,
    }
}

pub(crate) fn write_cell(cell: u64, out: &mut Vec<u8>) {
    out.push(CELL);
    out.extend_from_slice(&cell.to_be_bytes());
}

pub(super) fn write_number(number: f64, out: &mut Vec<u8>) {
    // NaN sorts before all other numbers. Documents never contain NaN, but query bounds may.
    let bits = if number.is_nan() {
        0
    } else {
        sortable_number(number)
    };
    let mut bytes = [NUMBER; 9];
    bytes[1..].copy_from_slice(&bits.to_be_bytes());
    out.extend_from_slice(&bytes);
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(STRING);
    let (text, end) = if text.len() <= STRING_BYTES_MAX {
        (text, END_WHOLE)
    } else {
        (cut(text), END_CUT)
    };
    write_text(text, out);
    out.extend_from_slice(&[0, end]);
}

/// The prefix of a text that an index entry stores.
pub(super) fn cut(text: &str) -> &str {
    let is_end = |end: &usize| text.is_char_boundary(*end);
    let end = (0..=STRING_BYTES_MAX.min(text.len())).rev().find(is_end);
    &text[..end.unwrap_or_default()]
}

/// Appends the content of a string, between its marker and its terminator.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    let is_plain = |byte: u8| byte != 0 && byte < 0xEE;
    let bytes = text.as_bytes();
    if bytes.iter().fold(true, |all, byte| all & is_plain(*byte)) {
        out.extend_from_slice(bytes);
        return;
    }
    for byte in bytes {
        match byte {
            0x00 => out.extend_from_slice(&[0, ZERO]),
            0xEE => out.push(0xFD),
            0xEF => out.push(0xFE),
            byte => out.push(*byte),
        }
    }
}
