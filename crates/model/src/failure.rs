//! The failures of requests, with one variant for each failure that a client handles in a different
//! way.
//!
//! `wire::status` alone turns a failure into status, sub-status and text.

use crate::Charge;

/// The reason why a request was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The request is malformed or contradictory. The message says what to correct.
    #[error("{0}")]
    BadRequest(String),
    #[error("required property '{0}' is missing")]
    MissingProperty(&'static str),
    /// The client must merge the answers of several partitions to its query. The text is the plan
    /// for the merge, as JSON.
    #[error("the query needs a plan that the client carries out")]
    NeedsPlan(String),
    /// The plan needs a feature that the client does not have. The message names the feature.
    #[error("{0}")]
    PlanNotSupported(String),
    #[error("no partition key was given")]
    PartitionKeyMissing,
    #[error("the partition key does not fit the container or the document")]
    PartitionKeyMismatch,
    /// The client has cached another container of this name, which was deleted since.
    #[error("the container was recreated")]
    ContainerRidMismatch,
    #[error("the continuation token is not valid")]
    InvalidContinuation,
    /// The request has no credential, or one whose signature does not verify.
    #[error("{0}")]
    Unauthorized(String),
    /// The credential is valid but does not allow this request, or not at this time.
    #[error("{0}")]
    Forbidden(String),
    /// The account of this id does not contain this region, or no longer contains it.
    #[error("database account '{0}' does not exist in this region")]
    AccountNotFound(String),
    /// Another region takes the writes; this region follows it.
    #[error("writes are not taken in this region")]
    WriteForbidden,
    #[error("not found")]
    NotFound(NotFoundKind),
    /// This region has not reached the position in the session token.
    #[error("the read session is not available for session token '{0}'")]
    SessionNotAvailable(String),
    #[error("the verb is not supported on this address")]
    MethodNotAllowed,
    #[error("the request ran out of time")]
    Timeout,
    /// A majority of regions did not confirm a write at strong consistency: within ten seconds, or
    /// before this region ceased to be the write region. The write may still be committed later, or
    /// be discarded.
    #[error("a majority of regions did not confirm the write; it may or may not take effect")]
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
    /// The operations of one request read more bytes than one answer may contain.
    #[error("the answer is too large")]
    AnswerTooLarge,
    /// Partitions are still splitting for the throughput of the previous change.
    #[error("another change of throughput is under way")]
    OfferReplacePending,
    #[error("the logical partition has reached its maximum size")]
    LogicalPartitionFull,
    /// Another operation of the same batch failed.
    #[error("another operation of the batch failed")]
    FailedDependency,
    #[error("the request rate is too large")]
    TooManyRequests { retry_after_ms: u64 },
    /// The throughput bucket of the request has used up its share.
    #[error("the request rate of the throughput bucket is too large")]
    BucketExceeded { retry_after_ms: u64 },
    /// The throughput buckets were changed a short time ago.
    #[error("the throughput buckets were changed too recently")]
    BucketsChanging { retry_after_ms: u64 },
    /// Every script thread is busy, and the queue for script threads is full.
    #[error("too many scripts are running")]
    TooManyScripts { retry_after_ms: u64 },
    /// The open requests of the client already take too much of the server's memory.
    #[error("{message}")]
    ClientLimitExceeded {
        message: String,
        retry_after_ms: u64,
    },
    /// The body of a script is not a JavaScript function.
    #[error("{0}")]
    ScriptCompile(String),
    /// A script threw, aborted or exceeded a limit of its sandbox. All of its writes were
    /// discarded.
    #[error("{message}")]
    Script {
        message: String,
        /// The number of the error: the status of a failed operation, or the number that the script
        /// set.
        number: Option<u32>,
    },
    /// Other writers repeatedly changed the items that a script had read. All writes of the script
    /// were discarded.
    #[error("another request changed the same logical partition")]
    RetryWith,
    /// An unimplemented part of the protocol. The text names the part.
    #[error("{0}")]
    NotImplemented(String),
    /// This node cannot take writes; reads continue.
    #[error("{0}")]
    Unavailable(String),
    /// A defect of Orrery, or a failure of the machine.
    #[error("{0}")]
    Internal(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFoundKind {
    /// The addressed resource.
    Resource,
    /// The database or container that should contain the resource.
    Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    Id,
    UniqueKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoneKind {
    /// The named physical partition does not exist, or no longer exists.
    PartitionKeyRange,
    /// The path of the replica that a client in direct mode asked names a physical partition that
    /// does not exist, or no longer exists.
    ReplicaRange,
    /// A client in direct mode has resolved the name of a container, and the container with this
    /// name is another one or none by now.
    ContainerOfName,
}

impl Failure {
    pub fn bad_request(message: impl Into<String>) -> Failure {
        Failure::BadRequest(message.into())
    }

    /// The charge of a request that failed before the engine did any work for it.
    pub fn charge(&self) -> Charge {
        match self {
            // A throttled request must not use up the throughput that it waits for.
            Failure::TooManyRequests { .. }
            | Failure::BucketExceeded { .. }
            | Failure::BucketsChanging { .. }
            | Failure::ClientLimitExceeded { .. } => Charge::ZERO,
            _ => Charge::MIN,
        }
    }

    pub const NOT_FOUND: Failure = Failure::NotFound(NotFoundKind::Resource);
    pub const OWNER_NOT_FOUND: Failure = Failure::NotFound(NotFoundKind::Owner);
}
