//! Honest clients: their latencies, and the writes that the server acknowledged to them.

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

/// Tasks that read items.
const READERS: usize = 4;
/// Tasks that create items.
const WRITERS: usize = 2;
/// The time of the users of honest clients between two requests.
const THINK_TIME: Duration = Duration::from_millis(2);
/// The largest latency of the histograms. A longer request counts with this latency.
const LATENCY_MAX: Duration = Duration::from_mins(1);

/// The results of honest clients in a period.
#[derive(Clone)]
pub(crate) struct HonestResults {
    pub(crate) reads: Histogram<u64>,
    pub(crate) creates: Histogram<u64>,
    /// Requests that the server refused, or whose connection it closed.
    pub(crate) failures: u64,
}

impl HonestResults {
    fn new() -> HonestResults {
        let empty = || Histogram::new_with_max(60_000_000, 3).expect("three digits are fine");
        HonestResults {
            reads: empty(),
            creates: empty(),
            failures: 0,
        }
    }
}

/// The clients whose service the attacks must not impair. Clones share all state.
#[derive(Clone)]
pub(crate) struct HonestClients {
    address: SocketAddr,
    results: Arc<Mutex<HonestResults>>,
    acknowledged: Arc<Mutex<Vec<String>>>,
    numbers: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

#[derive(Clone, Copy)]
enum Work {
    Reads,
    Creates,
}

impl HonestClients {
    pub(crate) fn new(address: SocketAddr) -> HonestClients {
        HonestClients {
            address,
            results: Arc::new(Mutex::new(HonestResults::new())),
            acknowledged: Arc::default(),
            numbers: Arc::default(),
            is_over: Arc::default(),
        }
    }

    /// Starts one task per reader and writer.
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

    /// Ends each task after its current request.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The results since the last call.
    pub(crate) fn take_results(&self) -> HonestResults {
        std::mem::replace(&mut *lock(&self.results), HonestResults::new())
    }

    /// Repeats one kind of request on one connection until `stop`.
    async fn run(&self, work: Work) -> Result<()> {
        let mut client = Client::signed(self.address, KEY)?;
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            let begun = Instant::now();
            let is_served = match work {
                Work::Reads => self.read(&mut client, number).await,
                Work::Creates => self.create(&mut client, number).await,
            };
            self.record(work, begun.elapsed(), is_served);
            tokio::time::sleep(THINK_TIME).await;
        }
        Ok(())
    }

    /// Records a request. Failed requests count in the latency too, since a user waits for them as
    /// well.
    fn record(&self, work: Work, elapsed: Duration, is_served: bool) {
        let micros = elapsed.min(LATENCY_MAX).as_micros();
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        // One lock for histogram and failures: `take_results` never separates the two.
        let mut results = lock(&self.results);
        let histogram = match work {
            Work::Reads => &mut results.reads,
            Work::Creates => &mut results.creates,
        };
        histogram.saturating_record(micros);
        results.failures += u64::from(!is_served);
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
            .request(request)
            .await
            .is_ok_and(|answer| answer.status == 200)
    }

    /// Creates an item. Only a status 201 obliges the server to keep the item.
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
            .request(request)
            .await
            .is_ok_and(|answer| answer.status == 201);
        if is_created {
            lock(&self.acknowledged).push(id);
        }
        is_created
    }

    /// Reads every item whose creation was acknowledged. Returns their number.
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
            // An acknowledged item may be throttled, but it may never be missing.
            loop {
                match client.request(request).await?.status {
                    200 => break,
                    // Attacks may have used up the share of the key; a refusal for the rate is no
                    // loss.
                    429 => tokio::time::sleep(THINK_TIME).await,
                    status => bail!("item {id} was acknowledged, and a read of it is {status}"),
                }
            }
        }
        Ok(ids.len())
    }
}

/// A panicked client poisons the lock, and the results of other clients remain valid.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
