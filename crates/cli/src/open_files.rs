//! The limit of open files of this process. Every connection is one open file.

#[cfg(unix)]
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit to try when the maximum is unlimited: macOS reports no maximum and still refuses more
/// files than this to a process.
#[cfg(unix)]
const OPEN_MAX: u64 = 10_240;

/// Raises the limit of open files to the maximum that the system allows the process.
#[cfg(unix)]
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    // The second attempt is for macOS, which refuses the maximum that it reports.
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

/// The number of files that the process may open. None means no limit.
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
