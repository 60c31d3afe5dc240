//! What a query says about single paths of its documents, so that an index can be asked first.
//!
//! A [`Predicate`] is a consequence of the filter, not the filter: every document that gives a row
//! satisfies it, and others may as well. Who uses it to find documents still runs the program over
//! them, unless [`Narrowing::is_exact`] says that there is nothing left to test.

use std::ops::Bound;

use orrery_json::Value;

/// One step from the root of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    Name(String),
    /// Some element of an array; indexes do not tell which.
    Element,
}

/// From the root of a document to a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DocumentPath(pub Vec<PathStep>);

impl DocumentPath {
    /// Whether a document can have several values at this path.
    pub fn is_multiple(&self) -> bool {
        self.0.contains(&PathStep::Element)
    }
}

/// What every matching document satisfies.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// The filter says nothing that an index could use.
    Anything,
    /// No document matches.
    Nothing,
    /// Never empty, never nested directly.
    And(Vec<Predicate>),
    /// Never empty, never nested directly.
    Or(Vec<Predicate>),
    /// A value at `path` is in one of the ranges. Never without ranges.
    Value {
        path: DocumentPath,
        ranges: Vec<ValueRange>,
    },
    /// A geometry at `path` is near or in another.
    Spatial {
        path: DocumentPath,
        relation: SpatialRelation,
        /// The `GeoJSON` value that the query names.
        geometry: Value,
    },
}

/// A set of values that stand together in the order of values.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueRange {
    /// Equal to this scalar.
    Equal(Value),
    /// Between two bounds of one scalar type. A side without a bound ends with the type.
    Between {
        low: Bound<Value>,
        high: Bound<Value>,
    },
    /// Strings that begin with this text.
    Prefix(String),
    OfType(ValueType),
    /// Anything that is there.
    Defined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueType {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpatialRelation {
    Within,
    Intersects,
    /// At most so many metres away.
    Distance {
        metres_max: f64,
    },
}

/// The predicate of a program, and whether it says all.
#[derive(Debug, Clone, PartialEq)]
pub struct Narrowing {
    pub predicate: Predicate,
    /// Whether a document that satisfies the predicate passes the filter for certain.
    pub is_exact: bool,
}
