//! Finds the end of a string, many bytes at a time.

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const QUOTES: u64 = LOW_BITS * b'"' as u64;
const BACKSLASHES: u64 = LOW_BITS * b'\\' as u64;

/// Most strings end within this many bytes, which are searched in words of eight. Longer strings
/// continue in blocks.
const SHORT_BYTES: usize = 16;
const BLOCK_BYTES: usize = 32;

/// The position of the first quote or backslash at or after `from`.
pub(crate) fn quote_or_backslash(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let (head, tail) = rest.split_at(rest.len().min(SHORT_BYTES));
    if let Some(found) = in_words(head) {
        return Some(from + found);
    }
    let (blocks, _) = tail.as_chunks::<BLOCK_BYTES>();
    let plain = blocks.iter().take_while(|block| !has_mark(block)).count();
    let passed = plain * BLOCK_BYTES;
    in_words(&tail[passed..]).map(|found| from + head.len() + passed + found)
}

fn in_words(text: &[u8]) -> Option<usize> {
    let (words, tail) = text.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let in_tail = tail.iter().position(|byte| is_mark(*byte))?;
    Some(at + in_tail)
}

/// Has no early exit, so that the compiler vectorises the comparison of all bytes.
fn has_mark(block: &[u8; BLOCK_BYTES]) -> bool {
    block
        .iter()
        .fold(false, |found, byte| found | is_mark(*byte))
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\')
}

/// The position after the closing quote of the string whose text begins at `from`.
pub(crate) fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = quote_or_backslash(text, from)?;
    while text[at] == b'\\' {
        // The byte after a backslash is escaped; if it is a quote, it does not end the string.
        at = quote_or_backslash(text, at + 2)?;
    }
    Some(at + 1)
}

/// The lowest set bit belongs to the first zero byte. A borrow of the subtraction can set higher
/// bits falsely.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_quote_or_backslash_is_found() {
        for length in 0..120 {
            for place in 0..length {
                for (mark, from) in [(b'"', 0), (b'\\', place / 2), (b'"', place)] {
                    let mut text = vec![b'\x21'; length];
                    text[place] = mark;
                    if place + 1 < length {
                        text[place + 1] = b'"';
                    }
                    assert_eq!(quote_or_backslash(&text, from), Some(place), "{text:?}");
                }
            }
            assert_eq!(quote_or_backslash(&vec![b']'; length], 0), None);
        }
    }

    #[test]
    fn escapes_do_not_end_a_string() {
        for (text, expected) in [
            (r#"""#, Some(1)),
            (r#"a"b"#, Some(2)),
            (r#"\"""#, Some(3)),
            (r#"\\""#, Some(3)),
            (r#"\\\"x"y"#, Some(6)),
            (r#"\""#, None),
            ("\\", None),
            ("", None),
        ] {
            assert_eq!(string_end(text.as_bytes(), 0), expected, "{text}");
        }
    }
}
