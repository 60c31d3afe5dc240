//! What a plan is made from.

use orrery_json::{Path, Value};
use orrery_keys::KeyDefinition;
use orrery_sql::ast::Query;

use crate::{Features, Functions};

/// A query and what the plan needs to know of its container and of its client.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    pub query: &'a Query,
    /// Names begin with `@`.
    pub parameters: &'a [(String, Value)],
    /// `None` for a container without partition key paths.
    pub key: Option<&'a KeyDefinition>,
    /// What the client says it can do; `None` if it says nothing, which is taken as everything.
    pub features: Option<Features>,
    pub functions: &'a dyn Functions,
    /// The vector policy of the container: the direction of a vector's order depends on it.
    pub vectors: &'a [VectorEmbedding],
}

/// One entry of a container's vector policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorEmbedding {
    pub path: Path,
    pub distance_function: DistanceFunction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceFunction {
    Cosine,
    DotProduct,
    Euclidean,
}

impl DistanceFunction {
    /// Reads the name in any case.
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
