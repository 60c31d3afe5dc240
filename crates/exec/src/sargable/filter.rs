//! Predicates implied by an expression that is true, or false.

use orrery_json::Value;
use orrery_sql::ast::{BinaryOp, SubqueryKind, UnaryOp};

use super::range::{self, Ranges};
use super::{FrameBindings, ImpliedPredicate, atom, call, combine, rows};
use crate::predicate::{Predicate, SpatialRelation, ValueRange, ValueType};
use crate::scalar::{Pattern, Scalar};

/// The predicate that holds wherever the truth of `scalar` is `wanted`.
pub(super) fn implied_by(
    scalar: &Scalar,
    wanted: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    if let Some(value) = frames.constant(scalar) {
        return if value.as_bool() == Some(wanted) {
            ImpliedPredicate::TRUE
        } else {
            ImpliedPredicate::FALSE
        };
    }
    match scalar {
        Scalar::Path(..) => match frames.bound_path(scalar) {
            Some(bound_path) => atom::value(bound_path, range::equal_to(&Value::Bool(wanted))),
            None => ImpliedPredicate::UNKNOWN,
        },
        Scalar::Unary(UnaryOp::Not, operand) => implied_by(operand, !wanted, frames),
        Scalar::And(terms) => all_or_any(terms, wanted, wanted, frames),
        Scalar::Or(terms) => all_or_any(terms, wanted, !wanted, frames),
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
        } => match frames.bound_path(value) {
            Some(bound_path) => atom::value(bound_path, matching(pattern, wanted != *negated)),
            None => ImpliedPredicate::UNKNOWN,
        },
        Scalar::Like { value, pattern, .. } => {
            let texts = [value, pattern].map(|text| match frames.bound_path(text) {
                Some(bound_path) => atom::value(bound_path, Ranges::of_type(ValueType::String)),
                None => ImpliedPredicate::UNKNOWN,
            });
            combine::all(texts.into()).inexact()
        }
        Scalar::Binary(op, left, right) => binary(*op, left, right, wanted, frames),
        Scalar::Call(function, arguments) => call::implied_by(function, arguments, wanted, frames),
        Scalar::Let { value, body } => {
            implied_by(body, wanted, &frames.with(frames.bound_path(value))).inexact()
        }
        Scalar::Subquery(SubqueryKind::Exists, block) if wanted => {
            rows::row_exists(block, frames).0.inexact()
        }
        Scalar::Subquery(SubqueryKind::Scalar | SubqueryKind::First, block) => {
            rows::row_has_truth(block, wanted, frames).inexact()
        }
        _ => ImpliedPredicate::UNKNOWN,
    }
}

/// All terms of a true `AND` are true and all terms of a false `OR` are false; in the other cases
/// at least one term is.
fn all_or_any(
    terms: &[Scalar],
    wanted: bool,
    by_all: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let terms = terms.iter().map(|term| implied_by(term, wanted, frames));
    if by_all {
        combine::all(terms.collect())
    } else {
        combine::any(terms.collect())
    }
}

/// `IN` or `NOT IN` a list. `NOT IN` implies only that the value exists.
fn listed(
    needle: &Scalar,
    list: &[Scalar],
    found: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let constants: Option<Vec<Value>> = list.iter().map(|scalar| frames.constant(scalar)).collect();
    let Some(bound_path) = frames.bound_path(needle) else {
        return match (frames.constant(needle), found) {
            (Some(needle), true) => {
                let equals = list.iter().map(|item| equals(item, &needle, frames));
                combine::any(equals.collect())
            }
            _ => ImpliedPredicate::UNKNOWN,
        };
    };
    let ranges = match constants {
        Some(constants) if found => range::equal_to_any(&constants),
        _ => Ranges::defined(),
    };
    atom::value(bound_path, ranges)
}

fn equals(scalar: &Scalar, value: &Value, frames: &FrameBindings<'_>) -> ImpliedPredicate {
    match (frames.constant(scalar), frames.bound_path(scalar)) {
        (Some(constant), _) if value.is_undefined() || constant != *value => {
            ImpliedPredicate::FALSE
        }
        (Some(_), _) => ImpliedPredicate::TRUE,
        (None, Some(bound_path)) => atom::value(bound_path, range::equal_to(value)),
        (None, None) => ImpliedPredicate::UNKNOWN,
    }
}

