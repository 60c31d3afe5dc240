//! Why a text is not a query.
//!
//! The messages are the service's own, letter for letter, because clients and their tests look
//! for them; they do not follow the style of our other errors.

use crate::Span;

/// A refusal by the grammar, with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SyntaxError {
    pub kind: SyntaxErrorKind,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxErrorKind {
    #[error("Syntax error, incorrect syntax near '{token}'.")]
    Unexpected { token: String },
    #[error("Syntax error, invalid string literal token.")]
    StringLiteral,
    #[error("Syntax error, the query text exceeds {bytes_max} bytes.")]
    TooLong { bytes_max: usize },
    #[error("Syntax error, the query is nested too deeply.")]
    TooDeep,
    #[error("The count value provided for a TOP clause must be an integer.")]
    TopCount,
    #[error("The LIMIT count value exceeds the maximum allowed value.")]
    LimitCount,
    #[error("The OFFSET count value exceeds the maximum allowed value.")]
    OffsetCount,
}

impl SyntaxError {
    /// The code of the service's error body.
    pub fn code(&self) -> &'static str {
        match self.kind {
            SyntaxErrorKind::Unexpected { .. }
            | SyntaxErrorKind::TooLong { .. }
            | SyntaxErrorKind::TooDeep => "SC1001",
            SyntaxErrorKind::StringLiteral => "SC1010",
            SyntaxErrorKind::TopCount => "SC2060",
            SyntaxErrorKind::LimitCount => "SC2061",
            SyntaxErrorKind::OffsetCount => "SC2062",
        }
    }
}
