//! Errors of a query that parses and does not compile.

use orrery_sql::{Span, SyntaxError};

/// A query that is refused before it reads a document.
///
/// Messages with a code repeat the service's text exactly, because clients and their tests compare
/// them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompileError {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error("Identifier '{name}' could not be resolved.")]
    UnresolvedIdentifier { name: String, span: Span },
    #[error("'{name}' is not a recognized built-in function name.")]
    UnknownFunction { name: String, span: Span },
    #[error("The {name} function requires {expected} argument(s).")]
    ArgumentCount {
        name: String,
        expected: String,
        span: Span,
    },
    #[error("'SELECT *' is not allowed with GROUP BY.")]
    StarWithGroupBy { span: Span },
    /// `SELECT *` needs exactly one source.
    #[error("'SELECT *' is only valid with a single input set.")]
    StarWithoutSingleSource { span: Span },
    #[error(
        "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."
    )]
    AggregateOfAggregate { span: Span },
    #[error(
        "Property reference '{reference}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause."
    )]
    NotGrouped { reference: String, span: Span },
    #[error("'{clause}' clause is not supported in subqueries.")]
    ClauseInSubquery {
        clause: &'static str,
        code: &'static str,
    },
    #[error(
        "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path."
    )]
    OrderByExpression,
    #[error(
        "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call."
    )]
    RankFunction,
    #[error("The count value provided for a {clause} clause must be a non-negative integer.")]
    Count {
        clause: &'static str,
        code: &'static str,
    },
    #[error("The input alias '{name}' is specified more than once in the FROM clause.")]
    DuplicateAlias { name: String, span: Span },
    #[error("An aggregate function is not allowed in this place: {name}.")]
    MisplacedAggregate { name: String, span: Span },
    #[error("The query has more than {limit} {what}.")]
    TooMany { what: &'static str, limit: usize },
    #[error("The resume filter does not fit the ORDER BY clause of the query.")]
    ResumeFilter,
    #[error("The computed property '{name}' must be defined by SELECT VALUE of one expression.")]
    ComputedProperty { name: String },
    /// Part of the query language that Orrery does not implement.
    #[error("{what} is not supported")]
    Unsupported { what: String },
}

impl CompileError {
    /// The code in the service's error body, if the service has one.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            CompileError::Syntax(error) => Some(error.code()),
            CompileError::UnresolvedIdentifier { .. } => Some("SC2001"),
            CompileError::UnknownFunction { .. } => Some("SC2005"),
            CompileError::StarWithGroupBy { .. } => Some("SC2041"),
            CompileError::ArgumentCount { .. } => Some("SC2050"),
            CompileError::AggregateOfAggregate { .. } => Some("SC2101"),
            CompileError::NotGrouped { .. } => Some("SC2102"),
            CompileError::OrderByExpression => Some("2206"),
            CompileError::RankFunction => Some("SC2221"),
            CompileError::ClauseInSubquery { code, .. } | CompileError::Count { code, .. } => {
                Some(code)
            }
            CompileError::StarWithoutSingleSource { .. }
            | CompileError::DuplicateAlias { .. }
            | CompileError::MisplacedAggregate { .. }
            | CompileError::TooMany { .. }
            | CompileError::ResumeFilter
            | CompileError::ComputedProperty { .. }
            | CompileError::Unsupported { .. } => None,
        }
    }

    /// The position of the error in the query text, if it has a single position.
    pub fn span(&self) -> Option<Span> {
        match self {
            CompileError::Syntax(error) => Some(error.span),
            CompileError::UnresolvedIdentifier { span, .. }
            | CompileError::UnknownFunction { span, .. }
            | CompileError::ArgumentCount { span, .. }
            | CompileError::NotGrouped { span, .. }
            | CompileError::DuplicateAlias { span, .. }
            | CompileError::MisplacedAggregate { span, .. }
            | CompileError::AggregateOfAggregate { span }
            | CompileError::StarWithGroupBy { span }
            | CompileError::StarWithoutSingleSource { span } => Some(*span),
            CompileError::ClauseInSubquery { .. }
            | CompileError::OrderByExpression
            | CompileError::RankFunction
            | CompileError::Count { .. }
            | CompileError::TooMany { .. }
            | CompileError::ResumeFilter
            | CompileError::ComputedProperty { .. }
            | CompileError::Unsupported { .. } => None,
        }
    }

    /// A refusal of a part of the language that is not implemented.
    pub(crate) fn unsupported(what: impl Into<String>) -> CompileError {
        CompileError::Unsupported { what: what.into() }
    }
}
