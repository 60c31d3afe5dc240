//! Queries that look at one document at a time: `SELECT ... FROM c WHERE ...`.

use orrery_json::Value;
use orrery_sql::Query;
use orrery_sql::ast::{Collection, Source};

use crate::block::Block;
use crate::context::Context;
use crate::frame::Frame;
use crate::projection::Selection;
use crate::scope::{Container, Scope};
use crate::{CompileError, ExecError};

/// A filter and a projection, ready to run.
#[derive(Debug, Clone)]
pub struct FilterQuery {
    block: Block,
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
        self.decide(document).unwrap_or_default()
    }

    /// Decides as [`FilterQuery::matches`] does, or gives the error that ended the evaluation of
    /// the filter.
    pub(crate) fn decide(&self, document: &Value) -> Result<bool, ExecError> {
        let context = Context::untimed();
        let passes = self.block.passes(&Frame::document(document, &context));
        context.check().map(|()| passes)
    }

    /// The row a matching document gives; `Undefined` when it gives none.
    pub fn project(&self, document: &Value) -> Value {
        let context = Context::untimed();
        let frame = Frame::document(document, &context);
        self.block.selection.output(&frame)
    }

    /// Whether every row is the document itself, so that its stored text can be the answer.
    pub fn selects_whole_document(&self) -> bool {
        matches!(self.block.selection, Selection::Document)
    }
}

/// Compiles with or without `FROM`; every clause that needs more than one document is refused.
pub(crate) fn compile(
    query: &Query,
    parameters: &[(String, Value)],
) -> Result<FilterQuery, CompileError> {
    let container = match query.from.as_slice() {
        [] => Container::Absent,
        [source] => {
            refuse_source(source)?;
            Container::Unnamed
        }
        [_, ..] => return Err(CompileError::unsupported("JOIN")),
    };
    let scope = Scope::of_filters(container, parameters);
    let (block, _) = Block::compile(query, &scope, &[])?;
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

fn refuse_source(source: &Source) -> Result<(), CompileError> {
    let what = match source {
        Source::Elements { .. } => "FROM ... IN",
        Source::Value {
            collection: Collection::Subquery(_),
            ..
        } => "subquery in FROM",
        Source::Value {
            collection: Collection::Path { steps, .. },
            ..
        } if !steps.is_empty() => "path in FROM",
        Source::Value { .. } => return Ok(()),
    };
    Err(CompileError::unsupported(what))
}
