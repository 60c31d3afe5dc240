//! The closed loop: connections that send, wait, count and send again.
//!
//! Connections are spread over a few threads, each with a single-threaded runtime: a wake-up never
//! crosses threads and counters need no synchronisation. All connections are open before the clock
//! starts.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::connection::Connection;
use crate::item::ItemShape;
use crate::keyspace::KeySpace;
use crate::operation::Operation;
use crate::options::Progress;
use crate::progress::{Gauge, ProgressLine};
use crate::random::Random;
use crate::request::{RequestWriter, Target};
use crate::statistics::{Failure, Outcome, Statistics};
use crate::workload::{Chooser, Mix};

pub(crate) const THROTTLED: u16 = 429;
const BACKOFF_DEFAULT: Duration = Duration::from_millis(100);
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
const FAILURE_BODY_BYTES_MAX: usize = 2000;
/// Failed exchanges in a row after which a connection gives the run up.
const LOST_CONNECTIONS_MAX: u32 = 5;

/// One measurement: what to send where, and for how long.
#[derive(Clone)]
pub(crate) struct Drive {
    pub(crate) title: String,
    pub(crate) target: Target,
    pub(crate) mix: Mix,
    pub(crate) keys: Arc<KeySpace>,
    pub(crate) shape: ItemShape,
    pub(crate) connections: u16,
    pub(crate) threads: u16,
    pub(crate) seed: u64,
    pub(crate) on_throttle: OnThrottle,
    pub(crate) span: Span,
    pub(crate) progress: Progress,
}

/// What a client does that is answered 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnThrottle {
    /// Waits as long as it is told and sends the same again.
    Wait,
    /// Goes on with the next operation at once, as no client should.
    GoOn,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Span {
    /// Counts only what is sent after the warm-up.
    Timed {
        warmup: Duration,
        duration: Duration,
    },
    /// Until the mix is used up.
    Exhausted,
}

pub(crate) struct Measurement {
    pub(crate) statistics: Statistics,
    /// From the end of the warm-up until the last answer.
    pub(crate) elapsed: Duration,
    pub(crate) connections: u16,
}

impl Measurement {
    pub(crate) fn per_second(&self) -> f64 {
        self.statistics.successes() as f64 / self.elapsed.as_secs_f64()
    }
}

pub(crate) async fn drive(plan: &Drive) -> Result<Measurement> {
    let threads = plan.threads.min(plan.connections);
    let gauge = Arc::new(Gauge::default());
    let barrier = Arc::new(Barrier::new(usize::from(threads)));
    let (sender, mut finished) = mpsc::unbounded_channel();
    for thread in 0..threads {
        let worker = Worker {
            plan: plan.clone(),
            connections: (thread..plan.connections)
                .step_by(usize::from(threads))
                .collect(),
            gauge: Arc::clone(&gauge),
            barrier: Arc::clone(&barrier),
        };
        let sender = sender.clone();
        std::thread::Builder::new()
            .name(format!("bench-{thread}"))
            .spawn(move || sender.send(worker.run()))
            .context("starting a client thread")?;
    }
    drop(sender);

    let mut line = ProgressLine::new(plan.progress, &plan.title);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.tick().await;
    let (mut statistics, mut elapsed) = (Statistics::default(), Duration::ZERO);
    loop {
        tokio::select! {
            _ = ticks.tick() => line.update(&gauge),
            result = finished.recv() => match result {
                None => break,
                Some(result) => {
                    let (counts, seconds) = result?;
                    statistics.add(&counts);
                    elapsed = elapsed.max(seconds);
                }
            },
        }
    }
    line.finish();
    Ok(Measurement {
        statistics,
        elapsed,
        connections: plan.connections,
    })
}

/// One client thread.
struct Worker {
    plan: Drive,
    connections: Vec<u16>,
    gauge: Arc<Gauge>,
    barrier: Arc<Barrier>,
}

impl Worker {
    fn run(self) -> Result<(Statistics, Duration)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Every thread reaches the barrier, or the others would wait for it for ever.
        let opened = runtime
            .context("starting a client runtime")
            .and_then(|runtime| {
                runtime
                    .block_on(self.open())
                    .map(|clients| (runtime, clients))
            });
        self.barrier.wait();
        let (runtime, clients) = opened?;
        runtime.block_on(LocalSet::new().run_until(self.drive(clients)))
    }

    async fn open(&self) -> Result<Vec<Client>> {
        let mut clients = Vec::new();
        for stream in &self.connections {
            let endpoint = self.plan.target.endpoint.clone();
            let authority = endpoint.authority();
            let connection = Connection::open(endpoint)
                .await
                .with_context(|| format!("connecting to {authority}"))?;
            let random = Random::new(self.plan.seed, u64::from(*stream));
            clients.push(Client {
                connection,
                writer: RequestWriter::new(self.plan.target.clone()),
                chooser: Chooser::new(self.plan.mix.clone(), Arc::clone(&self.plan.keys), random),
                keys: Arc::clone(&self.plan.keys),
                on_throttle: self.plan.on_throttle,
                shape: self.plan.shape,
                id: String::new(),
                key: String::new(),
                item: Vec::new(),
            });
        }
        Ok(clients)
    }

    async fn drive(&self, clients: Vec<Client>) -> Result<(Statistics, Duration)> {
        let began = Instant::now();
        let window = match self.plan.span {
            Span::Exhausted => Window {
                from: began,
                until: None,
            },
            Span::Timed { warmup, duration } => Window {
                from: began + warmup,
                until: Some(began + warmup + duration),
            },
        };
        let statistics = Rc::new(RefCell::new(Statistics::default()));
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|client| {
                let (statistics, gauge) = (Rc::clone(&statistics), Arc::clone(&self.gauge));
                tokio::task::spawn_local(client.run(window, statistics, gauge))
            })
            .collect();
        for task in tasks {
            task.await.context("a client task panicked")??;
        }
        let elapsed = Instant::now().saturating_duration_since(window.from);
        Ok((statistics.take(), elapsed))
    }
}

