//! What it takes for an expression to be true, or to be false.

use orrery_json::Value;
use orrery_sql::ast::{BinaryOp, SubqueryKind, UnaryOp};

use super::range::{self, Ranges};
use super::{Frames, Narrow, atom, call, combine, rows};
use crate::predicate::{Predicate, SpatialRelation, ValueRange, ValueType};
use crate::scalar::{Pattern, Scalar};

/// What holds wherever the truth of `scalar` is `wanted`.
pub(super) fn holds(scalar: &Scalar, wanted: bool, frames: &Frames<'_>) -> Narrow {
    if let Some(value) = frames.constant(scalar) {
        return if value.as_bool() == Some(wanted) {
            Narrow::TRUE
        } else {
            Narrow::FALSE
        };
    }
    match scalar {
        Scalar::Path(..) => match frames.place(scalar) {
            Some(place) => atom::value(place, range::equal_to(&Value::Bool(wanted))),
            None => Narrow::UNKNOWN,
        },
        Scalar::Unary(UnaryOp::Not, operand) => holds(operand, !wanted, frames),
        Scalar::And(terms) => settled(terms, wanted, wanted, frames),
        Scalar::Or(terms) => settled(terms, wanted, !wanted, frames),
        Scalar::In {
            needle,
            list,
            negated,
        } => listed(needle, list, wanted != *negated, frames),
        Scalar::Between {
            value,
            low,
            high,
            negated,
        } => between([value, low, high], wanted != *negated, frames),
        Scalar::LikeConstant {
            value,
            pattern,
            negated,
        } => match frames.place(value) {
            Some(place) => atom::value(place, matching(pattern, wanted != *negated)),
            None => Narrow::UNKNOWN,
        },
        Scalar::Like { value, pattern, .. } => {
            let texts = [value, pattern].map(|text| match frames.place(text) {
                Some(place) => atom::value(place, Ranges::of_type(ValueType::String)),
                None => Narrow::UNKNOWN,
            });
            combine::all(texts.into()).vague()
        }
        Scalar::Binary(op, left, right) => binary(*op, left, right, wanted, frames),
        Scalar::Call(function, arguments) => call::holds(function, arguments, wanted, frames),
        Scalar::Let { value, body } => {
            holds(body, wanted, &frames.with(frames.place(value))).vague()
        }
        Scalar::Subquery(SubqueryKind::Exists, block) if wanted => {
            rows::of_rows(block, frames).0.vague()
        }
        Scalar::Subquery(SubqueryKind::Scalar | SubqueryKind::First, block) => {
            rows::of_truth(block, wanted, frames).vague()
        }
        _ => Narrow::UNKNOWN,
    }
}

/// `AND` is true and `OR` is false if all terms are, and otherwise if one is.
fn settled(terms: &[Scalar], wanted: bool, by_all: bool, frames: &Frames<'_>) -> Narrow {
    let terms = terms.iter().map(|term| holds(term, wanted, frames));
    if by_all {
        combine::all(terms.collect())
    } else {
        combine::any(terms.collect())
    }
}

fn listed(needle: &Scalar, list: &[Scalar], found: bool, frames: &Frames<'_>) -> Narrow {
    let constants: Option<Vec<Value>> = list.iter().map(|scalar| frames.constant(scalar)).collect();
    let Some(place) = frames.place(needle) else {
        return match (frames.constant(needle), found) {
            (Some(needle), true) => {
                let equals = list.iter().map(|item| equals(item, &needle, frames));
                combine::any(equals.collect())
            }
            _ => Narrow::UNKNOWN,
        };
    };
    let ranges = match constants {
        Some(constants) if found => range::equal_to_any(&constants),
        _ => Ranges::defined(),
    };
    atom::value(place, ranges)
}

fn equals(scalar: &Scalar, value: &Value, frames: &Frames<'_>) -> Narrow {
    match (frames.constant(scalar), frames.place(scalar)) {
        (Some(constant), _) if value.is_undefined() || constant != *value => Narrow::FALSE,
        (Some(_), _) => Narrow::TRUE,
        (None, Some(place)) => atom::value(place, range::equal_to(value)),
        (None, None) => Narrow::UNKNOWN,
    }
}

