//! Queries that look at one document at a time: `SELECT ... FROM c WHERE ...`.

use orrery_json::{Path, Value};
use orrery_sql::Query;
use orrery_sql::ast::Projection;

use crate::CompileError;
use crate::compile::Scope;
use crate::projection::Row;
use crate::required;
use crate::scalar::Scalar;

/// A filter and a projection, ready to run.
#[derive(Debug, Clone)]
pub struct FilterQuery {
    filter: Option<Scalar>,
    row: Row,
}

impl FilterQuery {
    /// Binds the names of `query` and the values of its parameters. Parameters that the query
    /// does not use are ignored.
    pub fn compile(
        query: &Query,
        parameters: &[(String, Value)],
    ) -> Result<FilterQuery, CompileError> {
        if query.from.is_empty() {
            return Err(CompileError::unsupported("SELECT without FROM"));
        }
        compile(query, parameters)
    }

    /// Whether the document passes `WHERE`: the filter is exactly `true`.
    pub fn matches(&self, document: &Value) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.truth(document) == Some(true))
    }

    /// The row a matching document gives; `Undefined` when it gives none.
    pub fn project(&self, document: &Value) -> Value {
        self.row.project(document)
    }

    /// Whether every row is the document itself, so that its stored text can be the answer.
    pub fn selects_whole_document(&self) -> bool {
        matches!(self.row, Row::Document)
    }

    /// The only values that `path` can have in a document that matches, as far as the filter
    /// shows it: `c.a = 1` gives `[1]`, `c.a IN (1, 2)` gives `[1, 2]`, a contradiction gives
    /// `[]`. `None` when the filter does not narrow the path to constants.
    pub fn required_values(&self, path: &Path) -> Option<Vec<Value>> {
        self.filter
            .as_ref()
            .and_then(|filter| required::values(filter, path.segments()))
    }
}

/// Compiles with or without `FROM`; every clause that needs more than one document is refused.
pub(crate) fn compile(
    query: &Query,
    parameters: &[(String, Value)],
) -> Result<FilterQuery, CompileError> {
    let clauses = [
        (query.select.distinct, "DISTINCT"),
        (query.select.top.is_some(), "TOP"),
        (!query.group_by.is_empty(), "GROUP BY"),
        (query.order_by.is_some(), "ORDER BY"),
        (query.offset_limit.is_some(), "OFFSET LIMIT"),
    ];
    if let (Projection::Star(span), [_, ..]) = (&query.select.projection, &*query.group_by) {
        return Err(CompileError::StarWithGroupBy { span: *span });
    }
    let scope = Scope::of(query, parameters)?;
    if let Some((_, clause)) = clauses.into_iter().find(|(present, _)| *present) {
        return Err(CompileError::unsupported(clause));
    }
    Ok(FilterQuery {
        filter: query
            .filter
            .as_ref()
            .map(|filter| scope.compile(filter))
            .transpose()?,
        row: Row::compile(&query.select.projection, &scope)?,
    })
}
