//! Finds the end of an encoded value without decoding it.

use super::{ARRAY, CELL, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE, UNDEFINED, ZERO};

/// Returns the bytes after the value at the start of `encoded`, ascending or descending. `None` for
/// invalid bytes.
pub fn skip(encoded: &[u8]) -> Option<&[u8]> {
    let first = *encoded.first()?;
    let flip = if first & 0x80 == 0 { 0x00 } else { 0xFF };
    match first ^ flip {
        UNDEFINED | NULL | FALSE | TRUE | ARRAY | OBJECT => Some(&encoded[1..]),
        NUMBER | CELL => encoded.get(9..),
        STRING => skip_text(&encoded[1..], flip),
        _ => None,
    }
}

fn skip_text(encoded: &[u8], flip: u8) -> Option<&[u8]> {
    let mut rest = encoded;
    loop {
        let zero = rest.iter().position(|byte| *byte == flip)?;
        let mark = rest.get(zero + 1)? ^ flip;
        rest = &rest[zero + 2..];
        if mark != ZERO {
            return Some(rest);
        }
    }
}
