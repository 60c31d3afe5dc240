//! Values as bytes of an entry: they end themselves and sort as the values do.
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
//! The two swapped bytes put strings in the order of UTF-16, which is the order of the language:
//! they begin the characters from U+E000 to U+FFFF, which are behind all others there. In a
//! descending part of a composite index all bytes are inverted. The markers are below 80, so the
//! first byte of a value tells its direction.
//!
//! What does not survive is said by [`Decoded::is_exact`]: the tail of a long string, integers
//! from 2^53 on, what is in an array or an object.

mod decode;
mod encode;
mod range;
mod skip;
#[cfg(test)]
mod tests;

pub use decode::{Decoded, decode};
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
/// Not a value of the language: a cell of a spatial index (8).
const CELL: u8 = 0x78;

/// Of a string, in UTF-8. Longer ones are cut.
const STRING_BYTES_MAX: usize = 64;
/// A cut leaves at least so much: one character has at most four bytes.
///
/// Strings from this length on may stand out of order among those with the same beginning.
pub const STRING_BYTES_CUT_MIN: usize = STRING_BYTES_MAX - 3;

/// Ends a string; what comes after `00`.
const END_WHOLE: u8 = 0x00;
const END_CUT: u8 = 0x01;
/// A zero within a string; what comes after `00`.
const ZERO: u8 = 0xFF;

/// From here on doubles do not tell all integers apart.
const INTEGERS_EXACT_END: f64 = 9_007_199_254_740_992.0;
