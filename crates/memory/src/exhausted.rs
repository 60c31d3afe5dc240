//! Why a loan was refused.

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// No client could borrow this much, even from a pool that nobody uses: the request must become smaller.
    #[error("{wanted} bytes are more than one client may hold of {limit} bytes")]
    TooLarge { wanted: usize, limit: usize },
    /// The client already holds too much memory: it can borrow again when its other requests have
    /// ended.
    #[error(
        "the client holds {held} bytes already, and {free} bytes of the memory for requests are free"
    )]
    Share { held: usize, free: usize },
    /// Other clients hold the memory: anybody may try again in a moment.
    #[error("{free} bytes of the memory for requests are free, and {wanted} bytes are wanted")]
    Pool { wanted: usize, free: usize },
}
