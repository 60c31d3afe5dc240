//! Reads the binary JSON that some clients send: a marker byte for each value, little-endian
//! numbers, and arrays and objects that begin with their length.
//!
//! ```text
//! 80                       the first byte of a text, before the value
//! 00..1F                   that integer
//! 80..BF                   string of 0 to 63 bytes;  C0 C1 C2: length in 1, 2, 4 bytes
//! C7 C8 C9 CA CB CC        u64, u8, i16, i32, i64, f64
//! D0 D1 D2                 null, false, true
//! E0 / E8                  empty array / object;  E1 / E9: one element / property
//! E2 E3 E4 / EA EB EC      array / object with its length in 1, 2, 4 bytes
//! E5 E6 E7 / ED EE EF      the same with length and count
//! ```
//!
//! Strings by reference and dictionary strings are errors: a client sends them only after the
//! server has announced a dictionary.

use crate::{Number, Object, ParseError, Value};

/// The first byte of binary JSON; no JSON text begins with it.
pub const BINARY_MARK: u8 = 0x80;

/// Reads one binary JSON value, nested at most `depth_max` levels deep.
pub fn parse_binary(bytes: &[u8], depth_max: usize) -> Result<Value, ParseError> {
    let mut reader = BinaryReader { bytes, at: 0 };
    let value = match reader.byte() {
        Some(BINARY_MARK) => reader.value(depth_max),
        _ => Err("binary JSON begins with the byte 80".to_owned()),
    };
    match value {
        Ok(value) if reader.at == bytes.len() => Ok(value),
        Ok(_) => Err(reader.error("bytes after the end of the binary JSON value")),
        Err(message) => Err(reader.error(&message)),
    }
}

struct BinaryReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

type ReadResult<T> = Result<T, String>;

impl<'a> BinaryReader<'a> {
    fn error(&self, message: &str) -> ParseError {
        ParseError {
            message: message.to_owned(),
            line: 1,
            column: self.at,
        }
    }

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
        let end = end.ok_or("binary JSON ends in the middle of a value")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
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
        let marker = self
            .byte()
            .ok_or("binary JSON ends in the middle of a value")?;
        let number = |value: i64| Ok(Value::from(value));
        match marker {
            0x00..=0x1F => number(i64::from(marker)),
            0x80..=0xC2 => self.string(marker).map(Value::String),
            0xC7 => {
                let value = u64::from_le_bytes(self.array()?);
                let exact = i64::try_from(value).map(Number::from);
                Ok(Value::Number(exact.unwrap_or(Number::from(value as f64))))
            }
            0xC8 => number(i64::from(u8::from_le_bytes(self.array()?))),
            0xC9 => number(i64::from(i16::from_le_bytes(self.array()?))),
            0xCA => number(i64::from(i32::from_le_bytes(self.array()?))),
            0xCB => number(i64::from_le_bytes(self.array()?)),
            0xCC => match f64::from_le_bytes(self.array()?) {
                value if value.is_finite() => Ok(Value::from(value)),
                _ => Err("number out of range".to_owned()),
            },
            0xD0 => Ok(Value::Null),
            0xD1 => Ok(Value::Bool(false)),
            0xD2 => Ok(Value::Bool(true)),
            0xE0..=0xE7 => self
                .elements(marker - 0xE0, deeper(depth_left)?)
                .map(Value::Array),
            0xE8..=0xEF => self
                .properties(marker - 0xE8, deeper(depth_left)?)
                .map(Value::Object),
            other => Err(format!(
                "the binary JSON marker {other:02X} is not supported"
            )),
        }
    }

    fn string(&mut self, marker: u8) -> ReadResult<String> {
        let length = match marker {
            0x80..=0xBF => usize::from(marker & 0x3F),
            0xC0..=0xC2 => self.size(marker - 0xC0)?,
            other => {
                return Err(format!(
                    "the binary JSON marker {other:02X} is not a string"
                ));
            }
        };
        let bytes = self.take(length)?;
        let text = str::from_utf8(bytes).map_err(|_| "a string is not UTF-8")?;
        Ok(text.to_owned())
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
            let marker = reader
                .byte()
                .ok_or("binary JSON ends in the middle of a value")?;
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
        let end = end.ok_or("binary JSON ends in the middle of a value")?;
        while self.at < end {
            member(self)?;
        }
        if self.at == end {
            Ok(())
        } else {
            Err("an array or object is longer than it says".to_owned())
        }
    }
}

fn deeper(depth_left: usize) -> ReadResult<usize> {
    depth_left
        .checked_sub(1)
        .ok_or_else(|| "arrays and objects are nested too deeply".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        match parse_binary(bytes, 4) {
            Ok(value) => value.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_marker_a_client_writes() {
        let cases: [(&[u8], &str); 12] = [
            (
                b"\x80\xED\x08\x02\x82id\x811\x81n\x07",
                r#"{"id":"1","n":7}"#,
            ),
            (b"\x80\xC0\x02ab", r#""ab""#),
            (b"\x80\xC1\x02\x00ab", r#""ab""#),
            (b"\x80\xC2\x02\x00\x00\x00ab", r#""ab""#),
            (
                b"\x80\xC7\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
                "18446744073709551616",
            ),
            (b"\x80\xC8\xFF", "255"),
            (b"\x80\xC9\xFE\xFF", "-2"),
            (b"\x80\xCA\xFE\xFF\xFF\xFF", "-2"),
            (b"\x80\xCB\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "-2"),
            (b"\x80\xCC\x00\x00\x00\x00\x00\x00\xF8\x3F", "1.5"),
            (b"\x80\xE5\x03\x03\xD0\xD1\xD2", "[null,false,true]"),
            (b"\x80\xE1\xE9\x81a\xE0", r#"[{"a":[]}]"#),
        ];
        for (bytes, expected) in cases {
            assert_eq!(text(bytes), expected, "{bytes:02X?}");
        }
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
            b"\x80\x20",
            b"\x80\x81\xFF",
            b"\x80\xE1\xE1\xE1\xE1\xE1\x01",
        ] {
            assert!(parse_binary(bytes, 4).is_err(), "{bytes:02X?}");
        }
    }
}
