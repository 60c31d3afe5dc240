//! Predicates about one document path.

use orrery_json::Value;

use super::range::{self, Ranges};
use super::{BoundPath, ImpliedPredicate, combine};
use crate::predicate::{PathStep, Predicate, ValueType};

/// The value at `bound_path` lies in `ranges`.
pub(super) fn value(bound_path: BoundPath, ranges: Ranges) -> ImpliedPredicate {
    if ranges.list.is_empty() {
        return ImpliedPredicate::FALSE;
    }
    // The root of a document has no index entries.
    if bound_path.path.0.is_empty() {
        return ImpliedPredicate::UNKNOWN;
    }
    ImpliedPredicate {
        is_exact: bound_path.is_exact && ranges.is_exact,
        predicate: Predicate::Value {
            path: bound_path.path,
            ranges: ranges.list,
        },
    }
}

/// A value exists at `bound_path`; an unknown path implies nothing.
pub(super) fn defined(bound_path: Option<BoundPath>) -> ImpliedPredicate {
    bound_path.map_or(ImpliedPredicate::UNKNOWN, |bound_path| {
        value(bound_path, Ranges::defined())
    })
}

/// The array at `bound_path` has an element equal to one of `needles`.
pub(super) fn has_any<'a>(
    bound_path: BoundPath,
    needles: impl IntoIterator<Item = &'a Value>,
) -> ImpliedPredicate {
    let ranges = range::equal_to_any(needles);
    let is_exact = bound_path.is_exact && ranges.is_exact;
    let narrow = value(bound_path.element(), ranges);
    // An element path alone is inexact, but here one matching element is the whole condition.
    ImpliedPredicate {
        is_exact: is_exact || narrow == ImpliedPredicate::FALSE,
        ..narrow
    }
}

/// The value at `bound_path` contains `part` recursively; other values must be equal.
pub(super) fn covers(bound_path: BoundPath, part: &Value) -> ImpliedPredicate {
    let Value::Object(properties) = part else {
        return value(bound_path, range::equal_to(part)).inexact();
    };
    if properties.is_empty() {
        return value(bound_path, Ranges::of_type(ValueType::Object));
    }
    let properties = properties.iter().map(|(name, part)| {
        let bound_path = bound_path.clone().then(PathStep::Name(name.clone()));
        covers(bound_path, part)
    });
    combine::all(properties.collect()).inexact()
}
