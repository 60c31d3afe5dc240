//! The condition of a patch operation: `FROM c WHERE c.n = 3`.

use orrery_json::Value;
use orrery_sql::parse_filter;

use crate::{CompileError, ExecError, FilterQuery};

/// A predicate over the document that a patch would change.
#[derive(Debug, Clone)]
pub struct Condition {
    query: FilterQuery,
}

/// Parses and compiles a condition. A condition has no parameters.
pub fn compile_condition(text: &str) -> Result<Condition, CompileError> {
    let query = parse_filter(text)?;
    Ok(Condition {
        query: FilterQuery::compile(&query, &[])?,
    })
}

impl Condition {
    /// Evaluates the condition. The evaluation fails above a step limit, because the committer
    /// evaluates it while other writes wait.
    pub fn holds(&self, document: &Value) -> Result<bool, ExecError> {
        self.query.decide(document)
    }
}
