//! Version 1 of the key hash: 32 bits over shortened values, followed by the values themselves.

use std::borrow::Cow;

use crate::Component;
use crate::murmur::murmur3_32;
use crate::sortable::{marker, write_epk_number};

/// Of a longer string only this much is looked at, in UTF-16 units as clients count.
const STRING_UNITS_MAX: usize = 100;

/// An encoded string of up to this many bytes has an end mark; a longer one is cut a byte later.
const MARKED_BYTES_MAX: usize = 100;

/// Ends a string in the hash input and in the encoded key.
const STRING_END: u8 = 0x00;

/// The part of a string that counts: keys that agree in it are the same key.
///
/// A surrogate pair across the limit leaves its first half, which UTF-8 can only write as the
/// replacement character.
pub(crate) fn significant(text: &str) -> Cow<'_, str> {
    if text.len() <= STRING_UNITS_MAX {
        return Cow::Borrowed(text);
    }
    let mut units = 0;
    for (index, character) in text.char_indices() {
        if units == STRING_UNITS_MAX {
            return Cow::Borrowed(&text[..index]);
        }
        units += character.len_utf16();
        if units > STRING_UNITS_MAX {
            return Cow::Owned(format!("{}\u{FFFD}", &text[..index]));
        }
    }
    Cow::Borrowed(text)
}

/// Appends the effective partition key. Uses the end of `out` as scratch space.
pub(crate) fn write_epk(components: &[Component], out: &mut Vec<u8>) {
    if components.is_empty() {
        return;
    }
    let start = out.len();
    for component in components {
        write_input(component, out);
    }
    let hash = murmur3_32(&out[start..]);
    out.truncate(start);
    write_epk_number(f64::from(hash), out);
    for component in components {
        write_sortable(component, out);
    }
}

fn write_input(component: &Component, out: &mut Vec<u8>) {
    match component {
        Component::Undefined | Component::Null | Component::Bool(_) => out.push(marker(component)),
        Component::Number(number) => {
            out.push(marker(component));
            out.extend_from_slice(&number.to_le_bytes());
        }
        Component::String(text) => {
            out.push(marker(component));
            out.extend_from_slice(significant(text).as_bytes());
            out.push(STRING_END);
        }
    }
}

fn write_sortable(component: &Component, out: &mut Vec<u8>) {
    match component {
        Component::Undefined | Component::Null | Component::Bool(_) => out.push(marker(component)),
        Component::Number(number) => write_epk_number(*number, out),
        Component::String(text) => {
            out.push(marker(component));
            let text = significant(text);
            let bytes = text.as_bytes();
            let cut = &bytes[..bytes.len().min(MARKED_BYTES_MAX + 1)];
            out.extend(cut.iter().map(|byte| byte.wrapping_add(1)));
            if bytes.len() <= MARKED_BYTES_MAX {
                out.push(STRING_END);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_units_count() {
        for (text, expected) in [
            ("a".repeat(100), "a".repeat(100)),
            ("a".repeat(101), "a".repeat(100)),
            ("é".repeat(100), "é".repeat(100)),
            ("é".repeat(101), "é".repeat(100)),
            ("😀".repeat(51), "😀".repeat(50)),
            (
                format!("a{}", "😀".repeat(50)),
                format!("a{}\u{FFFD}", "😀".repeat(49)),
            ),
        ] {
            assert_eq!(significant(&text), expected);
        }
    }
}
