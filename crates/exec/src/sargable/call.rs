//! Predicates implied by a function call that returns true, or false.

use orrery_json::Value;

use super::range::{self, Ranges};
use super::{FrameBindings, ImpliedPredicate, atom, combine};
use crate::functions::{Function, evaluate_function};
use crate::predicate::{Predicate, SpatialRelation, ValueRange, ValueType};
use crate::scalar::Scalar;

const PRIMITIVES: [ValueType; 4] = [
    ValueType::Null,
    ValueType::Bool,
    ValueType::Number,
    ValueType::String,
];

/// Limit of needles of an `ARRAY_CONTAINS_ALL` for the index, because combining needles compares
/// each pair.
const NEEDLES_MAX: usize = 200;

/// The predicate implied by a call whose result is `wanted`.
pub(super) fn implied_by(
    function: &Function,
    arguments: &[Scalar],
    wanted: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let is_type = |types: &[ValueType]| {
        let types = types.iter().copied().map(ValueRange::OfType);
        Ranges::exactly(types.collect())
    };
    let checked = match function.name() {
        "IS_DEFINED" => Ranges::exactly(vec![ValueRange::Defined]),
        "IS_NULL" => is_type(&[ValueType::Null]),
        "IS_BOOL" | "IS_BOOLEAN" => is_type(&[ValueType::Bool]),
        "IS_NUMBER" => is_type(&[ValueType::Number]),
        "IS_STRING" => is_type(&[ValueType::String]),
        "IS_ARRAY" => is_type(&[ValueType::Array]),
        "IS_OBJECT" => is_type(&[ValueType::Object]),
        "IS_PRIMITIVE" => is_type(&PRIMITIVES),
        // The function is stricter than the type, so the range is only a consequence.
        "IS_INTEGER" | "IS_FINITE_NUMBER" => is_type(&[ValueType::Number]).inexact(),
        "IS_DATETIME" => is_type(&[ValueType::String]).inexact(),
        "STARTSWITH" | "CONTAINS" | "ENDSWITH" | "STRINGEQUALS" | "STRING_EQUALS"
        | "REGEXMATCH" => return text(function.name(), arguments, wanted, frames),
        "ARRAY_CONTAINS" | "_TRY_ARRAY_CONTAINS" => return contains(arguments, wanted, frames),
        "ARRAY_CONTAINS_ANY" => return contains_several(arguments, wanted, frames, false),
        "ARRAY_CONTAINS_ALL" => return contains_several(arguments, wanted, frames, true),
        "ST_WITHIN" => return within(arguments, wanted, frames),
        "ST_INTERSECTS" => {
            return spatial(SpatialRelation::Intersects, arguments, wanted, frames);
        }
        _ => return ImpliedPredicate::UNKNOWN,
    };
    match arguments.first().and_then(|value| frames.bound_path(value)) {
        // A type check is false for a missing value, and no predicate covers missing values.
        Some(bound_path) if wanted => atom::value(bound_path, checked),
        _ => ImpliedPredicate::UNKNOWN,
    }
}

/// Functions of two strings, which are undefined for other values.
fn text(
    name: &str,
    arguments: &[Scalar],
    wanted: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let [subject, part, flag @ ..] = arguments else {
        return ImpliedPredicate::UNKNOWN;
    };
    let both = [subject, part].map(
        |side| match (frames.bound_path(side), frames.constant(side)) {
            (Some(bound_path), _) => atom::value(bound_path, Ranges::of_type(ValueType::String)),
            (None, Some(value)) if value.as_str().is_none() => ImpliedPredicate::FALSE,
            _ => ImpliedPredicate::UNKNOWN,
        },
    );
    let strings = combine::all(both.into()).inexact();
    let sees_case = match flag {
        [] => true,
        [flag, ..] => frames.constant(flag) == Some(Value::Bool(false)),
    };
    if !wanted || !sees_case {
        // Without case sensitivity an index range of one spelling would miss other spellings.
        return strings;
    }
    let (side, constant) = match (frames.constant(subject), frames.constant(part)) {
        (None, Some(Value::String(text))) => (subject, text),
        (Some(Value::String(text)), None) if name != "STARTSWITH" => (part, text),
        _ => return strings,
    };
    let ranges = match name {
        "STRINGEQUALS" | "STRING_EQUALS" => range::equal_to(&Value::String(constant)),
        "STARTSWITH" if constant.is_empty() => {
            Ranges::exactly(vec![ValueRange::OfType(ValueType::String)])
        }
        "STARTSWITH" => Ranges::exactly(vec![ValueRange::Prefix(constant)]),
        _ => return strings,
    };
    match frames.bound_path(side) {
        Some(bound_path) => atom::value(bound_path, ranges),
        None => ImpliedPredicate::UNKNOWN,
    }
}

