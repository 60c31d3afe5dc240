//! Honest clients: what they wait for, and what the server promised them.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use serde_json::json;
use tokio::task::JoinSet;

use crate::rest::{Client, Request};
use crate::target::{DATABASE, HONEST_CONTAINER};
use crate::world::{HONEST_ITEMS, KEY};

const READERS: usize = 4;
const WRITERS: usize = 2;
/// Honest clients work for their users between two requests.
const THINK_TIME: Duration = Duration::from_millis(2);
/// A request that took longer counts with this latency.
const LATENCY_MAX: Duration = Duration::from_mins(1);

/// What honest clients met in a stretch of time.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) reads: Histogram<u64>,
    pub(crate) creates: Histogram<u64>,
    /// Requests that were refused, or whose connection was closed.
    pub(crate) failures: u64,
}

impl Seen {
    fn new() -> Seen {
        let empty = || Histogram::new_with_max(60_000_000, 3).expect("three digits are fine");
        Seen {
            reads: empty(),
            creates: empty(),
            failures: 0,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Honest {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    acknowledged: Arc<Mutex<Vec<String>>>,
    numbers: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

#[derive(Clone, Copy)]
enum Work {
    Reads,
    Creates,
}

impl Honest {
    pub(crate) fn new(address: SocketAddr) -> Honest {
        Honest {
            address,
            seen: Arc::new(Mutex::new(Seen::new())),
            acknowledged: Arc::default(),
            numbers: Arc::default(),
            is_over: Arc::default(),
        }
    }

    pub(crate) fn start(&self, tasks: &mut JoinSet<Result<()>>) {
        for worker in 0..READERS + WRITERS {
            let honest = self.clone();
            let work = if worker < READERS {
                Work::Reads
            } else {
                Work::Creates
            };
            tasks.spawn(async move { honest.run(work).await });
        }
    }

    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// What was met since the last question.
    pub(crate) fn take_seen(&self) -> Seen {
        std::mem::replace(&mut *lock(&self.seen), Seen::new())
    }

    async fn run(&self, work: Work) -> Result<()> {
        let mut client = Client::signed(self.address, KEY)?;
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let begun = Instant::now();
            let is_served = match work {
                Work::Reads => self.read(&mut client, number).await,
                Work::Creates => self.create(&mut client, number).await,
            };
            self.note(work, begun.elapsed(), is_served);
            tokio::time::sleep(THINK_TIME).await;
        }
        Ok(())
    }

    fn note(&self, work: Work, elapsed: Duration, is_served: bool) {
        let micros = elapsed.min(LATENCY_MAX).as_micros();
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        let mut seen = lock(&self.seen);
        let histogram = match work {
            Work::Reads => &mut seen.reads,
            Work::Creates => &mut seen.creates,
        };
        histogram.saturating_record(micros);
        seen.failures += u64::from(!is_served);
    }

    async fn read(&self, client: &mut Client, number: u64) -> bool {
        let path = format!(
            "/dbs/{DATABASE}/colls/{HONEST_CONTAINER}/docs/{}",
            number % HONEST_ITEMS as u64
        );
        let request = Request {
            method: "GET",
            path: &path,
            headers: &[("x-ms-documentdb-partitionkey", "[\"p\"]")],
            body: b"",
        };
        client
            .ask(request)
            .await
            .is_ok_and(|answer| answer.status == 200)
    }

    async fn create(&self, client: &mut Client, number: u64) -> bool {
        let id = format!("new-{number}");
        let item = json!({ "id": id, "pk": "w", "text": "y".repeat(900) }).to_string();
        let path = format!("/dbs/{DATABASE}/colls/{HONEST_CONTAINER}/docs");
        let request = Request {
            method: "POST",
            path: &path,
            headers: &[("x-ms-documentdb-partitionkey", "[\"w\"]")],
            body: item.as_bytes(),
        };
        let is_created = client
            .ask(request)
            .await
            .is_ok_and(|answer| answer.status == 201);
        if is_created {
            lock(&self.acknowledged).push(id);
        }
        is_created
    }

    /// Reads every item whose creation was acknowledged; gives their number.
    pub(crate) async fn verify(&self, address: SocketAddr) -> Result<usize> {
        let ids = lock(&self.acknowledged).clone();
        let mut client = Client::signed(address, KEY)?;
        for id in &ids {
            let path = format!("/dbs/{DATABASE}/colls/{HONEST_CONTAINER}/docs/{id}");
            let request = Request {
                method: "GET",
                path: &path,
                headers: &[("x-ms-documentdb-partitionkey", "[\"w\"]")],
                body: b"",
            };
            loop {
                match client.ask(request).await?.status {
                    200 => break,
                    429 => tokio::time::sleep(THINK_TIME).await,
                    status => bail!("item {id} was acknowledged, and a read of it is {status}"),
                }
            }
        }
        Ok(ids.len())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