/// `BETWEEN` or its negation, as a range of constants or as two comparisons.
fn between(
    [value, low, high]: [&Scalar; 3],
    inside: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let bound_path = frames.bound_path(value);
    let constants = (frames.constant(low), frames.constant(high));
    if let (Some(bound_path), (Some(low), Some(high))) = (bound_path, constants) {
        let from = range::compared(BinaryOp::GreaterOrEqual, &low, inside);
        let to = range::compared(BinaryOp::LessOrEqual, &high, inside);
        if !inside {
            // A negated comparison needs a defined value, so both sides form one union of ranges.
            return atom::value(bound_path, range::union([from, to]));
        }
        let is_exact = from.is_exact && to.is_exact;
        return match range::intersection(&from.list, &to.list) {
            Some(both) if is_exact => atom::value(bound_path, both),
            Some(both) => atom::value(bound_path, both.inexact()),
            None => atom::value(bound_path, from.inexact()),
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

/// The ranges of strings that match a constant `LIKE` pattern: those with its literal beginning.
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
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    match op {
        BinaryOp::Equal | BinaryOp::NotEqual => {
            equality(left, right, wanted == (op == BinaryOp::Equal), frames)
        }
        BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual => {
            compare(op, left, right, wanted, frames)
        }
        _ => ImpliedPredicate::UNKNOWN,
    }
}

/// Both sides are defined, and equal or unequal.
fn equality(
    left: &Scalar,
    right: &Scalar,
    equal: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let (scalar, value) = match (frames.constant(left), frames.constant(right)) {
        (None, Some(value)) => (left, value),
        (Some(value), None) => (right, value),
        _ => return both_defined(left, right, frames),
    };
    if value.is_undefined() {
        return ImpliedPredicate::FALSE;
    }
    // A distance equal to a constant is at most that constant.
    if equal && let Some(distance) = distance_at_most(scalar, &value, frames) {
        return distance;
    }
    match frames.bound_path(scalar) {
        Some(bound_path) if equal => atom::value(bound_path, range::equal_to(&value)),
        bound_path => atom::defined(bound_path),
    }
}

/// An order comparison with a constant on either side.
fn compare(
    op: BinaryOp,
    left: &Scalar,
    right: &Scalar,
    wanted: bool,
    frames: &FrameBindings<'_>,
) -> ImpliedPredicate {
    let (op, scalar, value) = match (frames.constant(left), frames.constant(right)) {
        (None, Some(value)) => (op, left, value),
        (Some(value), None) => (mirrored(op), right, value),
        (Some(_), Some(_)) => {
            let op = Scalar::Binary(op, Box::new(left.clone()), Box::new(right.clone()));
            return implied_by(&op, wanted, frames);
        }
        (None, None) => return both_defined(left, right, frames),
    };
    let is_upper = match op {
        BinaryOp::Less | BinaryOp::LessOrEqual => wanted,
        _ => !wanted,
    };
    if is_upper && let Some(distance) = distance_at_most(scalar, &value, frames) {
        return distance;
    }
    let ranges = range::compared(op, &value, wanted);
    match frames.bound_path(scalar) {
        Some(bound_path) => atom::value(bound_path, ranges),
        None if ranges.list.is_empty() => ImpliedPredicate::FALSE,
        None => ImpliedPredicate::UNKNOWN,
    }
}

/// A comparison of two paths implies only that both values exist.
fn both_defined(left: &Scalar, right: &Scalar, frames: &FrameBindings<'_>) -> ImpliedPredicate {
    let sides = [left, right].map(|side| atom::defined(frames.bound_path(side)));
    combine::all(sides.into()).inexact()
}

/// The predicate of `ST_DISTANCE(c.p, shape)` being at most `metres`.
fn distance_at_most(
    scalar: &Scalar,
    metres: &Value,
    frames: &FrameBindings<'_>,
) -> Option<ImpliedPredicate> {
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

/// The comparison with exchanged sides.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        op => op,
    }
}

/// Whether a predicate implies that a single-valued path has a value.
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
