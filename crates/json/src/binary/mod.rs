//! Reads the binary JSON that some clients send: a marker byte for each value, little-endian
//! numbers, and arrays and objects that begin with their length.
//!
//! ```text
//! 80                       the first byte of a text, before the value
//! 00..1F                   that integer
//! 20..C6                   strings, in many forms: see `strings.rs`
//! C7 C8 C9 CA CB CC        u64, u8, i16, i32, i64, f64
//! D0 D1 D2                 null, false, true
//! E0 / E8                  empty array / object;  E1 / E9: one element / property
//! E2 E3 E4 / EA EB EC      array / object with its length in 1, 2, 4 bytes
//! E5 E6 E7 / ED EE EF      the same with length and count
//! F0 F1                    numbers of one type, with their count in 1, 2 bytes
//! F2 F3                    arrays of as many numbers each, of one type
//! ```
//!
//! The types of the service that JSON does not have are errors, and so are strings of a dictionary,
//! which a client sends only after the server has announced one. A few bytes can stand for a long
//! text (references, packed strings), so a reader counts the JSON text that the bytes stand for, and
//! stops at a limit.

mod numbers;
mod strings;

use crate::{Object, ParseError, Value};

/// The first byte of binary JSON; no JSON text begins with it.
pub const BINARY_MARK: u8 = 0x80;

/// Why binary JSON has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BinaryError {
    Malformed(ParseError),
    /// The JSON text that the bytes stand for is longer than the limit.
    TooLarge,
}

/// Limits of one binary JSON value.
#[derive(Debug, Clone, Copy)]
pub struct BinaryLimits {
    /// How deeply arrays and objects may nest.
    pub depth_max: usize,
    /// The length of the JSON text that the value stands for, before escapes.
    pub text_bytes_max: usize,
}

/// Reads one binary JSON value.
pub fn parse_binary(bytes: &[u8], limits: BinaryLimits) -> Result<Value, BinaryError> {
    let mut reader = BinaryReader {
        bytes,
        at: 0,
        text_left: limits.text_bytes_max,
    };
    let value = match reader.byte() {
        Some(BINARY_MARK) => reader.value(limits.depth_max),
        _ => malformed("binary JSON begins with the byte 80"),
    };
    let message = match value {
        Ok(value) if reader.at == bytes.len() => return Ok(value),
        Ok(_) => "bytes after the end of the binary JSON value".to_owned(),
        Err(Problem::TooLarge) => return Err(BinaryError::TooLarge),
        Err(Problem::Malformed(message)) => message,
    };
    Err(BinaryError::Malformed(ParseError {
        message,
        line: 1,
        column: reader.at,
    }))
}

struct BinaryReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Bytes of JSON text that the rest may stand for.
    text_left: usize,
}

enum Problem {
    Malformed(String),
    TooLarge,
}

type ReadResult<T> = Result<T, Problem>;

fn malformed<T>(message: impl Into<String>) -> ReadResult<T> {
    Err(Problem::Malformed(message.into()))
}

const CUT: &str = "binary JSON ends in the middle of a value";

impl<'a> BinaryReader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, length: usize) -> ReadResult<&'a [u8]> {
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            return malformed(CUT);
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn marker(&mut self) -> ReadResult<u8> {
        self.byte().map_or_else(|| malformed(CUT), Ok)
    }

    /// Counts JSON text that the bytes read so far stand for.
    fn count_text(&mut self, bytes: usize) -> ReadResult<()> {
        let left = self.text_left.checked_sub(bytes);
        self.text_left = left.ok_or(Problem::TooLarge)?;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        Ok(self
            .take(N)?
            .try_into()
            .expect("as many bytes as asked for"))
    }

    /// A length or count of 1, 2 or 4 bytes.
    fn size(&mut self, width: u8) -> ReadResult<usize> {
        Ok(match width {
            0 => usize::from(u8::from_le_bytes(self.array()?)),
            1 => usize::from(u16::from_le_bytes(self.array()?)),
            _ => u32::from_le_bytes(self.array()?) as usize,
        })
    }

