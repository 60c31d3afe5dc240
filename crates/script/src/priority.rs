//! Lowers the priority of threads with long scripts, so that the rest of the server gets the
//! processor first on a busy machine.
//!
//! An unprivileged thread cannot raise its priority again, so a thread ends after a long run.

/// The niceness of a script thread after a long run.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of this thread. A failure leaves the priority unchanged.
#[cfg(target_os = "linux")]
pub fn lower_thread_priority() {
    // POSIX applies this call to the whole process; Linux applies it to the calling thread.
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
pub fn lower_thread_priority() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_is_lowered() {
        let before = rustix::process::getpriority_process(None);
        let lowered = std::thread::spawn(|| {
            lower_thread_priority();
            rustix::process::getpriority_process(None)
        });
        assert_eq!(
            lowered.join().ok(),
            Some(before.map(|old| old.max(NICENESS)))
        );
        assert_eq!(rustix::process::getpriority_process(None), before);
    }
}
