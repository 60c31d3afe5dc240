//! The low-priority threads: they serve connections whose clients have not shown a key.
//!
//! A client has shown a key when a request signed with an account key has arrived on its
//! connection. Until then these threads do all its work: handshakes, wrong signatures, requests
//! under resource tokens and their queries. They give way to the threads of the listener, which
//! serve the clients with a key: on Linux their priority is lower, and on every system they yield
//! the processor after each step of a connection. So clients without a key receive the processor
//! time that the others leave over, and all of it while those are idle.
//!
//! ```text
//!   accept -> low-priority threads: handshake, first request, 401, requests under tokens
//!                |  a key of the account signed a request
//!                v
//!             threads of the listener: all further requests of this connection
//! ```
//!
//! The socket is registered with the runtime of the listener from the beginning, so a connection
//! that moves keeps its socket, and a request on a connection that has moved costs nothing more.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread::{available_parallelism, yield_now};

use orrery_engine::lower_thread_priority;
use tokio::runtime::{Builder, Handle, Runtime};

use super::connection::Connection;

pub(crate) struct LowPriorityThreads(Option<Runtime>);

impl LowPriorityThreads {
    /// Starts the threads. If the system gives no more threads, the threads of the listener serve
    /// every connection.
    pub(super) fn start() -> LowPriorityThreads {
        let threads = available_parallelism().map_or(1, usize::from);
        let started = Builder::new_multi_thread()
            // As many threads as processors: these clients may use the whole machine while it is
            // idle.
            .worker_threads(threads)
            .thread_name("orrery-low-prio")
            .on_thread_start(lower_thread_priority)
            .enable_all()
            .build();
        if let Err(error) = &started {
            tracing::warn!(%error, "no threads for clients without a key: they share the threads of the others");
        }
        LowPriorityThreads(started.ok())
    }

    /// Serves a connection on these threads until its client has shown a key of the account, and
    /// then on the threads of the runtime that called this function.
    pub(crate) fn serve<S>(&self, connection: &Arc<Connection>, serving: S)
    where
        S: Future<Output = ()> + Send + 'static,
    {
        let listener_runtime = Handle::current();
        let Some(low_priority) = &self.0 else {
            connection.run(|| listener_runtime.spawn(serving));
            return;
        };
        let moving = Arc::clone(connection);
        let serve_until_key = async move {
            // Boxed, so that the same future can move to the other runtime without being moved in
            // memory.
            let mut serving = Box::pin(serving);
            // The future moves between two polls, so it is never polled by two threads.
            if !ends_without_key(&moving, serving.as_mut()).await {
                moving.run(|| listener_runtime.spawn(serving));
            }
        };
        connection.run(|| low_priority.spawn(serve_until_key));
    }
}

/// Polls the connection until it ends, which returns true, or until its client has shown a key.
async fn ends_without_key<S: Future<Output = ()>>(
    connection: &Connection,
    mut serving: Pin<&mut S>,
) -> bool {
    poll_fn(|context| {
        if serving.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        // Checked after each poll: the request that shows the key has been authorized within this
        // poll.
        if connection.has_key() {
            return Poll::Ready(false);
        }
        // The system would let this thread run for milliseconds while other threads are ready.
        yield_now();
        Poll::Pending
    })
    .await
}

impl Drop for LowPriorityThreads {
    fn drop(&mut self) {
        // This value may be dropped on a thread of a runtime, and such a thread must not block on
        // the end of other threads.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use orrery_memory::MemoryPool;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    use super::super::clock::Clock;
    use super::*;

    const THREAD_NAME: &str = "orrery-low-prio";

    fn connection() -> Arc<Connection> {
        let memory = MemoryPool::new(1 << 20).share().loan();
        Arc::new(Connection::new(1, &Arc::new(Clock::new()), memory))
    }

    /// Tells the name of its thread at the begin and after each message, until `sender` is closed.
    async fn tell_threads(sender: UnboundedSender<String>, mut steps: UnboundedReceiver<()>) {
        loop {
            let name = thread::current().name().unwrap_or_default().to_owned();
            if sender.send(name).is_err() || steps.recv().await.is_none() {
                return;
            }
        }
    }

    #[tokio::test]
    async fn a_connection_moves_when_its_client_has_shown_a_key() {
        let low_priority = LowPriorityThreads::start();
        let connection = connection();
        let (sender, mut names) = unbounded_channel();
        let (step, steps) = unbounded_channel();
        low_priority.serve(&connection, tell_threads(sender, steps));
        assert_eq!(names.recv().await.as_deref(), Some(THREAD_NAME));
        step.send(()).unwrap();
        assert_eq!(names.recv().await.as_deref(), Some(THREAD_NAME));
        connection.mark_key_shown();
        // The step that shows the key ends where it began.
        step.send(()).unwrap();
        assert_eq!(names.recv().await.as_deref(), Some(THREAD_NAME));
        let own = thread::current().name().unwrap().to_owned();
        loop {
            step.send(()).unwrap();
            let name = names.recv().await.unwrap();
            if name == own {
                break;
            }
            assert_eq!(name, THREAD_NAME);
        }
        step.send(()).unwrap();
        assert_eq!(names.recv().await.as_deref(), Some(own.as_str()));
    }

    #[tokio::test]
    async fn closing_ends_a_connection_on_either_threads() {
        let low_priority = LowPriorityThreads::start();
        for has_key in [false, true] {
            let connection = connection();
            if has_key {
                connection.mark_key_shown();
            }
            let (sender, mut names) = unbounded_channel();
            let (_step, steps) = unbounded_channel();
            low_priority.serve(&connection, tell_threads(sender, steps));
            names.recv().await.unwrap();
            connection.close();
            // The task drops its sender when it ends.
            assert_eq!(names.recv().await, None, "{has_key}");
        }
    }

    #[tokio::test]
    async fn a_closed_connection_does_not_begin() {
        let low_priority = LowPriorityThreads::start();
        let connection = connection();
        connection.close();
        let (sender, mut names) = unbounded_channel();
        let (_step, steps) = unbounded_channel();
        low_priority.serve(&connection, tell_threads(sender, steps));
        while names.recv().await.is_some() {}
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_threads_have_a_lower_priority() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let own = nice();
        let (sender, mut theirs) = unbounded_channel();
        let low_priority = LowPriorityThreads::start();
        low_priority.serve(&connection(), async move {
            sender.send(nice()).unwrap();
        });
        assert!(theirs.recv().await.unwrap() > own.min(9));
    }
}
