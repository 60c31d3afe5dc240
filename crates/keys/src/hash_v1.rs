//! Version 1 of the key hash: 32 bits over shortened values, followed by the values themselves.

use std::borrow::Cow;

use crate::KeyComponent;
use crate::murmur::murmur3_32;
use crate::sortable::{marker, write_epk_number};

/// Maximum significant length of a string, in UTF-16 units because clients count in these.
const STRING_UNITS_MAX: usize = 100;

/// An encoded string of up to this many bytes ends with `STRING_END`; a longer string is truncated
/// one byte later and has no end byte.
const MARKED_BYTES_MAX: usize = 100;

/// Ends a string in the hash input and in the encoded key.
const STRING_END: u8 = 0x00;

/// The significant part of a string: strings with equal significant parts are the same key.
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

/// Whether no other string has the same significant part.
pub(crate) fn is_fully_hashed(text: &str) -> bool {
    text.encode_utf16().take(STRING_UNITS_MAX).count() < STRING_UNITS_MAX
}

/// Appends the effective partition key. The end of `out` is scratch space for the hash input.
pub(crate) fn write_epk(components: &[KeyComponent], out: &mut Vec<u8>) {
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

fn write_input(component: &KeyComponent, out: &mut Vec<u8>) {
    match component {
        KeyComponent::Undefined | KeyComponent::Null | KeyComponent::Bool(_) => {
            out.push(marker(component));
        }
        KeyComponent::Number(number) => {
            out.push(marker(component));
            out.extend_from_slice(&number.to_le_bytes());
        }
        KeyComponent::String(text) => {
            out.push(marker(component));
            out.extend_from_slice(significant(text).as_bytes());
            out.push(STRING_END);
        }
    }
}

fn write_sortable(component: &KeyComponent, out: &mut Vec<u8>) {
    match component {
        KeyComponent::Undefined | KeyComponent::Null | KeyComponent::Bool(_) => {
            out.push(marker(component));
        }
        KeyComponent::Number(number) => write_epk_number(*number, out),
        KeyComponent::String(text) => {
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
    fn strings_count_up_to_100_utf16_units() {
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
