//! Shared fixtures of the plan tests.

use orrery_json::{PropertyPath, Value};
use orrery_keys::{PartitionKeyDefinition, PartitionKeyKind, PartitionKeyVersion};
use orrery_plan::{
    Arity, BuiltinFunctions, Features, PlanError, PlanRequest, QueryPlan, VectorEmbedding, plan,
};

/// Accepts every function name but one and evaluates no function: the planner does not depend on
/// the set of functions.
pub(crate) struct AnyFunction;

impl BuiltinFunctions for AnyFunction {
    fn arity(&self, name: &str) -> Option<Arity> {
        match name {
            "BADFUNC" => None,
            "STARTSWITH" => Some(Arity::Between(2, 3)),
            _ => Some(Arity::AtLeast(0)),
        }
    }

    fn evaluate(&self, _: &str, _: &[Value]) -> Option<Value> {
        None
    }
}

pub(crate) struct Setting {
    pub(crate) key: Option<PartitionKeyDefinition>,
    pub(crate) parameters: Vec<(String, Value)>,
    pub(crate) features: Option<Features>,
    pub(crate) vectors: Vec<VectorEmbedding>,
    pub(crate) functions: &'static dyn BuiltinFunctions,
}

impl Setting {
    /// A container with this partition key, and a client that supports every feature.
    pub(crate) fn with_key(paths: &[&str]) -> Setting {
        Setting {
            key: definition(paths),
            parameters: Vec::new(),
            features: None,
            vectors: Vec::new(),
            functions: &AnyFunction,
        }
    }

    pub(crate) fn plan(&self, text: &str) -> Result<QueryPlan, PlanError> {
        let query = orrery_sql::parse(text)?;
        plan(&PlanRequest {
            query: &query,
            parameters: &self.parameters,
            key: self.key.as_ref(),
            features: self.features,
            functions: self.functions,
            vectors: &self.vectors,
        })
    }
}

/// A `Hash` definition for one path, a `MultiHash` definition for several.
pub(crate) fn definition(paths: &[&str]) -> Option<PartitionKeyDefinition> {
    let (kind, version) = match paths.len() {
        0 => return None,
        1 => (PartitionKeyKind::Hash, PartitionKeyVersion::V2),
        _ => (PartitionKeyKind::MultiHash, PartitionKeyVersion::V2),
    };
    let paths = paths
        .iter()
        .map(|path| PropertyPath::parse(path).expect("a path of a test"))
        .collect();
    Some(PartitionKeyDefinition::new(paths, kind, version).expect("a key of a test"))
}
