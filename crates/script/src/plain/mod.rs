//! Converts values between the database and the engine without an intermediate text.
//!
//! The JSON text of a value defines its meaning in the database (`toJSON`, no functions,
//! `__proto__` as an ordinary name). Most values need none of this: they are objects, arrays and
//! scalars as literals make them. [`read`] accepts exactly these values and runs no script code
//! while it examines them, so that a caller can still make the text if `read` returns nothing.
//! [`measure`] gives a lower bound of the text's length. [`build`] makes the value that parsing the
//! text would make.

#![expect(
    unsafe_code,
    reason = "the engine's safe interface reads properties by running getters, and sets them by running setters"
)]

mod build;
mod measure;
mod prototypes;
mod read;

pub(crate) use build::build;
pub(crate) use measure::{Measure, measure};
pub(crate) use prototypes::own_length;
pub(crate) use read::read;

use rquickjs::qjs;

use crate::copy_counter::Refusal;

/// Deeper values are converted through text, whose parser has its own depth limit.
const DEPTH_MAX: usize = 64;

type RawCtx = *mut qjs::JSContext;

/// The reason for which `read` or `measure` has no result.
enum PlainFailure {
    /// Only the JSON text defines the value.
    NotPlain,
    Refused(Refusal),
}

impl From<Refusal> for PlainFailure {
    fn from(refusal: Refusal) -> PlainFailure {
        PlainFailure::Refused(refusal)
    }
}

/// `None` for a value that is not plain.
fn unless_plain<T>(result: Result<T, PlainFailure>) -> Result<Option<T>, Refusal> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(PlainFailure::NotPlain) => Ok(None),
        Err(PlainFailure::Refused(refusal)) => Err(refusal),
    }
}

#[cfg(test)]
mod tests;
