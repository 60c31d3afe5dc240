//! The implications of a query for single document paths, for use with an index.
//!
//! A [`Predicate`] is a consequence of the filter, not the filter: every document that gives a row
//! satisfies it, and other documents may satisfy it too. A caller that finds documents by the
//! predicate still runs the program over them, unless [`SargableFilter::is_exact`] says that the
//! predicate is the whole filter.

use std::ops::Bound;

use orrery_json::Value;

/// One step from the root of a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathStep {
    Name(String),
    /// Some element of an array; an index does not record which.
    Element,
}

/// The path from the root of a document to a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DocumentPath(pub Vec<PathStep>);

impl DocumentPath {
    /// Whether a document can have several values at this path.
    pub fn is_multiple(&self) -> bool {
        self.0.contains(&PathStep::Element)
    }
}

/// A condition that every matching document satisfies.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// The filter implies nothing that an index could use.
    Anything,
    /// No document matches.
    Nothing,
    /// Never empty, and no term is itself an `And`.
    And(Vec<Predicate>),
    /// Never empty, and no term is itself an `Or`.
    Or(Vec<Predicate>),
    /// A value at `path` lies in one of the ranges. The list is never empty.
    Value {
        path: DocumentPath,
        ranges: Vec<ValueRange>,
    },
    /// A geometry at `path` is near, within or in contact with another.
    Spatial {
        path: DocumentPath,
        relation: SpatialRelation,
        /// The `GeoJSON` value in the query.
        geometry: Value,
    },
}

/// A contiguous set of values in value order.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueRange {
    /// Equal to this scalar.
    Equal(Value),
    /// Between two bounds of one scalar type. A missing bound means the end of the type.
    Between {
        low: Bound<Value>,
        high: Bound<Value>,
    },
    /// Strings that begin with this text.
    Prefix(String),
    OfType(ValueType),
    /// Any defined value.
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
    /// At most this many metres apart.
    Distance {
        metres_max: f64,
    },
}

/// The predicate of a program, and whether it is the whole filter.
#[derive(Debug, Clone, PartialEq)]
pub struct SargableFilter {
    pub predicate: Predicate,
    /// Whether every document that satisfies the predicate also passes the filter.
    pub is_exact: bool,
}
