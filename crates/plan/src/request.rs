//! The input of planning.

use orrery_json::{PropertyPath, Value};
use orrery_keys::PartitionKeyDefinition;
use orrery_sql::ast::Query;

use crate::{BuiltinFunctions, Features};

/// A query, with the facts about its container and its client that a plan depends on.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    pub query: &'a Query,
    /// Parameters by name; a name begins with `@`.
    pub parameters: &'a [(String, Value)],
    /// `None` for a container without partition key paths.
    pub key: Option<&'a PartitionKeyDefinition>,
    /// The features that the client advertises. `None` for a client without the header, which is
    /// assumed to support every feature.
    pub features: Option<Features>,
    pub functions: &'a dyn BuiltinFunctions,
    /// The vector policy of the container, which determines the sort direction of vector distances.
    pub vectors: &'a [VectorEmbedding],
}

/// One entry of a container's vector policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorEmbedding {
    pub path: PropertyPath,
    pub distance_function: DistanceFunction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceFunction {
    Cosine,
    DotProduct,
    Euclidean,
}

impl DistanceFunction {
    /// Parses the name without regard to case.
    pub fn parse(name: &str) -> Option<DistanceFunction> {
        [
            ("cosine", DistanceFunction::Cosine),
            ("dotproduct", DistanceFunction::DotProduct),
            ("euclidean", DistanceFunction::Euclidean),
        ]
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, function)| function)
    }
}
