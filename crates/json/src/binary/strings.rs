//! The forms of a string.
//!
//! ```text
//! 20..3F                   a string of the system: a name or value that many items have
//! 40..67                   a string of a dictionary: an error
//! 71 72 / 73 74            base64 of the standard / of the URL alphabet, by its bytes
//! 75 76 77                 a GUID: lower case, upper case, lower case in quotes
//! 78 79 7A                 4 bits a character: of a hexadecimal number, or of a date
//! 7B 7C 7D                 4, 5, 6 bits a character, added to the lowest character
//! 7E 7F                    7 bits a character
//! 80..BF, C0 C1 C2         UTF-8 of 0 to 63 bytes, or with its length in 1, 2, 4 bytes
//! C3 C4 C5 C6              the string that begins at an offset of 1, 2, 3, 4 bytes
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::{BinaryReader, ReadResult, malformed};

/// The strings of the markers from 20 on.
const SYSTEM_STRINGS: [&str; 32] = [
    "$s",
    "$t",
    "$v",
    "_attachments",
    "_etag",
    "_rid",
    "_self",
    "_ts",
    "attachments/",
    "coordinates",
    "geometry",
    "GeometryCollection",
    "id",
    "url",
    "Value",
    "label",
    "LineString",
    "link",
    "MultiLineString",
    "MultiPoint",
    "MultiPolygon",
    "name",
    "Name",
    "Type",
    "Point",
    "Polygon",
    "properties",
    "type",
    "value",
    "Feature",
    "FeatureCollection",
    "_id",
];

const LOWER_HEX: &[u8; 16] = b"0123456789abcdef";
const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
const DATE: &[u8; 16] = b" 0123456789:-.TZ";
/// The digits of a GUID that a hyphen precedes.
const HYPHENS_AT: [usize; 4] = [8, 12, 16, 20];
const GUID_DIGITS: usize = 32;

impl BinaryReader<'_> {
    pub(super) fn string(&mut self, marker: u8) -> ReadResult<String> {
        let text = match marker {
            0xC3..=0xC6 => self.referenced(marker)?,
            _ => self.written(marker)?,
        };
        // The quotes, and the colon behind a name.
        self.count_text(text.len() + 2)?;
        Ok(text)
    }

    /// The string whose marker stands at an earlier or later offset.
    fn referenced(&mut self, marker: u8) -> ReadResult<String> {
        let width = usize::from(marker - 0xC2);
        let mut offset = [0; 4];
        offset[..width].copy_from_slice(self.take(width)?);
        let back = self.at;
        self.at = u32::from_le_bytes(offset) as usize;
        let target = match self.marker()? {
            0xC3..=0xC6 => return malformed("a reference leads to another reference"),
            target => target,
        };
        let text = self.written(target)?;
        self.at = back;
        Ok(text)
    }

    fn written(&mut self, marker: u8) -> ReadResult<String> {
        match marker {
            0x20..=0x3F => Ok(SYSTEM_STRINGS[usize::from(marker - 0x20)].to_owned()),
            0x40..=0x67 => malformed("a string belongs to a dictionary that nobody has agreed on"),
            0x71..=0x74 => self.base64(marker),
            0x75 => self.guid(LOWER_HEX),
            0x76 => self.guid(UPPER_HEX),
            0x77 => Ok(format!("\"{}\"", self.guid(LOWER_HEX)?)),
            0x78 => self.of_set(LOWER_HEX),
            0x79 => self.of_set(UPPER_HEX),
            0x7A => self.of_set(DATE),
            0x7B..=0x7D => {
                let count = self.size(0)?;
                let lowest = self.marker()?;
                self.packed(count, usize::from(marker - 0x77), lowest)
            }
            0x7E | 0x7F => {
                let count = self.size(marker - 0x7E)?;
                self.packed(count, 7, 0)
            }
            0x80..=0xBF => self.utf8(usize::from(marker & 0x3F)),
            0xC0..=0xC2 => {
                let length = self.size(marker - 0xC0)?;
                self.utf8(length)
            }
            other => malformed(format!(
                "the binary JSON marker {other:02X} is not a string"
            )),
        }
    }

    fn utf8(&mut self, length: usize) -> ReadResult<String> {
        match str::from_utf8(self.take(length)?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => malformed("a string is not UTF-8"),
        }
    }

    /// A base64 string by the bytes that it stands for. The byte behind its length says how many
    /// signs `=` end it; its complement, if that is small, says how many were left out.
    fn base64(&mut self, marker: u8) -> ReadResult<String> {
        let quads = self.size((marker - 0x71) % 2)?;
        let padding = self.marker()?;
        let is_padded = padding <= 2;
        let missing = usize::from(if is_padded { padding } else { !padding });
        let length = (3 * quads).checked_sub(missing);
        let (Some(length), true) = (length, missing <= 2) else {
            return malformed("a base64 string has a wrong length");
        };
        let engine = match (marker, is_padded) {
            (0x71 | 0x72, true) => STANDARD,
            (0x71 | 0x72, false) => STANDARD_NO_PAD,
            (_, true) => URL_SAFE,
            (_, false) => URL_SAFE_NO_PAD,
        };
        Ok(engine.encode(self.take(length)?))
    }

    fn guid(&mut self, digits: &[u8; 16]) -> ReadResult<String> {
        let mut text = String::with_capacity(GUID_DIGITS + HYPHENS_AT.len());
        for (at, digit) in self.nibbles(GUID_DIGITS)?.enumerate() {
            if HYPHENS_AT.contains(&at) {
                text.push('-');
            }
            text.push(char::from(digits[usize::from(digit)]));
        }
        Ok(text)
    }

    /// A string of the sixteen characters of a set.
    fn of_set(&mut self, set: &[u8; 16]) -> ReadResult<String> {
        let count = self.size(0)?;
        let characters = self.nibbles(count)?;
        Ok(characters
            .map(|nibble| char::from(set[usize::from(nibble)]))
            .collect())
    }

    /// Numbers of four bits, the lower half of each byte first.
    fn nibbles(&mut self, count: usize) -> ReadResult<impl Iterator<Item = u8>> {
        let bytes = self.take(count.div_ceil(2))?;
        let nibbles = bytes.iter().flat_map(|byte| [byte & 0x0F, byte >> 4]);
        Ok(nibbles.take(count))
    }

    /// Characters of `bits` bits each, packed from the lowest bit on, as distances from `lowest`.
    fn packed(&mut self, count: usize, bits: usize, lowest: u8) -> ReadResult<String> {
        let bytes = self.take((count * bits).div_ceil(8))?;
        let mut text = String::with_capacity(count);
        let (mut window, mut filled) = (0_u32, 0);
        let mut rest = bytes.iter();
        while text.len() < count {
            while filled < bits {
                // The bytes were taken for this number of characters.
                window |= u32::from(rest.next().copied().unwrap_or(0)) << filled;
                filled += 8;
            }
            let distance = window & ((1 << bits) - 1);
            window >>= bits;
            filled -= bits;
            let character = u8::try_from(u32::from(lowest) + distance);
            match character {
                Ok(character) if character.is_ascii() => text.push(char::from(character)),
                _ => return malformed("a packed string has a character beyond ASCII"),
            }
        }
        Ok(text)
    }
}
