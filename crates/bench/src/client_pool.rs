//! Connections on client threads of their own, each doing the same work.
//!
//! As in the closed loop of `driver`, every thread has a single-threaded runtime, and all
//! connections are open before any client begins its work.

use std::sync::{Arc, Barrier};

use anyhow::{Context, Result};
use tokio::task::LocalSet;

use crate::connection::Connection;
use crate::request::{RequestWriter, Target};

/// The number of connections and threads, and the target of the requests.
#[derive(Clone)]
pub(crate) struct ClientPool {
    pub(crate) target: Target,
    pub(crate) connections: u16,
    pub(crate) threads: u16,
}

pub(crate) struct PoolClient {
    pub(crate) number: u16,
    pub(crate) connection: Connection,
    pub(crate) writer: RequestWriter,
}

impl ClientPool {
    /// Runs `work` on every connection to its end. The first error of a connection is the error of
    /// the pool.
    pub(crate) async fn work<T, W, F>(&self, work: W) -> Result<Vec<T>>
    where
        T: Send + 'static,
        W: Fn(PoolClient) -> F + Clone + Send + 'static,
        F: Future<Output = Result<T>> + 'static,
    {
        // A thread without a connection would only wait at the barrier.
        let threads = self.threads.min(self.connections);
        let barrier = Arc::new(Barrier::new(usize::from(threads)));
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (pool, work, barrier) = (self.clone(), work.clone(), Arc::clone(&barrier));
                tokio::task::spawn_blocking(move || {
                    // Thread `n` has the connections `n`, `n + threads` and so on, so that every
                    // thread has nearly the same number.
                    pool.run_thread(thread..=pool.connections - 1, threads, &barrier, &work)
                })
            })
            .collect();
        let mut results = Vec::new();
        for thread in running {
            // All threads are awaited: an error of one must not leave the others running.
            results.extend(thread.await.context("a client thread panicked")??);
        }
        Ok(results)
    }

    /// Opens the connections of one thread, waits for all threads, and runs the work.
    fn run_thread<T, W, F>(
        &self,
        numbers: std::ops::RangeInclusive<u16>,
        step: u16,
        barrier: &Barrier,
        work: &W,
    ) -> Result<Vec<T>>
    where
        T: 'static,
        W: Fn(PoolClient) -> F,
        F: Future<Output = Result<T>> + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // A thread whose connections failed still reaches the barrier: the barrier counts all
        // threads, and the others would wait for it forever.
        let opened = runtime
            .context("starting a client runtime")
            .and_then(|runtime| {
                let clients = runtime.block_on(self.open(numbers.step_by(usize::from(step))))?;
                Ok((runtime, clients))
            });
        barrier.wait();
        let (runtime, clients) = opened?;
        let all = async {
            let tasks: Vec<_> = clients
                .into_iter()
                .map(|client| tokio::task::spawn_local(work(client)))
                .collect();
            let mut results = Vec::new();
            for task in tasks {
                results.push(task.await.context("a client task panicked")??);
            }
            Ok(results)
        };
        // The tasks share values without locks, so they must stay on this thread.
        runtime.block_on(LocalSet::new().run_until(all))
    }

    /// Opens a connection per client number, one after the other.
    async fn open(&self, numbers: impl Iterator<Item = u16>) -> Result<Vec<PoolClient>> {
        let mut clients = Vec::new();
        for number in numbers {
            let endpoint = self.target.endpoint.clone();
            let authority = endpoint.authority();
            let connection = Connection::open(endpoint)
                .await
                .with_context(|| format!("connecting to {authority}"))?;
            clients.push(PoolClient {
                number,
                connection,
                writer: RequestWriter::new(self.target.clone()),
            });
        }
        Ok(clients)
    }
}
