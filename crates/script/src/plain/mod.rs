//! Values between the database and the engine without text in between.
//!
//! JSON text defines what a value means on the other side (`toJSON`, no functions, `__proto__` as an
//! ordinary name), and most values need nothing of that: they are objects, arrays and scalars as literals
//! make them. [`read`] takes exactly such values, and runs no code of the script while it looks at them,
//! so that a caller that gets nothing from `read` can still ask for the text; [`measure`] says how long
//! that text would be at least. [`build`] makes what parsing the text would have made.

#![expect(
    unsafe_code,
    reason = "the engine's safe interface reads properties by running getters, and sets them by running setters"
)]

mod build;
mod measure;
mod read;
mod shapes;

pub(crate) use build::build;
pub(crate) use measure::{Measure, measure};
pub(crate) use read::read;
pub(crate) use shapes::own_length;

use rquickjs::qjs;

use crate::crossing::Refusal;

/// Deeper values go through text, whose reader has a limit of its own.
const DEPTH_MAX: usize = 64;

type RawCtx = *mut qjs::JSContext;

/// Why `read` or `measure` has no result for a value.
enum Unread {
    /// Its text is what defines it.
    NotPlain,
    Refused(Refusal),
}

impl From<Refusal> for Unread {
    fn from(refusal: Refusal) -> Unread {
        Unread::Refused(refusal)
    }
}

/// None for what is not plain.
fn unless_plain<T>(result: Result<T, Unread>) -> Result<Option<T>, Refusal> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Unread::NotPlain) => Ok(None),
        Err(Unread::Refused(refusal)) => Err(refusal),
    }
}

#[cfg(test)]
mod tests;
