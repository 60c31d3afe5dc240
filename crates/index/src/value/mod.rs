//! The encoding of values in index entries: self-delimiting, and sorted like the values.
//!
//! ```text
//! undefined  10
//! null       20
//! false      30
//! true       31
//! number     40, then the double, sortable (8)
//! string     50, then its UTF-8 with EE as FD, EF as FE and 00 as 00 FF, then 00 00;
//!            beyond 64 bytes cut after a whole character, then 00 01
//! array      60
//! object     70
//! ```
//!
//! Writing `EE` as `FD` and `EF` as `FE` sorts strings by UTF-16 code unit, which is the order of
//! the query language: `EE` and `EF` start the characters U+E000 to U+FFFF, which UTF-16 sorts
//! after all other characters. A descending part of a composite index inverts all bytes. The
//! markers are below 80, so the first byte of a value reveals its direction.
//!
//! An entry loses the tail of a long string, the low digits of integers from 2^53 on, and the
//! contents of arrays and objects. [`DecodedValue::is_exact`] reports such a loss.

mod decode;
mod encode;
mod range;
mod skip;
#[cfg(test)]
mod tests;

pub use decode::{DecodedValue, decode};
pub use encode::{encode, encode_ordered};
pub use range::{ByteRange, byte_range, successor, type_end, type_start};
pub use skip::skip;

pub(crate) use encode::is_exact;
pub(crate) use encode::write_cell;

const UNDEFINED: u8 = 0x10;
const NULL: u8 = 0x20;
const FALSE: u8 = 0x30;
const TRUE: u8 = 0x31;
const NUMBER: u8 = 0x40;
const STRING: u8 = 0x50;
pub(crate) const ARRAY: u8 = 0x60;
pub(crate) const OBJECT: u8 = 0x70;
/// Marker of a spatial index cell (8 bytes), which is not a value of the query language.
const CELL: u8 = 0x78;

/// Maximum UTF-8 bytes of an encoded string. Longer strings are truncated.
const STRING_BYTES_MAX: usize = 64;
/// Minimum bytes of a truncated string. Truncation stops at a character boundary, and a character
/// has at most four bytes.
///
/// Strings of this length or more may sort incorrectly among strings with the same prefix.
pub const STRING_BYTES_CUT_MIN: usize = STRING_BYTES_MAX - 3;

/// Byte after `00` that terminates a complete string.
const END_WHOLE: u8 = 0x00;
const END_CUT: u8 = 0x01;
/// Byte after `00` that encodes a zero byte within a string.
const ZERO: u8 = 0xFF;

/// From this magnitude on, doubles do not distinguish all integers.
const INTEGERS_EXACT_END: f64 = 9_007_199_254_740_992.0;