/// `ARRAY_CONTAINS`, with the path on the side of the array or of the needle.
fn contains(arguments: &[Scalar], wanted: bool, frames: &FrameBindings<'_>) -> ImpliedPredicate {
    let [array, needle, flag @ ..] = arguments else {
        return ImpliedPredicate::UNKNOWN;
    };
    let partial = match flag.first().map(|scalar| frames.constant(scalar)) {
        None | Some(Some(Value::Undefined | Value::Bool(false))) => Some(false),
        Some(Some(Value::Bool(true))) => Some(true),
        // The function is undefined for a third argument that is no boolean.
        Some(Some(_)) => return ImpliedPredicate::FALSE,
        Some(None) => None,
    };
    match (frames.constant(array), frames.constant(needle)) {
        (Some(Value::Array(elements)), None) => match frames.bound_path(needle) {
            Some(bound_path) if wanted => {
                let ranges = range::equal_to_any(&elements);
                let is_plain = partial == Some(false);
                atom::value(bound_path, if is_plain { ranges } else { ranges.inexact() })
            }
            bound_path => atom::defined(bound_path),
        },
        (Some(_), None) | (None, Some(Value::Undefined)) => ImpliedPredicate::FALSE,
        (None, needle) => {
            let Some(bound_path) = frames.bound_path(array) else {
                return ImpliedPredicate::UNKNOWN;
            };
            match (needle, partial) {
                (Some(needle), Some(false)) if wanted => atom::has_any(bound_path, [&needle]),
                (Some(needle), Some(true) | None) if wanted => {
                    atom::covers(bound_path.element(), &needle)
                }
                _ => atom::value(bound_path, Ranges::of_type(ValueType::Array)),
            }
        }
        (Some(_), Some(_)) => ImpliedPredicate::UNKNOWN,
    }
}

/// `ARRAY_CONTAINS_ANY` and `ARRAY_CONTAINS_ALL` with constant needles.
fn contains_several(
    arguments: &[Scalar],
    wanted: bool,
    frames: &FrameBindings<'_>,
    all: bool,
) -> ImpliedPredicate {
    let Some((array, needles)) = arguments.split_first() else {
        return ImpliedPredicate::UNKNOWN;
    };
    let Some(bound_path) = frames.bound_path(array) else {
        return ImpliedPredicate::UNKNOWN;
    };
    let needles: Option<Vec<Value>> = needles
        .iter()
        .map(|scalar| frames.constant(scalar))
        .collect();
    match needles {
        Some(needles) if wanted && all && needles.len() <= NEEDLES_MAX => {
            let each = needles
                .iter()
                .map(|needle| atom::has_any(bound_path.clone(), [needle]));
            combine::all(each.collect())
        }
        Some(needles) if wanted && !all => atom::has_any(bound_path, &needles),
        _ => atom::value(bound_path, Ranges::of_type(ValueType::Array)),
    }
}

/// `ST_WITHIN` of a path in a constant shape. In the other direction the index cannot help.
fn within(arguments: &[Scalar], wanted: bool, frames: &FrameBindings<'_>) -> ImpliedPredicate {
    match arguments {
        [shape, _] if frames.bound_path(shape).is_some() => {
            spatial(SpatialRelation::Within, arguments, wanted, frames)
        }
        _ => ImpliedPredicate::UNKNOWN,
    }
}

/// A spatial relation of a path with a constant shape, on either side.
pub(super) fn spatial(
    relation: SpatialRelation,
    arguments: &[Scalar],
    wanted: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let [left, right] = arguments else {
        return ImpliedPredicate::UNKNOWN;
    };
    let (shape, geometry) = match (frames.constant(left), frames.constant(right)) {
        (None, Some(geometry)) => (left, geometry),
        (Some(geometry), None) => (right, geometry),
        _ => return ImpliedPredicate::UNKNOWN,
    };
    // A function of an invalid shape is undefined, so no document matches.
    let is_valid = evaluate_function("ST_ISVALID", std::slice::from_ref(&geometry));
    if is_valid != Some(Value::Bool(true)) {
        return ImpliedPredicate::FALSE;
    }
    let Some(bound_path) = frames
        .bound_path(shape)
        .filter(|bound_path| !bound_path.path.0.is_empty())
    else {
        return ImpliedPredicate::UNKNOWN;
    };
    if !wanted {
        return atom::value(bound_path, Ranges::of_type(ValueType::Object));
    }
    ImpliedPredicate {
        predicate: Predicate::Spatial {
            path: bound_path.path,
            relation,
            geometry,
        },
        is_exact: false,
    }
}
