//! How many files the process may have open; a connection is one.

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What systems grant that name no limit: macOS has one of its own for a process.
#[cfg(unix)]
const OPEN_MAX: u64 = 10_240;

/// Raises the limit of open files to the maximum that the system allows the process.
#[cfg(unix)]
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    for wanted in [limit.maximum, Some(OPEN_MAX)] {
        let is_more = match (wanted, limit.current) {
            (Some(wanted), Some(current)) => wanted > current,
            (None, current) => current.is_some(),
            (Some(_), None) => false,
        };
        let raised = Rlimit {
            current: wanted,
            maximum: limit.maximum,
        };
        if !is_more || setrlimit(Resource::Nofile, raised).is_ok() {
            return;
        }
    }
}

/// None where there is no limit.
#[cfg(unix)]
pub(crate) fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
pub(crate) fn raise() {}

#[cfg(not(unix))]
pub(crate) fn limit() -> Option<u64> {
    None
}
