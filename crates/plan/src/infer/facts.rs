//! What is known about the paths of a query.

use crate::limits::INFERRED_PATHS_MAX;
use crate::scope::PathSegment;

use super::values::{Kinds, Values};

/// A path below the value of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValuePath {
    /// The number of the source; 0 is the container.
    pub(super) source: usize,
    pub(super) path: Vec<PathSegment>,
}

/// The possible values of the constrained paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    known: Vec<(ValuePath, Values)>,
}

impl ValuePath {
    pub(super) fn of_source(source: usize) -> ValuePath {
        ValuePath {
            source,
            path: Vec::new(),
        }
    }

    pub(super) fn step(mut self, segment: PathSegment) -> ValuePath {
        self.path.push(segment);
        self
    }
}

impl Facts {
    /// The possible values at a path, by the facts about the path, about the objects around it, and
    /// about its properties.
    pub(super) fn values(&self, place: &ValuePath) -> Values {
        let mut values = Values::of_kinds(if place.path.is_empty() {
            Kinds::DEFINED
        } else {
            Kinds::ALL
        });
        for (known, of_known) in &self.known {
            if known.source != place.source {
                continue;
            }
            if known.path == place.path {
                values = values.intersection(of_known);
            } else if let Some(below) = place.path.strip_prefix(known.path.as_slice()) {
                values = values.intersection(&parts(of_known, below));
            } else if let Some([segment, ..]) = known.path.strip_prefix(place.path.as_slice())
                && !of_known.may_be(Kinds::UNDEFINED)
            {
                values = values.of_only(parent_of(segment));
            }
        }
        values
    }

    /// Narrows the values at a place; false if none is left.
    pub(super) fn narrow(&mut self, place: &ValuePath, values: &Values) -> bool {
        let left = self.values(place).intersection(values);
        if left.is_empty() {
            return false;
        }
        match self.known.iter().position(|(known, _)| known == place) {
            Some(index) => self.known[index].1 = left,
            None if self.known.len() == INFERRED_PATHS_MAX => return true,
            None => self.known.push((place.clone(), left)),
        }
        // The parents must be able to have this part.
        let mut parent = place.clone();
        while !self_defined(&self.known, place) && parent.path.pop().is_some() {
            if self.values(&parent).is_empty() {
                return false;
            }
        }
        // What is known of the parts must agree with the new value.
        self.known.iter().all(|(known, of_known)| {
            let is_part = known.source == place.source && known.path.starts_with(&place.path);
            !is_part || !self.values(known).intersection(of_known).is_empty()
        })
    }

    /// The facts about a document for which one of two conditions holds.
    pub(super) fn either(&self, other: &Facts) -> Facts {
        let known = self.known.iter().filter_map(|(place, values)| {
            let others = other.known.iter().find(|(known, _)| known == place);
            others.map(|(_, others)| (place.clone(), values.union(others)))
        });
        Facts {
            known: known.collect(),
        }
    }
}

/// Whether the value at a path may be undefined. Then the fact says nothing about the objects
/// around the value.
fn self_defined(known: &[(ValuePath, Values)], place: &ValuePath) -> bool {
    let found = known.iter().find(|(known, _)| known == place);
    found.is_none_or(|(_, values)| values.may_be(Kinds::UNDEFINED))
}

/// The kind of a value that has such a part.
fn parent_of(segment: &PathSegment) -> Kinds {
    match segment {
        PathSegment::Name(_) => Kinds::OBJECT,
        PathSegment::Index(_) => Kinds::ARRAY,
    }
}

/// The possible parts of some values.
pub(super) fn parts(values: &Values, path: &[PathSegment]) -> Values {
    let Some(segment) = path.first() else {
        return values.clone();
    };
    if let Some(listed) = values.listed() {
        let parts = listed.iter().map(|value| {
            let mut part = value;
            for segment in path {
                part = match segment {
                    PathSegment::Name(name) => part.get(name),
                    PathSegment::Index(index) => {
                        part.at(usize::try_from(*index).unwrap_or(usize::MAX))
                    }
                };
            }
            Values::of(part.clone())
        });
        return parts.fold(Values::of_kinds(Kinds::NONE), |all, part| all.union(&part));
    }
    Values::of_kinds(if values.may_be(parent_of(segment)) {
        Kinds::ALL
    } else {
        Kinds::UNDEFINED
    })
}
