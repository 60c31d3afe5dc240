//! The JSON writer: no white space, shortest numbers, escapes only where JSON requires them.

use crate::{Number, Value};

/// Appends the JSON text of `value`. `Undefined` at the top writes nothing.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    write_with(value, write_number, out);
}

/// Like [`write_value`], with numbers in the form of [`write_long_number`].
pub fn write_long_value(value: &Value, out: &mut Vec<u8>) {
    write_with(value, write_long_number, out);
}

fn write_with(value: &Value, number: fn(Number, &mut Vec<u8>), out: &mut Vec<u8>) {
    match value {
        Value::Undefined => {}
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(value) => number(*value, out),
        Value::String(text) => write_string(text, out),
        Value::Array(array) => {
            out.push(b'[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_with(element, number, out);
            }
            out.push(b']');
        }
        Value::Object(object) => {
            out.push(b'{');
            for (index, (name, property)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                write_with(property, number, out);
            }
            out.push(b'}');
        }
    }
}

/// Like JavaScript, this writer prints doubles from 10^-6 up to below this limit without an
/// exponent.
const PLAIN_MAX: f64 = 1e21;

/// Appends the shortest text that parses to the same number. A number that is not finite becomes
/// `null`.
pub fn write_number(number: Number, out: &mut Vec<u8>) {
    match number {
        Number::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Number::Float(value) if !value.is_finite() => out.extend_from_slice(b"null"),
        Number::Float(value) if value.fract() == 0.0 && value.abs() < PLAIN_MAX => {
            out.extend_from_slice(format!("{value:.0}").as_bytes());
        }
        Number::Float(value) => {
            out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
        }
    }
}

/// Whole numbers below this limit have no exponent in the form of [`write_long_number`].
const LONG_PLAIN_MAX: f64 = 1e17;

/// Appends the text that the query language has for a number: 15 digits if they parse to the same
/// number, else 17, as the service prints numbers into texts. Exponents have a sign and two digits.
/// A number that is not finite becomes `null`.
pub fn write_long_number(number: Number, out: &mut Vec<u8>) {
    let Number::Float(value) = number else {
        return write_number(number, out);
    };
    if !value.is_finite() || value.fract() == 0.0 && value.abs() < LONG_PLAIN_MAX {
        return write_number(number, out);
    }
    let (digits, text) = match format!("{value:.14e}") {
        text if text.parse() == Ok(value) => (15, text),
        _ => (17, format!("{value:.16e}")),
    };
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return write_number(number, out);
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..digits).contains(&exponent) {
        let places = usize::try_from(digits - 1 - exponent).unwrap_or_default();
        out.extend_from_slice(without_zeros(&format!("{value:.places$}")).as_bytes());
        return;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let mantissa = without_zeros(mantissa);
    out.extend_from_slice(format!("{mantissa}e{sign}{:02}", exponent.abs()).as_bytes());
}

/// A decimal fraction without the zeros at its end.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Appends `text` as a JSON string with its quotes.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain_from = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain_from..index]);
        plain_from = index + 1;
        write_escape(byte, out);
    }
    out.extend_from_slice(&bytes[plain_from..]);
    out.push(b'"');
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0C => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 0x0F)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
