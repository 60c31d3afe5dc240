//! The condition of a patch: `FROM c WHERE c.n = 3`.

use orrery_json::Value;
use orrery_sql::parse_filter;

use crate::{CompileError, FilterQuery};

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
    pub fn holds(&self, document: &Value) -> bool {
        self.query.matches(document)
    }
}
