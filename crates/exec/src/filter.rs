//! Queries over one document at a time: `SELECT ... FROM c WHERE ...`.

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::{Collection, FromSource};

use crate::context::Context;
use crate::frame::Frame;
use crate::projection::RowProjection;
use crate::query_block::QueryBlock;
use crate::scope::{ContainerName, Scope};
use crate::{CompileError, ExecError};

/// A compiled filter and projection.
#[derive(Debug, Clone)]
pub struct FilterQuery {
    block: QueryBlock,
}

impl FilterQuery {
    /// Binds the names of `query` and the values of its parameters. Supplied parameters that the
    /// query does not use are ignored.
    pub fn compile(
        query: &Query,
        parameters: &[(String, Value)],
    ) -> Result<FilterQuery, CompileError> {
        if query.from.is_empty() {
            return Err(CompileError::unsupported("SELECT without FROM"));
        }
        compile(query, parameters)
    }

    /// Whether the document passes `WHERE`: only `true` passes, not undefined.
    pub fn matches(&self, document: &Value) -> bool {
        self.decide(document).unwrap_or_default()
    }

    /// Decides like [`FilterQuery::matches`], or returns the error that ended the evaluation.
    pub(crate) fn decide(&self, document: &Value) -> Result<bool, ExecError> {
        let context = Context::untimed();
        let passes = self.block.passes(&Frame::document(document, &context));
        context.check().map(|()| passes)
    }

    /// The row of a matching document; `Undefined` for a document without a row.
    pub fn project(&self, document: &Value) -> Value {
        let context = Context::untimed();
        let frame = Frame::document(document, &context);
        self.block.projection.output(&frame)
    }

    /// Whether every row is the document itself, so that its stored text can be returned.
    pub fn selects_whole_document(&self) -> bool {
        matches!(self.block.projection, RowProjection::Document)
    }
}

/// Compiles with or without `FROM`; refuses every clause that needs more than one document.
pub(crate) fn compile(
    query: &Query,
    parameters: &[(String, Value)],
) -> Result<FilterQuery, CompileError> {
    let container = match query.from.as_slice() {
        [] => ContainerName::Absent,
        [source] => {
            refuse_source(source)?;
            ContainerName::Unnamed
        }
        [_, ..] => return Err(CompileError::unsupported("JOIN")),
    };
    let scope = Scope::of_filters(container, parameters);
    let (block, _) = QueryBlock::compile(query, &scope, &[])?;
    let clauses = [
        (query.select.distinct, "DISTINCT"),
        (query.select.top.is_some(), "TOP"),
        (!query.group_by.is_empty(), "GROUP BY"),
        (query.order_by.is_some(), "ORDER BY"),
        (query.offset_limit.is_some(), "OFFSET LIMIT"),
    ];
    match clauses.into_iter().find(|(present, _)| *present) {
        Some((_, clause)) => Err(CompileError::unsupported(clause)),
        None => Ok(FilterQuery { block }),
    }
}

/// Refuses a source that is not the document itself.
fn refuse_source(source: &FromSource) -> Result<(), CompileError> {
    let what = match source {
        FromSource::Elements { .. } => "FROM ... IN",
        FromSource::Value {
            collection: Collection::Subquery(_),
            ..
        } => "subquery in FROM",
        FromSource::Value {
            collection: Collection::Path { steps, .. },
            ..
        } if !steps.is_empty() => "path in FROM",
        FromSource::Value { .. } => return Ok(()),
    };
    Err(CompileError::unsupported(what))
}
