//! The values of the first column behind the start of a resumed result.
//!
//! Ascending, the result has everything from the start value on. Descending, it has everything up
//! to the start value and finally the undefined values. A predicate cannot cover missing values, so
//! the descending case needs a filter that requires a value anyway.

use orrery_json::Value;
use orrery_sql::ast::{BinaryOp, SortDirection};

use super::range::{self, Ranges};
use super::{FrameBindings, ImpliedPredicate, atom, filter};
use crate::predicate::{Predicate, ValueRange, ValueType};
use crate::program::Program;

/// The types in value order.
const TYPES: [ValueType; 6] = [
    ValueType::Null,
    ValueType::Bool,
    ValueType::Number,
    ValueType::String,
    ValueType::Array,
    ValueType::Object,
];

/// The predicate of the resumed part. `None` when the result starts at its beginning, or must
/// examine earlier rows for copies that it leaves out.
pub(super) fn of(program: &Program, filter: &Predicate) -> Option<ImpliedPredicate> {
    let first = program.resume_filter()?.first()?;
    let column = program.order().first()?;
    if program.copies_have_several_keys() {
        return None;
    }
    let bound_path = FrameBindings::document(program.parameters()).bound_path(&column.scalar);
    // An array path has several values, and one in front of the start proves nothing.
    let Some(bound_path) = bound_path.filter(|bound_path| !bound_path.path.is_multiple()) else {
        return Some(ImpliedPredicate::UNKNOWN);
    };
    let descending = column.direction == SortDirection::Descending;
    if descending && !filter::says_defined(filter, &bound_path.path) {
        return Some(ImpliedPredicate::UNKNOWN);
    }
    let Some(of) = range::value_type(&first.value) else {
        // Descending, only undefined values follow an undefined start, and the filter excludes
        // them.
        return Some(if descending {
            ImpliedPredicate::FALSE
        } else {
            ImpliedPredicate::UNKNOWN
        });
    };
    let beyond = TYPES
        .into_iter()
        .filter(|one| if descending { *one < of } else { *one > of })
        .map(ValueRange::OfType);
    let from_start = match &first.value {
        Value::Array(_) | Value::Object(_) => Ranges::of_type(of),
        value if descending => range::compared(BinaryOp::LessOrEqual, value, true),
        value => range::compared(BinaryOp::GreaterOrEqual, value, true),
    };
    let all = range::union([from_start, Ranges::within(beyond.collect())]);
    Some(atom::value(bound_path, all.inexact()))
}
