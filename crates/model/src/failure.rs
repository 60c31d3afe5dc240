//! The ways a request can end other than well: one variant for each thing a client can act on.
//!
//! `wire::status` alone turns these into status, sub-status and text.

use crate::Charge;

/// What a client is told when its request is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The request is wrong in itself; the message says what to correct.
    #[error("{0}")]
    BadRequest(String),
    #[error("required property '{0}' is missing")]
    MissingProperty(&'static str),
    #[error("no partition key was given")]
    PartitionKeyMissing,
    #[error("the partition key does not fit the container or the document")]
    PartitionKeyMismatch,
    /// The client's cached container is not the one of that name any more.
    #[error("the container was recreated")]
    ContainerRidMismatch,
    #[error("the continuation token is not valid")]
    InvalidContinuation,
    /// No credential, or one that does not verify.
    #[error("{0}")]
    Unauthorized(String),
    /// A valid credential that does not reach this far, or not at this time.
    #[error("{0}")]
    Forbidden(String),
    /// This region is no part of the account of that id (any more).
    #[error("database account '{0}' does not exist in this region")]
    AccountNotFound(String),
    /// Writes go to another region; this one follows it.
    #[error("writes are not taken in this region")]
    WriteForbidden,
    #[error("not found")]
    NotFound(NotFoundKind),
    /// This replica has not reached the position the session token names.
    #[error("the read session is not available for session token '{0}'")]
    SessionNotAvailable(String),
    #[error("the verb is not supported on this address")]
    MethodNotAllowed,
    #[error("the request ran out of time")]
    Timeout,
    /// At level strong: too few regions have it yet, and it may stand later or be taken back.
    #[error("the write was not had by enough regions in time, and its outcome is not known")]
    OutcomeUnknown,
    #[error("already exists")]
    Conflict(ConflictKind),
    #[error("gone")]
    Gone(GoneKind),
    #[error("a precondition is not met")]
    PreconditionFailed,
    #[error("the patch condition does not hold")]
    PatchConditionFalse,
    #[error("{0}")]
    TooLarge(String),
    /// What the operations of one request read is more than one answer may carry.
    #[error("the answer is too large")]
    AnswerTooLarge,
    /// Partitions are still being split for the throughput that was set before.
    #[error("another change of throughput is under way")]
    OfferReplacePending,
    #[error("the logical partition has reached its maximum size")]
    LogicalPartitionFull,
    /// Another operation of the same batch failed.
    #[error("another operation of the batch failed")]
    FailedDependency,
    #[error("the request rate is too large")]
    TooManyRequests { retry_after_ms: u64 },
    /// The throughput bucket that the request names has used its share.
    #[error("the request rate of the throughput bucket is too large")]
    BucketExceeded { retry_after_ms: u64 },
    /// The throughput buckets were changed a short while ago.
    #[error("the throughput buckets were changed too recently")]
    BucketsChanging { retry_after_ms: u64 },
    /// No thread is free for a script and enough of them wait.
    #[error("too many scripts are running")]
    TooManyScripts { retry_after_ms: u64 },
    /// The client makes the server hold too much memory for it already.
    #[error("{message}")]
    TooMuchHeld {
        message: String,
        retry_after_ms: u64,
    },
    /// The body of a script is not a function of JavaScript.
    #[error("{0}")]
    ScriptCompile(String),
    /// A script threw, aborted or broke a limit of its sandbox; nothing of it remains.
    #[error("{message}")]
    Script {
        message: String,
        /// The number of the error: the status of a failed operation, or the author's own.
        number: Option<u32>,
    },
    /// Others kept changing what a script had read; nothing of it remains.
    #[error("another request changed the same logical partition")]
    RetryWith,
    /// Part of the protocol that Orrery does not have yet; the text names it.
    #[error("{0}")]
    NotImplemented(String),
    /// This node cannot take writes; reads go on.
    #[error("{0}")]
    Unavailable(String),
    /// A defect of Orrery or of the machine below it.
    #[error("{0}")]
    Internal(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFoundKind {
    /// The addressed resource itself.
    Resource,
    /// The database or container it should be in.
    Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    Id,
    UniqueKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoneKind {
    /// The named physical partition does not exist (any more).
    PartitionKeyRange,
}

impl Failure {
    pub fn bad_request(message: impl Into<String>) -> Failure {
        Failure::BadRequest(message.into())
    }

    /// What a request costs that ended like this before it did anything.
    pub fn charge(&self) -> Charge {
        match self {
            Failure::TooManyRequests { .. }
            | Failure::BucketExceeded { .. }
            | Failure::BucketsChanging { .. }
            | Failure::TooMuchHeld { .. } => Charge::ZERO,
            _ => Charge::MIN,
        }
    }

    pub const NOT_FOUND: Failure = Failure::NotFound(NotFoundKind::Resource);
    pub const OWNER_NOT_FOUND: Failure = Failure::NotFound(NotFoundKind::Owner);
}
