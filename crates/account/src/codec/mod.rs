//! The encoding of link frames, and of the records and metadata that a region persists.
//!
//! Numbers are little-endian, each enumeration begins with a byte for its variant, each value of
//! variable size with its length, and each encoding with a version. Decoding is total: it never
//! panics, allocates no more memory than its input has, and refuses every input that the encoder
//! would not have written, so that each value has one encoding. Payloads are slices of the input,
//! not copies.

mod frame;
mod greeting;
mod message;
mod multi_write;
mod note;
mod partitions;
mod parts;
mod reader;
mod record;
mod writer;

#[cfg(test)]
mod arbitrary;

pub use frame::{decode_frame, encode_frame};
pub(crate) use greeting::Greeting;
pub use note::{decode_note, encode_note};
pub(crate) use partitions::{decode_move, encode_move};
pub(crate) use record::{decode_progress, decode_record, encode_progress, encode_record};

/// The version of every encoding in this module; a change of any encoding is a new version.
const VERSION: u8 = 1;
