//! Queries without `FROM`: they return one row, independent of the container.

use orrery_json::Value;
use orrery_sql::Query;

use crate::CompileError;
use crate::filter::{self, FilterQuery};

/// A query such as `SELECT VALUE 1 + 1`.
#[derive(Debug, Clone)]
pub struct ConstantQuery {
    query: FilterQuery,
}

impl ConstantQuery {
    /// Compiles the query; refuses a query that reads a container.
    pub fn compile(
        query: &Query,
        parameters: &[(String, Value)],
    ) -> Result<ConstantQuery, CompileError> {
        if !query.from.is_empty() {
            return Err(CompileError::unsupported("FROM in a constant query"));
        }
        Ok(ConstantQuery {
            query: filter::compile(query, parameters)?,
        })
    }

    /// The row, unless `WHERE` rejects it or it is undefined.
    pub fn row(&self) -> Option<Value> {
        let nothing = Value::Undefined;
        if !self.query.matches(&nothing) {
            return None;
        }
        Some(self.query.project(&nothing)).filter(|row| !row.is_undefined())
    }
}
