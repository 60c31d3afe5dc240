//! The condition of a patch: `FROM c WHERE c.n = 3`.

use orrery_json::Value;
use orrery_sql::parse_filter;

use crate::{CompileError, ExecError, FilterQuery};

/// A predicate over the document that is about to be patched.
#[derive(Debug, Clone)]
pub struct Condition {
    query: FilterQuery,
}

/// Reads and binds a condition. It has no parameters.
pub fn compile_condition(text: &str) -> Result<Condition, CompileError> {
    let query = parse_filter(text)?;
    Ok(Condition {
        query: FilterQuery::compile(&query, &[])?,
    })
}

impl Condition {
    /// Fails for a condition that takes long to evaluate, because other writes wait while the
    /// caller evaluates it.
    pub fn holds(&self, document: &Value) -> Result<bool, ExecError> {
        self.query.decide(document)
    }
}