fn between([value, low, high]: [&Scalar; 3], inside: bool, frames: &Frames<'_>) -> Narrow {
    let place = frames.place(value);
    let constants = (frames.constant(low), frames.constant(high));
    if let (Some(place), (Some(low), Some(high))) = (place, constants) {
        let from = range::compared(BinaryOp::GreaterOrEqual, &low, inside);
        let to = range::compared(BinaryOp::LessOrEqual, &high, inside);
        if !inside {
            return atom::value(place, range::union([from, to]));
        }
        let is_exact = from.is_exact && to.is_exact;
        return match range::intersection(&from.list, &to.list) {
            Some(both) if is_exact => atom::value(place, both),
            Some(both) => atom::value(place, both.vague()),
            None => atom::value(place, from.vague()),
        };
    }
    let sides = vec![
        compare(BinaryOp::GreaterOrEqual, value, low, inside, frames),
        compare(BinaryOp::LessOrEqual, value, high, inside, frames),
    ];
    if inside {
        combine::all(sides)
    } else {
        combine::any(sides)
    }
}

fn matching(pattern: &Pattern, matches: bool) -> Ranges {
    let texts = Ranges::of_type(ValueType::String);
    if !matches {
        return texts;
    }
    let beginning = pattern.beginning();
    let is_exact = beginning.is_all;
    let list = match beginning.text {
        text if !beginning.is_open => vec![ValueRange::Equal(Value::String(text))],
        text if text.is_empty() => texts.list,
        text => vec![ValueRange::Prefix(text)],
    };
    Ranges { list, is_exact }
}

fn binary(
    op: BinaryOp,
    left: &Scalar,
    right: &Scalar,
    wanted: bool,
    frames: &Frames<'_>,
) -> Narrow {
    match op {
        BinaryOp::Equal | BinaryOp::NotEqual => {
            equality(left, right, wanted == (op == BinaryOp::Equal), frames)
        }
        BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual => {
            compare(op, left, right, wanted, frames)
        }
        _ => Narrow::UNKNOWN,
    }
}

/// Both sides are there, and equal or not.
fn equality(left: &Scalar, right: &Scalar, equal: bool, frames: &Frames<'_>) -> Narrow {
    let (scalar, value) = match (frames.constant(left), frames.constant(right)) {
        (None, Some(value)) => (left, value),
        (Some(value), None) => (right, value),
        _ => return both_defined(left, right, frames),
    };
    if value.is_undefined() {
        return Narrow::FALSE;
    }
    if equal && let Some(near) = near(scalar, &value, frames) {
        return near;
    }
    match frames.place(scalar) {
        Some(place) if equal => atom::value(place, range::equal_to(&value)),
        place => atom::defined(place),
    }
}

fn compare(
    op: BinaryOp,
    left: &Scalar,
    right: &Scalar,
    wanted: bool,
    frames: &Frames<'_>,
) -> Narrow {
    let (op, scalar, value) = match (frames.constant(left), frames.constant(right)) {
        (None, Some(value)) => (op, left, value),
        (Some(value), None) => (turned(op), right, value),
        (Some(_), Some(_)) => {
            let op = Scalar::Binary(op, Box::new(left.clone()), Box::new(right.clone()));
            return holds(&op, wanted, frames);
        }
        (None, None) => return both_defined(left, right, frames),
    };
    let is_upper = match op {
        BinaryOp::Less | BinaryOp::LessOrEqual => wanted,
        _ => !wanted,
    };
    if is_upper && let Some(near) = near(scalar, &value, frames) {
        return near;
    }
    let ranges = range::compared(op, &value, wanted);
    match frames.place(scalar) {
        Some(place) => atom::value(place, ranges),
        None if ranges.list.is_empty() => Narrow::FALSE,
        None => Narrow::UNKNOWN,
    }
}

fn both_defined(left: &Scalar, right: &Scalar, frames: &Frames<'_>) -> Narrow {
    let sides = [left, right].map(|side| atom::defined(frames.place(side)));
    combine::all(sides.into()).vague()
}

/// `ST_DISTANCE(c.p, shape)` is at most `metres`.
fn near(scalar: &Scalar, metres: &Value, frames: &Frames<'_>) -> Option<Narrow> {
    let Scalar::Call(function, arguments) = scalar else {
        return None;
    };
    if function.name() != "ST_DISTANCE" {
        return None;
    }
    let metres_max = metres.as_number()?.as_f64();
    let relation = SpatialRelation::Distance { metres_max };
    Some(call::spatial(relation, arguments, true, frames))
}

/// The comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        op => op,
    }
}

/// Whether a predicate says that there is a value at a path with one value.
pub(super) fn says_defined(predicate: &Predicate, path: &crate::DocumentPath) -> bool {
    match predicate {
        Predicate::Value { path: of, .. } | Predicate::Spatial { path: of, .. } => {
            of.0.starts_with(&path.0)
        }
        Predicate::And(terms) => terms.iter().any(|term| says_defined(term, path)),
        Predicate::Or(terms) => terms.iter().all(|term| says_defined(term, path)),
        Predicate::Nothing => true,
        Predicate::Anything => false,
    }
}
