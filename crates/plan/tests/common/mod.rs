//! What the tests of plans share.

use orrery_json::{Path, Value};
use orrery_keys::{KeyDefinition, KeyKind, KeyVersion};
use orrery_plan::{
    Arity, Features, Functions, PlanError, PlanRequest, QueryPlan, VectorEmbedding, plan,
};

/// Accepts every function but one, and evaluates none: what functions there are is not the
/// planner's concern.
pub(crate) struct AnyFunction;

impl Functions for AnyFunction {
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
    pub(crate) key: Option<KeyDefinition>,
    pub(crate) parameters: Vec<(String, Value)>,
    pub(crate) features: Option<Features>,
    pub(crate) vectors: Vec<VectorEmbedding>,
    pub(crate) functions: &'static dyn Functions,
}

impl Setting {
    /// A container with this key, and a client that can do everything.
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

/// One path is hashed as a whole, several one by one.
pub(crate) fn definition(paths: &[&str]) -> Option<KeyDefinition> {
    let (kind, version) = match paths.len() {
        0 => return None,
        1 => (KeyKind::Hash, KeyVersion::V2),
        _ => (KeyKind::MultiHash, KeyVersion::V2),
    };
    let paths = paths
        .iter()
        .map(|path| Path::parse(path).expect("a path of a test"))
        .collect();
    Some(KeyDefinition::new(paths, kind, version).expect("a key of a test"))
}
