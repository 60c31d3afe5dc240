//! Why a query that compiles cannot be finished.

/// A query that ended while it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    #[error("The cardinality of a scalar subquery result set cannot be greater than one.")]
    Cardinality,
    #[error("the query needs more than {limit} {what}")]
    LimitExceeded { what: &'static str, limit: u64 },
    /// A user-defined function failed; the message is its own.
    #[error("The user-defined function '{name}' failed. {message}")]
    Function { name: String, message: String },
    #[error("the query did not finish in time")]
    Timeout,
    #[error("the continuation is not one of this query")]
    InvalidResume,
}
