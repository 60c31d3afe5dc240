//! What one path of the document says.

use orrery_json::Value;

use super::range::{self, Ranges};
use super::{Narrow, Place, combine};
use crate::predicate::{PathStep, Predicate, ValueType};

/// The value at `place` is in `ranges`.
pub(super) fn value(place: Place, ranges: Ranges) -> Narrow {
    if ranges.list.is_empty() {
        return Narrow::FALSE;
    }
    if place.path.0.is_empty() {
        return Narrow::UNKNOWN;
    }
    Narrow {
        is_exact: place.is_exact && ranges.is_exact,
        predicate: Predicate::Value {
            path: place.path,
            ranges: ranges.list,
        },
    }
}

/// There is a value at `place`, if there is a place.
pub(super) fn defined(place: Option<Place>) -> Narrow {
    place.map_or(Narrow::UNKNOWN, |place| value(place, Ranges::defined()))
}

/// The array at `place` has an element that equals one of `needles`.
pub(super) fn has_any<'a>(place: Place, needles: impl IntoIterator<Item = &'a Value>) -> Narrow {
    let ranges = range::equal_to_any(needles);
    let is_exact = place.is_exact && ranges.is_exact;
    let narrow = value(place.element(), ranges);
    Narrow {
        is_exact: is_exact || narrow == Narrow::FALSE,
        ..narrow
    }
}

/// The value at `place` has all that `part` has, of which other values are compared.
pub(super) fn covers(place: Place, part: &Value) -> Narrow {
    let Value::Object(properties) = part else {
        return value(place, range::equal_to(part)).vague();
    };
    if properties.is_empty() {
        return value(place, Ranges::of_type(ValueType::Object));
    }
    let properties = properties.iter().map(|(name, part)| {
        let place = place.clone().then(PathStep::Name(name.clone()));
        covers(place, part)
    });
    combine::all(properties.collect()).vague()
}
