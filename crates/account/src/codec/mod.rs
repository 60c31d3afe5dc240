//! Bytes of what regions say to each other, and of what they keep of it.
//!
//! Little-endian numbers, a byte for the kind of each choice, a length in front of everything that
//! has one, and a version in front of the whole. Reading is total: it never panics, takes no
//! more memory than its input does, and refuses whatever it would not have written, so that each
//! value has one form. Payloads are slices of what was read, not copies.

mod frame;
mod greeting;
mod mesh;
mod message;
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

/// Of every form here. A change of any of them is a new version.
const VERSION: u8 = 1;
