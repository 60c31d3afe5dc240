//! What a result that begins at given values leaves of its first column.
//!
//! Going up, everything from the value on. Going down, everything up to it and last of all what
//! is undefined, of which a predicate cannot speak; so that side needs a filter that asks for a
//! value anyway.

use orrery_json::Value;
use orrery_sql::ast::{BinaryOp, Direction};

use super::range::{self, Ranges};
use super::{Frames, Narrow, atom, filter};
use crate::predicate::{Predicate, ValueRange, ValueType};
use crate::program::Program;

/// Types in the order of values.
const TYPES: [ValueType; 6] = [
    ValueType::Null,
    ValueType::Bool,
    ValueType::Number,
    ValueType::String,
    ValueType::Array,
    ValueType::Object,
];

/// None when the result begins at its beginning.
pub(super) fn of(program: &Program, filter: &Predicate) -> Option<Narrow> {
    let first = program.resume_filter()?.first()?;
    let column = program.order().first()?;
    let place = Frames::document(program.parameters()).place(&column.scalar);
    let Some(place) = place.filter(|place| !place.path.is_multiple()) else {
        return Some(Narrow::UNKNOWN);
    };
    let descending = column.direction == Direction::Descending;
    if descending && !filter::says_defined(filter, &place.path) {
        return Some(Narrow::UNKNOWN);
    }
    let Some(of) = range::value_type(&first.value) else {
        return Some(if descending {
            Narrow::FALSE
        } else {
            Narrow::UNKNOWN
        });
    };
    let beyond = TYPES
        .into_iter()
        .filter(|one| if descending { *one < of } else { *one > of })
        .map(ValueRange::OfType);
    let here = match &first.value {
        Value::Array(_) | Value::Object(_) => Ranges::of_type(of),
        value if descending => range::compared(BinaryOp::LessOrEqual, value, true),
        value => range::compared(BinaryOp::GreaterOrEqual, value, true),
    };
    let all = range::union([here, Ranges::within(beyond.collect())]);
    Some(atom::value(place, all.vague()))
}
