//! Why a query that parses cannot be run.

use orrery_sql::{Span, SyntaxError};

/// A query refused before it reads a document.
///
/// The messages with a code are the service's own, letter for letter, because clients and their
/// tests look for them.
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
    #[error("Parameter '{name}' is used in the query but has no value.")]
    MissingParameter { name: String, span: Span },
    /// Part of the language, not yet of Orrery.
    #[error("{what} is not supported")]
    Unsupported { what: String },
}

impl CompileError {
    /// The code of the service's error body, where it has one.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            CompileError::Syntax(error) => Some(error.code()),
            CompileError::UnresolvedIdentifier { .. } => Some("SC2001"),
            CompileError::UnknownFunction { .. } => Some("SC2005"),
            CompileError::StarWithGroupBy { .. } => Some("SC2041"),
            CompileError::ArgumentCount { .. } => Some("SC2050"),
            CompileError::StarWithoutSingleSource { .. }
            | CompileError::MissingParameter { .. }
            | CompileError::Unsupported { .. } => None,
        }
    }

    /// Where in the text the mistake is, when it is in one place.
    pub fn span(&self) -> Option<Span> {
        match self {
            CompileError::Syntax(error) => Some(error.span),
            CompileError::UnresolvedIdentifier { span, .. }
            | CompileError::UnknownFunction { span, .. }
            | CompileError::ArgumentCount { span, .. }
            | CompileError::MissingParameter { span, .. }
            | CompileError::StarWithGroupBy { span }
            | CompileError::StarWithoutSingleSource { span } => Some(*span),
            CompileError::Unsupported { .. } => None,
        }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> CompileError {
        CompileError::Unsupported { what: what.into() }
    }
}
