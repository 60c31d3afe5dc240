//! Bytes in hexadecimal digits, in the form that `security` and `certutil` read.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(super) fn hex(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}
