//! The ways a script can end other than well.

use orrery_memory::Exhausted;

/// What a script threw, as far as it can be told outside of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thrown {
    /// The number of the error: the status of a failed operation, or the author's own.
    pub number: Option<i64>,
    /// Name and message, as in `Error: no such book`.
    pub text: String,
    pub stack: String,
}

/// Why a run had no outcome. Displays as the text a client of the service gets.
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
    Threw(Thrown),
    /// The script called `abort`.
    #[error(
        "Encountered exception while executing Javascript. Exception = {}\r\nStack trace: {}",
        .0.text, .0.stack
    )]
    Aborted(Thrown),
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
    /// The client's share of the server's memory has nothing left for the run.
    #[error("a script ran out of the memory that clients share: {0}")]
    Memory(Exhausted),
    /// No thread is free and enough runs are waiting: try again later.
    #[error("too many scripts are running")]
    Busy,
    /// The host panicked; nothing it holds can be trusted.
    #[error("the script's host failed")]
    HostPanicked,
    /// The engine refused something it should not.
    #[error("the script engine failed: {0}")]
    Engine(String),
}

/// Sub-status of a body that does not compile.
const SCRIPT_COMPILE_ERROR: u32 = 0xFFFF;

/// Sub-status of too many scripts at a time.
const SCRIPT_CONCURRENCY: u32 = 3084;

impl ScriptError {
    /// Status that the service gives this end, HTTP-like.
    pub fn status(&self) -> u16 {
        match self {
            ScriptError::Compile { .. }
            | ScriptError::NotAFunction
            | ScriptError::Threw(_)
            | ScriptError::Aborted(_)
            | ScriptError::OutOfMemory
            | ScriptError::StackOverflow => 400,
            ScriptError::TimedOut => 408,
            ScriptError::TooLarge { .. } | ScriptError::Memory(Exhausted::TooLarge { .. }) => 413,
            ScriptError::Busy | ScriptError::Memory(Exhausted::Share { .. }) => 429,
            ScriptError::Memory(Exhausted::Pool { .. }) => 503,
            ScriptError::HostPanicked | ScriptError::Engine(_) => 500,
        }
    }

    /// The number a script's error carried, or the one of the service for this end.
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

    /// Whether the run broke a limit of the sandbox, as opposed to failing by its own logic.
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
