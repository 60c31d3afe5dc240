//! Percent-encoding of path segments, credentials and header values.

use std::borrow::Cow;

/// Decodes `%XX` exactly once; `+` stays a plus. `None` for an invalid escape, and for bytes that
/// are not UTF-8.
pub fn decode(text: &str) -> Option<Cow<'_, str>> {
    // Most segments have no escape and are borrowed.
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    for byte in decoded_bytes(text) {
        bytes.push(byte?);
    }
    // Checked after decoding: an escape may be a part of a character.
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The decoded bytes of `text`, without an allocation. An item is `None` for an invalid escape.
pub(crate) fn decoded_bytes(text: &str) -> impl Iterator<Item = Option<u8>> + '_ {
    let mut rest = text.bytes();
    std::iter::from_fn(move || match rest.next()? {
        b'%' => Some(
            rest.next()
                .zip(rest.next())
                .and_then(|(high, low)| Some(hex_digit(high)? << 4 | hex_digit(low)?)),
        ),
        byte => Some(Some(byte)),
    })
}

/// A name as a header value. Only `%`, control and non-ASCII bytes are escaped, because SDKs
/// compare the rest as raw text with their own link.
pub(crate) fn encode_for_header(text: &str) -> Cow<'_, str> {
    let carried = |byte: u8| (0x20..0x7F).contains(&byte) && byte != b'%';
    if text.bytes().all(carried) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(encode(text, carried))
}

/// Escapes text that SDKs decode like a component of a query string: every byte except letters,
/// digits and the few marks that such functions leave alone, `+` and space included.
pub fn encode_component(text: &str) -> String {
    encode(text, |byte| {
        byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte)
    })
}

fn encode(text: &str, carried: impl Fn(u8) -> bool) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if carried(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 0x0F)]));
        }
    }
    out
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_is_done_once() {
        for (text, expected) in [
            ("abc", Some("abc")),
            ("a+b", Some("a+b")),
            ("a%20b", Some("a b")),
            ("%2520", Some("%20")),
            ("%e9%B1%80", Some("鱀")),
            ("%2F", Some("/")),
            ("%", None),
            ("%2", None),
            ("%zz", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn headers_carry_what_they_can() {
        for (text, expected) in [
            ("dbs/a b/colls/c", "dbs/a b/colls/c"),
            ("é%", "%C3%A9%25"),
            ("a\tb", "a%09b"),
        ] {
            assert_eq!(encode_for_header(text), expected);
        }
    }

    #[test]
    fn components_come_back_whole() {
        for (text, expected) in [
            ("a-b_c.(d)", "a-b_c.(d)"),
            ("{\"a\": 1+2}", "%7B%22a%22%3A%201%2B2%7D"),
            ("é%", "%C3%A9%25"),
        ] {
            assert_eq!(encode_component(text), expected);
            assert_eq!(decode(expected).as_deref(), Some(text));
        }
    }
}
