//! Why a query that compiles cannot be finished.

use orrery_memory::Exhausted;

/// A query that ended while it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    #[error("The cardinality of a scalar subquery result set cannot be greater than one.")]
    Cardinality,
    #[error("the query needs more than {limit} {what}")]
    LimitExceeded { what: &'static str, limit: u64 },
    /// The query needs more memory than any single query may hold, whichever client sent it.
    #[error(
        "The query needs more than {limit} bytes of memory for its values. Let it make smaller arrays \
         and objects, or look at fewer items at once."
    )]
    TooMuchMemory { limit: usize },
    /// The memory that the server lends to clients has too little left for the client of this
    /// query.
    #[error(transparent)]
    Exhausted(Exhausted),
    /// A user-defined function failed; the message is its own.
    #[error("The user-defined function '{name}' failed. {message}")]
    Function { name: String, message: String },
    #[error("the query did not finish in time")]
    Timeout,
    #[error("the continuation is not one of this query")]
    InvalidResume,
}

impl ExecError {
    /// Whether a page with fewer rows might not have failed so.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(
            self,
            ExecError::TooMuchMemory { .. } | ExecError::Exhausted(_)
        )
    }
}
