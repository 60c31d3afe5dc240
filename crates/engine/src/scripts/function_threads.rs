//! Threads of low priority for pages that call user-defined functions.
//!
//! A function is a client's program. A single step of it, such as making a string of 50 MB, can
//! occupy its processor for tenths of a second, and nothing interrupts that step. The operating
//! system lets such a thread continue for milliseconds while threads that serve point operations
//! are ready. So pages with functions run on threads of low priority from the start. On idle
//! processors these pages are as fast as others.

use orrery_script::lower_thread_priority;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, spawn_blocking};

/// A runtime of its own, because the priority of a thread cannot be raised again. Without that
/// runtime, pages with functions run on the threads of other queries.
pub(crate) struct FunctionThreads(Option<Runtime>);

impl FunctionThreads {
    /// Prepares the threads without starting one; at most `threads_max` pages run at once.
    pub(crate) fn new(threads_max: usize) -> FunctionThreads {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads_max.max(1))
            .thread_name("orrery-function")
            .on_thread_start(lower_thread_priority)
            .build();
        if let Err(error) = &runtime {
            tracing::warn!(%error, "no threads for user-defined functions: they share the threads of other queries");
        }
        FunctionThreads(runtime.ok())
    }

    pub(crate) fn spawn<T, W>(&self, work: W) -> JoinHandle<T>
    where
        T: Send + 'static,
        W: FnOnce() -> T + Send + 'static,
    {
        match &self.0 {
            Some(runtime) => runtime.spawn_blocking(work),
            None => spawn_blocking(work),
        }
    }
}

impl Drop for FunctionThreads {
    fn drop(&mut self) {
        // The engine may be dropped on a thread of another runtime, which must not block on these
        // threads.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn functions_give_way_to_other_threads() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let own = nice();
        let theirs = FunctionThreads::new(1).spawn(nice).await.unwrap();
        assert!(theirs > own.min(9), "{own} {theirs}");
        assert_eq!(nice(), own);
    }
}
