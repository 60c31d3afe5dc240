//! Long scripts yield: on a busy machine whatever else the server does has the processor first.
//!
//! A priority that was lowered cannot be raised again, so a thread that had a long run ends with it.

/// How much the priority of a script's thread is lowered.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lowers the priority of this thread. Where that cannot be done it stays as it is.
#[cfg(target_os = "linux")]
pub(crate) fn lower() {
    // What other systems do to a process, Linux does to the calling thread.
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn lower() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_this_thread_is_lowered() {
        let before = rustix::process::getpriority_process(None);
        let lowered = std::thread::spawn(|| {
            lower();
            rustix::process::getpriority_process(None)
        });
        assert_eq!(
            lowered.join().ok(),
            Some(before.map(|old| old.max(NICENESS)))
        );
        assert_eq!(rustix::process::getpriority_process(None), before);
    }
}
