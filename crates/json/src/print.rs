//! The JSON writer: no white space, shortest numbers, escapes only where JSON requires them.

use crate::{Number, Value};

/// Appends the JSON text of `value`. `Undefined` at the top writes nothing.
pub fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => {}
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(*number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(array) => {
            out.push(b'[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(element, out);
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
                write_value(property, out);
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
