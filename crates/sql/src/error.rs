//! Syntax errors.
//!
//! Each message repeats the service's text exactly, because clients and their tests compare
//! messages. So these texts do not follow the style of Orrery's other errors.

use crate::Span;

/// A violation of the grammar and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct SyntaxError {
    pub kind: SyntaxErrorKind,
    pub span: Span,
}

/// The violations, with the service's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxErrorKind {
    #[error("Syntax error, incorrect syntax near '{token}'.")]
    Unexpected { token: String },
    #[error("Syntax error, unexpected end-of-file.")]
    End,
    #[error("Syntax error, invalid token '{token}'.")]
    InvalidToken { token: String },
    #[error("Syntax error, invalid numeric value token '{token}'.")]
    Number { token: String },
    #[error("Syntax error, invalid string literal token '{token}'.")]
    StringLiteral { token: String },
    #[error("The invalid escape character '{escape}' was specified in a LIKE predicate.")]
    LikeEscape { escape: String },
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
    /// The code in the service's error body.
    pub fn code(&self) -> &'static str {
        match self.kind {
            SyntaxErrorKind::Unexpected { .. }
            | SyntaxErrorKind::TooLong { .. }
            | SyntaxErrorKind::TooDeep => "SC1001",
            SyntaxErrorKind::End => "SC1002",
            SyntaxErrorKind::InvalidToken { .. } => "SC1010",
            SyntaxErrorKind::Number { .. } => "SC1011",
            SyntaxErrorKind::StringLiteral { .. } => "SC1012",
            SyntaxErrorKind::LikeEscape { .. } => "SC2207",
            SyntaxErrorKind::TopCount => "SC2060",
            SyntaxErrorKind::LimitCount => "SC2061",
            SyntaxErrorKind::OffsetCount => "SC2062",
        }
    }
}
