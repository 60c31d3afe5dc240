//! How many files the process may have open; a connection is one.

/// The limit, after it was raised as far as the system lets it; none where there is none.
#[cfg(unix)]
pub(crate) fn limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_err() {
        // Some systems have a limit of their own below the one that they name.
        return limit.current;
    }
    limit.maximum
}

#[cfg(not(unix))]
pub(crate) fn limit() -> Option<u64> {
    None
}
