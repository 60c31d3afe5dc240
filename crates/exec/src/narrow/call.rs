//! What it takes for a function to give true, or false.

use orrery_json::Value;

use super::range::{self, Ranges};
use super::{Frames, Narrow, atom, combine};
use crate::functions::{Function, evaluate_function};
use crate::predicate::{Predicate, SpatialRelation, ValueRange, ValueType};
use crate::scalar::Scalar;

const PRIMITIVES: [ValueType; 4] = [
    ValueType::Null,
    ValueType::Bool,
    ValueType::Number,
    ValueType::String,
];

/// The most needles of an `ARRAY_CONTAINS_ALL` that the index is searched for, because combining them
/// compares each needle with each other one.
const NEEDLES_MAX: usize = 200;

pub(super) fn holds(
    function: &Function,
    arguments: &[Scalar],
    wanted: bool,
    frames: &Frames<'_>,
) -> Narrow {
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
        "IS_INTEGER" | "IS_FINITE_NUMBER" => is_type(&[ValueType::Number]).vague(),
        "IS_DATETIME" => is_type(&[ValueType::String]).vague(),
        "STARTSWITH" | "CONTAINS" | "ENDSWITH" | "STRINGEQUALS" | "STRING_EQUALS"
        | "REGEXMATCH" => return text(function.name(), arguments, wanted, frames),
        "ARRAY_CONTAINS" | "_TRY_ARRAY_CONTAINS" => return contains(arguments, wanted, frames),
        "ARRAY_CONTAINS_ANY" => return contains_several(arguments, wanted, frames, false),
        "ARRAY_CONTAINS_ALL" => return contains_several(arguments, wanted, frames, true),
        "ST_WITHIN" => return within(arguments, wanted, frames),
        "ST_INTERSECTS" => {
            return spatial(SpatialRelation::Intersects, arguments, wanted, frames);
        }
        _ => return Narrow::UNKNOWN,
    };
    match arguments.first().and_then(|value| frames.place(value)) {
        // A type check is false for what is not there, of which a predicate cannot speak.
        Some(place) if wanted => atom::value(place, checked),
        _ => Narrow::UNKNOWN,
    }
}

/// Functions of two strings that are undefined for anything else.
fn text(name: &str, arguments: &[Scalar], wanted: bool, frames: &Frames<'_>) -> Narrow {
    let [subject, part, flag @ ..] = arguments else {
        return Narrow::UNKNOWN;
    };
    let both = [subject, part].map(|side| match (frames.place(side), frames.constant(side)) {
        (Some(place), _) => atom::value(place, Ranges::of_type(ValueType::String)),
        (None, Some(value)) if value.as_str().is_none() => Narrow::FALSE,
        _ => Narrow::UNKNOWN,
    });
    let strings = combine::all(both.into()).vague();
    let sees_case = match flag {
        [] => true,
        [flag, ..] => frames.constant(flag) == Some(Value::Bool(false)),
    };
    if !wanted || !sees_case {
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
    match frames.place(side) {
        Some(place) => atom::value(place, ranges),
        None => Narrow::UNKNOWN,
    }
}

fn contains(arguments: &[Scalar], wanted: bool, frames: &Frames<'_>) -> Narrow {
    let [array, needle, flag @ ..] = arguments else {
        return Narrow::UNKNOWN;
    };
    let partial = match flag.first().map(|scalar| frames.constant(scalar)) {
        None | Some(Some(Value::Undefined | Value::Bool(false))) => Some(false),
        Some(Some(Value::Bool(true))) => Some(true),
        Some(Some(_)) => return Narrow::FALSE,
        Some(None) => None,
    };
    match (frames.constant(array), frames.constant(needle)) {
        (Some(Value::Array(elements)), None) => match frames.place(needle) {
            Some(place) if wanted => {
                let ranges = range::equal_to_any(&elements);
                let is_plain = partial == Some(false);
                atom::value(place, if is_plain { ranges } else { ranges.vague() })
            }
            place => atom::defined(place),
        },
        (Some(_), None) | (None, Some(Value::Undefined)) => Narrow::FALSE,
        (None, needle) => {
            let Some(place) = frames.place(array) else {
                return Narrow::UNKNOWN;
            };
            match (needle, partial) {
                (Some(needle), Some(false)) if wanted => atom::has_any(place, [&needle]),
                (Some(needle), Some(true) | None) if wanted => {
                    atom::covers(place.element(), &needle)
                }
                _ => atom::value(place, Ranges::of_type(ValueType::Array)),
            }
        }
        (Some(_), Some(_)) => Narrow::UNKNOWN,
    }
}

fn contains_several(arguments: &[Scalar], wanted: bool, frames: &Frames<'_>, all: bool) -> Narrow {
    let Some((array, needles)) = arguments.split_first() else {
        return Narrow::UNKNOWN;
    };
    let Some(place) = frames.place(array) else {
        return Narrow::UNKNOWN;
    };
    let needles: Option<Vec<Value>> = needles
        .iter()
        .map(|scalar| frames.constant(scalar))
        .collect();
    match needles {
        Some(needles) if wanted && all && needles.len() <= NEEDLES_MAX => {
            let each = needles
                .iter()
                .map(|needle| atom::has_any(place.clone(), [needle]));
            combine::all(each.collect())
        }
        Some(needles) if wanted && !all => atom::has_any(place, &needles),
        _ => atom::value(place, Ranges::of_type(ValueType::Array)),
    }
}

fn within(arguments: &[Scalar], wanted: bool, frames: &Frames<'_>) -> Narrow {
    match arguments {
        [shape, _] if frames.place(shape).is_some() => {
            spatial(SpatialRelation::Within, arguments, wanted, frames)
        }
        _ => Narrow::UNKNOWN,
    }
}

/// A relation of a path with a constant shape, on either side.
pub(super) fn spatial(
    relation: SpatialRelation,
    arguments: &[Scalar],
    wanted: bool,
    frames: &Frames<'_>,
) -> Narrow {
    let [left, right] = arguments else {
        return Narrow::UNKNOWN;
    };
    let (shape, geometry) = match (frames.constant(left), frames.constant(right)) {
        (None, Some(geometry)) => (left, geometry),
        (Some(geometry), None) => (right, geometry),
        _ => return Narrow::UNKNOWN,
    };
    let is_valid = evaluate_function("ST_ISVALID", std::slice::from_ref(&geometry));
    if is_valid != Some(Value::Bool(true)) {
        return Narrow::FALSE;
    }
    let Some(place) = frames.place(shape).filter(|place| !place.path.0.is_empty()) else {
        return Narrow::UNKNOWN;
    };
    if !wanted {
        return atom::value(place, Ranges::of_type(ValueType::Object));
    }
    Narrow {
        predicate: Predicate::Spatial {
            path: place.path,
            relation,
            geometry,
        },
        is_exact: false,
    }
}