#[derive(Clone, Copy)]
struct Window {
    from: Instant,
    until: Option<Instant>,
}

/// One connection and everything it reuses between requests.
struct Client {
    connection: Connection,
    writer: RequestWriter,
    chooser: Chooser,
    keys: Arc<KeySpace>,
    on_throttle: OnThrottle,
    shape: ItemShape,
    id: String,
    key: String,
    item: Vec<u8>,
}

impl Client {
    async fn run(
        mut self,
        window: Window,
        statistics: Rc<RefCell<Statistics>>,
        gauge: Arc<Gauge>,
    ) -> Result<()> {
        let mut lost = 0;
        let mut is_counted = false;
        while let Some(operation) = self.chooser.next() {
            self.prepare(operation);
            let start = Instant::now();
            // One that comes late to a short window, because the machine is busy, has something to tell as well.
            if is_counted && window.until.is_some_and(|until| start >= until) {
                break;
            }
            let mut failure = None;
            let outcome = match self.perform(operation, &mut failure).await {
                Ok(outcome) => {
                    lost = 0;
                    outcome
                }
                Err(error) => {
                    lost += 1;
                    if lost > LOST_CONNECTIONS_MAX {
                        return Err(error).context("the server does not answer any more");
                    }
                    failure.get_or_insert_with(|| error.to_string());
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                    Outcome::default()
                }
            };
            if let Operation::Create(number) = operation {
                self.keys.answered(number);
            }
            gauge.operations.fetch_add(1, Ordering::Relaxed);
            gauge
                .throttled
                .fetch_add(outcome.throttled, Ordering::Relaxed);
            let expected = self.chooser.expects(outcome.status) || outcome.status == THROTTLED;
            if !outcome.is_success() && !expected {
                gauge.errors.fetch_add(1, Ordering::Relaxed);
            }
            if start < window.from {
                continue;
            }
            is_counted = true;
            let mut statistics = statistics.borrow_mut();
            statistics.record(operation.kind(), outcome, start.elapsed());
            if let (Some(body), false) = (failure, expected) {
                let status = outcome.status;
                let kind = operation.kind();
                statistics
                    .first_failure
                    .get_or_insert(Failure { kind, status, body });
            }
        }
        Ok(())
    }

    /// Writes the request before the clock of the operation starts.
    fn prepare(&mut self, operation: Operation) {
        match operation {
            Operation::Read(number) | Operation::ReadModifyWrite(number) => {
                self.name_item(number);
                self.writer.read(&self.id, &self.key);
            }
            Operation::Create(number) => {
                self.make_item(number);
                self.writer.create(&self.key, &self.item);
            }
            Operation::Upsert(number) => {
                self.make_item(number);
                self.writer.upsert(&self.key, &self.item);
            }
            Operation::Replace(number) => {
                self.make_item(number);
                self.writer.replace([&self.id, &self.key], &self.item);
            }
            Operation::Scan(items_max) => self.writer.scan(items_max),
            Operation::Query(number) => {
                self.name_item(number);
                self.writer.query_item(&self.id, &self.key);
            }
        }
    }

    fn make_item(&mut self, number: u64) {
        self.name_item(number);
        self.item.clear();
        self.shape
            .write(&mut self.item, [&self.id, &self.key], self.chooser.random());
    }

    fn name_item(&mut self, number: u64) {
        self.keys.write_id(&mut self.id, number);
        self.keys.write_key(&mut self.key, number);
    }

    async fn perform(
        &mut self,
        operation: Operation,
        failure: &mut Option<String>,
    ) -> std::io::Result<Outcome> {
        let mut outcome = Outcome::default();
        self.send(&mut outcome, failure).await?;
        if let (Operation::ReadModifyWrite(number), true) = (operation, outcome.is_success()) {
            self.make_item(number);
            self.writer.replace([&self.id, &self.key], &self.item);
            self.send(&mut outcome, failure).await?;
        }
        Ok(outcome)
    }

    /// Sends the prepared request until the answer is not 429, or once.
    async fn send(
        &mut self,
        outcome: &mut Outcome,
        failure: &mut Option<String>,
    ) -> std::io::Result<()> {
        loop {
            let request = self.writer.bytes();
            let response = self.connection.exchange(request).await?;
            let head = response.head;
            outcome.status = head.status;
            outcome.sent_bytes += request.len() as u64;
            outcome.received_bytes += response.received_bytes as u64;
            outcome.charge += head.charge;
            if head.status != THROTTLED {
                if !outcome.is_success() {
                    let shown = response.body.len().min(FAILURE_BODY_BYTES_MAX);
                    *failure = Some(String::from_utf8_lossy(&response.body[..shown]).into_owned());
                }
                return Ok(());
            }
            outcome.throttled += 1;
            if self.on_throttle == OnThrottle::GoOn {
                return Ok(());
            }
            let pause = head
                .retry_after_ms
                .map_or(BACKOFF_DEFAULT, Duration::from_millis);
            tokio::time::sleep(pause).await;
        }
    }
}
