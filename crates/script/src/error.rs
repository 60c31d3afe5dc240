//! The errors of a run.

use orrery_memory::LoanError;

/// An exception of a script, as far as it can be represented outside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptException {
    /// The number of the error: the status of a failed operation, or a number that the script set.
    pub number: Option<i64>,
    /// Name and message, as in `Error: no such book`.
    pub text: String,
    pub stack: String,
}

/// The reason for which a run has no outcome. Its display text is the service's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("Encountered exception while compiling Javascript. Exception = {message}")]
    Compile { message: String, line: Option<u32> },
    #[error(
        "Encountered exception while compiling Javascript. Exception = the body is not a function"
    )]
    NotAFunction,
    #[error(
        "Encountered exception while executing Javascript. Exception = {}\r\nStack trace: {}",
        .0.text, .0.stack
    )]
    Threw(ScriptException),
    /// The script called `abort`.
    #[error(
        "Encountered exception while executing Javascript. Exception = {}\r\nStack trace: {}",
        .0.text, .0.stack
    )]
    Aborted(ScriptException),
    #[error("The script did not complete within the maximum execution time.")]
    TimedOut,
    #[error(
        "Encountered exception while executing Javascript. Exception = the script ran out of memory"
    )]
    OutOfMemory,
    #[error(
        "Encountered exception while executing Javascript. Exception = the script ran out of stack"
    )]
    StackOverflow,
    #[error("The script's {what} is longer than its limit of {length_max} characters.")]
    TooLarge {
        what: &'static str,
        length_max: usize,
    },
    /// The client's share of the server's memory is used up.
    #[error("a script ran out of the memory that clients share: {0}")]
    Memory(LoanError),
    /// All threads are busy and enough runs wait; the client may retry later.
    #[error("too many scripts are running")]
    Busy,
    /// The host panicked; its state cannot be trusted.
    #[error("the script's host failed")]
    HostPanicked,
    /// The engine refused an operation that must succeed.
    #[error("the script engine failed: {0}")]
    Engine(String),
}

/// Sub-status of a body that does not compile.
const SCRIPT_COMPILE_ERROR: u32 = 0xFFFF;

/// Sub-status of too many concurrent scripts.
const SCRIPT_CONCURRENCY: u32 = 3084;

impl ScriptError {
    /// The HTTP status that the service gives this error.
    pub fn status(&self) -> u16 {
        match self {
            ScriptError::Compile { .. }
            | ScriptError::NotAFunction
            | ScriptError::Threw(_)
            | ScriptError::Aborted(_)
            | ScriptError::OutOfMemory
            | ScriptError::StackOverflow => 400,
            ScriptError::TimedOut => 408,
            ScriptError::TooLarge { .. } | ScriptError::Memory(LoanError::TooLarge { .. }) => 413,
            ScriptError::Busy | ScriptError::Memory(LoanError::ShareExceeded { .. }) => 429,
            ScriptError::Memory(LoanError::PoolExceeded { .. }) => 503,
            ScriptError::HostPanicked | ScriptError::Engine(_) => 500,
        }
    }

    /// The number of the script's exception, or the service's number for this error.
    pub fn substatus(&self) -> Option<u32> {
        match self {
            ScriptError::Compile { .. } | ScriptError::NotAFunction => Some(SCRIPT_COMPILE_ERROR),
            ScriptError::Threw(thrown) | ScriptError::Aborted(thrown) => {
                thrown.number.and_then(|number| u32::try_from(number).ok())
            }
            ScriptError::Busy => Some(SCRIPT_CONCURRENCY),
            ScriptError::TimedOut
            | ScriptError::OutOfMemory
            | ScriptError::StackOverflow
            | ScriptError::TooLarge { .. }
            | ScriptError::Memory(_)
            | ScriptError::HostPanicked
            | ScriptError::Engine(_) => None,
        }
    }

    /// Whether the run broke a limit of the sandbox, rather than failing by its own logic.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            ScriptError::TimedOut
                | ScriptError::OutOfMemory
                | ScriptError::StackOverflow
                | ScriptError::TooLarge { .. }
        )
    }
}
