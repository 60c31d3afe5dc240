//! JSON values with `undefined`; numbers; the total order over types; paths.
//!
//! The one JSON reader and the one JSON writer of Orrery. This crate knows nothing of documents,
//! partition keys or the protocol: it does no I/O and holds no clock.

mod allocated;
mod binary;
mod fields;
mod number;
mod order;
mod parse;
mod parse_fields;
mod path;
mod print;
mod scan;
mod value;

pub use allocated::{VALUE_BYTES, allocated_bytes_max};
pub use binary::{BINARY_MARK, parse_binary};
pub use fields::{FieldStep, Fields};
pub use number::Number;
pub use order::{compare, equal};
pub use parse::{ParseError, parse, parse_bounded};
pub use parse_fields::parse_fields;
pub use path::{Path, PathError};
pub use print::{write_number, write_string, write_value};
pub use value::{NameHasher, Object, Value};
