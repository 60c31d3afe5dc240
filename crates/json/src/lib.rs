//! JSON values with `undefined`; numbers; the total order over types; paths.
//!
//! The only JSON parser and the only JSON writer of Orrery. This crate has no notion of documents,
//! partition keys or the protocol. It performs no I/O and reads no clock.

mod allocated;
mod binary;
mod field_mask;
mod number;
mod order;
mod parse;
mod parse_fields;
mod path;
mod print;
mod scan;
mod value;

pub use allocated::{VALUE_BYTES, allocated_bytes_max};
pub use binary::{BINARY_MARK, BinaryError, BinaryLimits, parse_binary};
pub use field_mask::{FieldMask, FieldStep};
pub use number::Number;
pub use order::{compare, equal};
pub use parse::{ParseError, parse, parse_bounded};
pub use parse_fields::parse_fields;
pub use path::{PathError, PropertyPath};
pub use print::{write_long_number, write_long_value, write_number, write_string, write_value};
pub use value::{NameHasher, Object, Value};
