//! Connections on client threads of their own, each doing the same work.
//!
//! As in the closed loop of `driver`: single-threaded runtimes, and all connections are open
//! before any work begins.

use std::sync::{Arc, Barrier};

use anyhow::{Context, Result};
use tokio::task::LocalSet;

use crate::connection::Connection;
use crate::request::{RequestWriter, Target};

/// How many connections, over how many threads, to what.
#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) target: Target,
    pub(crate) connections: u16,
    pub(crate) threads: u16,
}

pub(crate) struct Member {
    pub(crate) number: u16,
    pub(crate) connection: Connection,
    pub(crate) writer: RequestWriter,
}

impl Crew {
    /// Runs the work of every member to its end; one failure is the failure of all.
    pub(crate) async fn work<T, W, F>(&self, work: W) -> Result<Vec<T>>
    where
        T: Send + 'static,
        W: Fn(Member) -> F + Clone + Send + 'static,
        F: Future<Output = Result<T>> + 'static,
    {
        let threads = self.threads.min(self.connections);
        let barrier = Arc::new(Barrier::new(usize::from(threads)));
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (crew, work, barrier) = (self.clone(), work.clone(), Arc::clone(&barrier));
                tokio::task::spawn_blocking(move || {
                    crew.run_thread(thread..=crew.connections - 1, threads, &barrier, &work)
                })
            })
            .collect();
        let mut results = Vec::new();
        for thread in running {
            results.extend(thread.await.context("a client thread panicked")??);
        }
        Ok(results)
    }

    fn run_thread<T, W, F>(
        &self,
        numbers: std::ops::RangeInclusive<u16>,
        step: u16,
        barrier: &Barrier,
        work: &W,
    ) -> Result<Vec<T>>
    where
        T: 'static,
        W: Fn(Member) -> F,
        F: Future<Output = Result<T>> + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Every thread reaches the barrier, or the others would wait for it for ever.
        let opened = runtime
            .context("starting a client runtime")
            .and_then(|runtime| {
                let members = runtime.block_on(self.open(numbers.step_by(usize::from(step))))?;
                Ok((runtime, members))
            });
        barrier.wait();
        let (runtime, members) = opened?;
        let all = async {
            let tasks: Vec<_> = members
                .into_iter()
                .map(|member| tokio::task::spawn_local(work(member)))
                .collect();
            let mut results = Vec::new();
            for task in tasks {
                results.push(task.await.context("a client task panicked")??);
            }
            Ok(results)
        };
        runtime.block_on(LocalSet::new().run_until(all))
    }

    async fn open(&self, numbers: impl Iterator<Item = u16>) -> Result<Vec<Member>> {
        let mut members = Vec::new();
        for number in numbers {
            let endpoint = self.target.endpoint.clone();
            let authority = endpoint.authority();
            let connection = Connection::open(endpoint)
                .await
                .with_context(|| format!("connecting to {authority}"))?;
            members.push(Member {
                number,
                connection,
                writer: RequestWriter::new(self.target.clone()),
            });
        }
        Ok(members)
    }
}
