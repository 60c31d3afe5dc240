//! Converts failures of operations for scripts, and script errors for clients.

use orrery_model::{ConflictKind, Failure};
use orrery_script::{HostError, ScriptError};

use crate::out_of_memory;

/// Retry hint for a client when all script threads are busy.
const BUSY_RETRY_MS: u64 = 100;

/// Converts the error of a run into the failure that the client receives.
pub(crate) fn script_failure(error: &ScriptError) -> Failure {
    match error {
        ScriptError::Compile { .. } | ScriptError::NotAFunction => {
            Failure::ScriptCompile(error.to_string())
        }
        ScriptError::Threw(_)
        | ScriptError::Aborted(_)
        | ScriptError::OutOfMemory
        | ScriptError::StackOverflow => Failure::Script {
            message: error.to_string(),
            number: error.substatus(),
        },
        ScriptError::TimedOut => Failure::Timeout,
        ScriptError::TooLarge { .. } => Failure::TooLarge(error.to_string()),
        ScriptError::Memory(exhausted) => out_of_memory(*exhausted),
        ScriptError::Busy => Failure::TooManyScripts {
            retry_after_ms: BUSY_RETRY_MS,
        },
        ScriptError::HostPanicked | ScriptError::Engine(_) => Failure::Internal(error.to_string()),
    }
}

/// Converts a refused operation into a script error: a number of the service's `ErrorCodes` and a
/// message.
pub(crate) fn host_error(failure: &Failure) -> HostError {
    let number = match failure {
        Failure::NotFound(_) => 404,
        Failure::Conflict(_) => 409,
        Failure::PreconditionFailed | Failure::PatchConditionFalse => 412,
        Failure::TooLarge(_) => 413,
        Failure::Forbidden(_) => 403,
        Failure::Timeout | Failure::OutcomeUnknown => 408,
        Failure::RetryWith => 449,
        Failure::ClientLimitExceeded { .. } => 429,
        Failure::Internal(_) | Failure::Unavailable(_) => 500,
        _ => 400,
    };
    let message = match failure {
        Failure::NotFound(_) => {
            "Entity with the specified id does not exist in the system.".to_owned()
        }
        Failure::Conflict(ConflictKind::Id) => {
            "Resource with specified id or name already exists.".to_owned()
        }
        Failure::Conflict(ConflictKind::UniqueKey) => {
            "Unique index constraint violation.".to_owned()
        }
        Failure::PreconditionFailed => "One of the specified pre-condition is not met.".to_owned(),
        Failure::PartitionKeyMismatch => {
            "Requests originating from scripts cannot reference partition keys other than the one \
             for which client request was submitted."
                .to_owned()
        }
        Failure::MissingProperty(name) => format!(
            "The input content is invalid because the required properties - '{name}; ' - are missing"
        ),
        other => other.to_string(),
    };
    HostError::new(number, message)
}
