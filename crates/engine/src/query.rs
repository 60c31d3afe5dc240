//! Queries, as far as this version runs them: a filter and a projection over one source.

use orrery_exec::{CompileError, FilterQuery};
use orrery_json::Value;
use orrery_keys::{Component, KeyDefinition, PartitionKey};
use orrery_model::{Failure, limits};

/// A query bound to its parameters.
#[derive(Debug, Clone)]
pub struct CompiledQuery {
    query: FilterQuery,
}

impl CompiledQuery {
    pub fn compile(text: &str, parameters: &[(String, Value)]) -> Result<CompiledQuery, Failure> {
        if text.chars().count() > limits::QUERY_TEXT_CHARS_MAX {
            return Err(Failure::BadRequest(format!(
                "The query text has more than {} characters.",
                limits::QUERY_TEXT_CHARS_MAX
            )));
        }
        let compile = || FilterQuery::compile(&orrery_sql::parse(text)?, parameters);
        let query = compile().map_err(|error| refuse(&error))?;
        Ok(CompiledQuery { query })
    }

    /// The row a document gives, if it passes the filter and has one.
    pub fn row(&self, document: &Value) -> Option<Value> {
        if !self.query.matches(document) {
            return None;
        }
        let row = self.query.project(document);
        (!row.is_undefined()).then_some(row)
    }

    /// The one partition key that every row must have, if the filter says so.
    pub fn pinned_key(&self, definition: &KeyDefinition) -> Option<PartitionKey> {
        let component = |path| match self.query.required_values(path)?.as_slice() {
            [value] => Component::from_value(value),
            _ => None,
        };
        let components = definition
            .paths()
            .iter()
            .map(component)
            .collect::<Option<_>>();
        components.map(PartitionKey::new)
    }

    /// Whether rows are documents as they are stored.
    pub fn selects_whole_document(&self) -> bool {
        self.query.selects_whole_document()
    }

    pub fn matches(&self, document: &Value) -> bool {
        self.query.matches(document)
    }
}

fn refuse(error: &CompileError) -> Failure {
    match error {
        CompileError::Unsupported { .. } => Failure::NotImplemented(error.to_string()),
        _ => Failure::BadRequest(error.to_string()),
    }
}