    fn value(&mut self, depth_left: usize) -> ReadResult<Value> {
        let marker = self.marker()?;
        // The shortest value and the comma behind it.
        self.count_text(2)?;
        match marker {
            0x00..=0x1F => Ok(Value::from(i64::from(marker))),
            0x20..=0xC6 => self.string(marker).map(Value::String),
            0xC7..=0xCC => self.number(marker),
            0xD0 => Ok(Value::Null),
            0xD1 => Ok(Value::Bool(false)),
            0xD2 => Ok(Value::Bool(true)),
            0xE0..=0xE7 => self
                .elements(marker - 0xE0, deeper(depth_left)?)
                .map(Value::Array),
            0xE8..=0xEF => self
                .properties(marker - 0xE8, deeper(depth_left)?)
                .map(Value::Object),
            0xF0..=0xF3 => self.uniform(marker, deeper(depth_left)?),
            other => malformed(format!(
                "the binary JSON marker {other:02X} stands for no JSON value"
            )),
        }
    }

    fn elements(&mut self, form: u8, depth_left: usize) -> ReadResult<Vec<Value>> {
        let mut array = Vec::new();
        self.members(form, &mut |reader| {
            array.push(reader.value(depth_left)?);
            Ok(())
        })?;
        Ok(array)
    }

    fn properties(&mut self, form: u8, depth_left: usize) -> ReadResult<Object> {
        let mut object = Object::default();
        self.members(form, &mut |reader| {
            let marker = reader.marker()?;
            let name = reader.string(marker)?;
            object.insert(name, reader.value(depth_left)?);
            Ok(())
        })?;
        Ok(object)
    }

    /// Reads members until the end of the array or object. `form` is the offset of the marker
    /// within the markers of its type, and says how the length is encoded.
    fn members(
        &mut self,
        form: u8,
        member: &mut dyn FnMut(&mut Self) -> ReadResult<()>,
    ) -> ReadResult<()> {
        let length = match form {
            0 => return Ok(()),
            1 => return member(self),
            2..=4 => self.size(form - 2)?,
            _ => {
                // The second number is the member count, which the length makes redundant.
                let length = self.size(form - 5)?;
                self.size(form - 5)?;
                length
            }
        };
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.bytes.len());
        let Some(end) = end else {
            return malformed(CUT);
        };
        while self.at < end {
            member(self)?;
        }
        if self.at == end {
            Ok(())
        } else {
            malformed("an array or object is longer than it says")
        }
    }
}

fn deeper(depth_left: usize) -> ReadResult<usize> {
    match depth_left.checked_sub(1) {
        Some(depth_left) => Ok(depth_left),
        None => malformed("arrays and objects are nested too deeply"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BinaryLimits = BinaryLimits {
        depth_max: 4,
        text_bytes_max: 1_000,
    };

    #[test]
    fn bytes_that_stand_for_too_much_text_are_refused() {
        // One string of 300 characters, and references to it of two bytes each.
        let mut bytes = vec![0x80, 0xE3, 0, 0, 0xC1, 0x2C, 0x01];
        bytes.extend([b'x'; 300]);
        for references in [1, 2, 3, 400] {
            let mut bytes = bytes.clone();
            bytes.extend([0xC3, 4].repeat(references));
            let length = u16::try_from(bytes.len() - 4).unwrap().to_le_bytes();
            bytes[2..4].copy_from_slice(&length);
            let parsed = parse_binary(&bytes, LIMITS);
            assert_eq!(parsed.is_ok(), references < 3, "{references}");
            if references > 2 {
                assert_eq!(parsed, Err(BinaryError::TooLarge));
            }
        }
        // 65,535 empty arrays.
        let empty = parse_binary(b"\x80\xF3\xF1\xD7\x00\x00\xFF\xFF", LIMITS);
        assert_eq!(empty, Err(BinaryError::TooLarge));
    }

    #[test]
    fn damage_is_refused() {
        for bytes in [
            &b"\x80"[..],
            b"{}",
            b"\x80\xC0\x09ab",
            b"\x80\xE2\x09\x01",
            b"\x80\xE2\x01\xC8\x01",
            b"\x80\x01\x02",
            b"\x80\x81\xFF",
            b"\x80\x71\x01\x03ab",
            b"\x80\x7D\x02\x60\xFF\xFF",
            b"\x80\xE1\xE1\xE1\xE1\xE1\x01",
        ] {
            let parsed = parse_binary(bytes, LIMITS);
            assert!(
                matches!(parsed, Err(BinaryError::Malformed(_))),
                "{bytes:02X?}"
            );
        }
    }

    #[test]
    fn every_cut_is_refused() {
        let whole = b"\x80\xED\x0B\x02\x82id\xC0\x011\x81n\xC9\x07\x00";
        assert_eq!(
            parse_binary(whole, LIMITS).unwrap().to_string(),
            r#"{"id":"1","n":7}"#
        );
        for end in 0..whole.len() {
            assert!(parse_binary(&whole[..end], LIMITS).is_err(), "{end}");
        }
    }
}
