//! Percent-encoding of names in paths, and decoding of values in answers.

use std::fmt::Write;

/// The path of a link. Names are encoded, and the slashes between them stay.
pub(crate) fn path(link: &str) -> String {
    let mut out = String::from("/");
    for byte in link.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The bytes of a percent-encoded text. None for an invalid escape.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_back() {
        for (link, expected) in [
            ("dbs/a-b", "/dbs/a-b"),
            ("dbs/a b/colls/é%", "/dbs/a%20b/colls/%C3%A9%25"),
        ] {
            assert_eq!(path(link), expected);
            assert_eq!(decoded(&expected[1..]).unwrap(), link.as_bytes());
        }
        for broken in ["%", "%4", "%zz"] {
            assert_eq!(decoded(broken), None);
        }
    }
}
