//! Errors of a compiled query during its evaluation.

use orrery_memory::LoanError;

/// A query that ended with an error while it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    #[error("The cardinality of a scalar subquery result set cannot be greater than one.")]
    Cardinality,
    #[error("the query needs more than {limit} {what}")]
    LimitExceeded { what: &'static str, limit: u64 },
    /// The query needs more memory than any single query may hold, for any client.
    #[error(
        "The query needs more than {limit} bytes of memory for its values. Let it make smaller arrays \
         and objects, or look at fewer items at once."
    )]
    TooMuchMemory { limit: usize },
    /// The server's memory for clients has too little left for this query's client.
    #[error(transparent)]
    Exhausted(LoanError),
    /// A user-defined function failed; the message is that of the function.
    #[error("The user-defined function '{name}' failed. {message}")]
    Function {
        name: String,
        message: String,
        number: Option<u32>,
    },
    #[error("'{name}' is not a recognized user-defined function name.")]
    UnknownFunction { name: String },
    #[error("the query did not finish in time")]
    Timeout,
    #[error("the continuation is not one of this query")]
    InvalidContinuation,
}

impl ExecError {
    /// Whether the error is a memory limit, so that a page with fewer rows could succeed.
    pub(crate) fn is_of_memory(&self) -> bool {
        matches!(
            self,
            ExecError::TooMuchMemory { .. } | ExecError::Exhausted(_)
        )
    }
}
