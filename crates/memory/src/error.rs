//! The reasons for which the pool refuses a loan.

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LoanError {
    /// More bytes than one client may ever borrow, even from an idle pool. Only a smaller request
    /// can succeed.
    #[error("{wanted} bytes are more than one client may hold of {limit} bytes")]
    TooLarge { wanted: usize, limit: usize },
    /// The client holds too much memory. The client can borrow again after its running requests
    /// have returned their loans.
    #[error(
        "the client holds {held} bytes already, and {free} bytes of the memory for requests are free"
    )]
    ShareExceeded { held: usize, free: usize },
    /// Other clients hold the memory. Any client may retry shortly.
    #[error("{free} bytes of the memory for requests are free, and {wanted} bytes are wanted")]
    PoolExceeded { wanted: usize, free: usize },
}
