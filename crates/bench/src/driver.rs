//! The closed loop: each connection sends a request, waits for the answer, counts it and sends the
//! next.
//!
//!
//! The connections are spread over a few threads, each with a single-threaded runtime, so that a
//! wake-up never crosses threads and counters need no synchronisation. All connections are open
//! before the clock starts.

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
use crate::item_keys::ItemKeys;
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
/// Consecutive failed exchanges after which a connection gives up the run.
const LOST_CONNECTIONS_MAX: u32 = 5;

/// One measurement: the requests, their target, and the time.
#[derive(Clone)]
pub(crate) struct MeasurementPlan {
    pub(crate) title: String,
    pub(crate) target: Target,
    pub(crate) mix: Mix,
    pub(crate) keys: Arc<ItemKeys>,
    pub(crate) shape: ItemShape,
    pub(crate) connections: u16,
    pub(crate) threads: u16,
    pub(crate) seed: u64,
    pub(crate) on_throttle: OnThrottle,
    pub(crate) span: Span,
    pub(crate) progress: Progress,
}

/// How a client reacts to an answer with 429.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnThrottle {
    /// Waits for the time that the server names, and sends the same request again.
    Wait,
    /// Sends the next operation at once, which no well-behaved client does.
    GoOn,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Span {
    /// Counts only requests that are sent after the warm-up.
    Timed {
        warmup: Duration,
        duration: Duration,
    },
    /// Runs until the mix has no operations left.
    Exhausted,
}

pub(crate) struct Measurement {
    pub(crate) statistics: Statistics,
    /// From the end of the warm-up to the last answer.
    pub(crate) elapsed: Duration,
    pub(crate) connections: u16,
}

impl Measurement {
    pub(crate) fn per_second(&self) -> f64 {
        self.statistics.successes() as f64 / self.elapsed.as_secs_f64()
    }
}

/// Runs a measurement on client threads of its own, and shows its progress.
pub(crate) async fn drive(plan: &MeasurementPlan) -> Result<Measurement> {
    // A thread without a connection would only wait at the barrier.
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
            // Threads of their own and not tasks: the runtime of the caller must not share its
            // threads with the clients.
            .spawn(move || sender.send(worker.run()))
            .context("starting a client thread")?;
    }
    // The channel closes when the last worker drops its sender, which ends the loop below.
    drop(sender);

    let mut line = ProgressLine::new(plan.progress, &plan.title);
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    // The first tick of an interval is immediate and would print an empty line.
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
                    // The threads end one after the other; the slowest thread defines the length of
                    // the measurement.
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
    plan: MeasurementPlan,
    connections: Vec<u16>,
    gauge: Arc<Gauge>,
    barrier: Arc<Barrier>,
}

impl Worker {
    /// Opens the connections, waits for the other threads, and drives.
    fn run(self) -> Result<(Statistics, Duration)> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // A thread whose connections failed still reaches the barrier: the barrier counts all
        // threads, and the others would wait for it forever.
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

    async fn open(&self) -> Result<Vec<DriverClient>> {
        let mut clients = Vec::new();
        for stream in &self.connections {
            let endpoint = self.plan.target.endpoint.clone();
            let authority = endpoint.authority();
            let connection = Connection::open(endpoint)
                .await
                .with_context(|| format!("connecting to {authority}"))?;
            // Each connection has a random stream of its own, so a run repeats with the same seed
            // whatever the number of threads.
            let random = Random::new(self.plan.seed, u64::from(*stream));
            clients.push(DriverClient {
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

    /// Drives the clients of this thread until the end of the window or of the mix.
    async fn drive(&self, clients: Vec<DriverClient>) -> Result<(Statistics, Duration)> {
        let began = Instant::now();
        // Taken after the barrier, so that the windows of all threads agree within microseconds.
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
        // `Rc` and `RefCell` suffice: all clients of the thread run on this thread.
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

/// One connection, with the buffers that it reuses between requests.
struct DriverClient {
    connection: Connection,
    writer: RequestWriter,
    chooser: Chooser,
    keys: Arc<ItemKeys>,
    on_throttle: OnThrottle,
    shape: ItemShape,
    id: String,
    key: String,
    item: Vec<u8>,
}

impl DriverClient {
    async fn run(
        mut self,
        window: Window,
        statistics: Rc<RefCell<Statistics>>,
        gauge: Arc<Gauge>,
    ) -> Result<()> {
        let mut lost = 0;
        let mut is_counted = false;
        while let Some(operation) = self.chooser.next() {
            // The request is built before the clock starts, so that the time of building does not
            // count.
            self.prepare(operation);
            let start = Instant::now();
            // On a busy machine a client may start its first operation after the end of a short
            // window; that client still records one operation, so that no connection is without a
            // figure.
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
                    // A restarting server answers again within a few attempts; more failures mean a
                    // dead server.
                    if lost > LOST_CONNECTIONS_MAX {
                        return Err(error).context("the server does not answer any more");
                    }
                    failure.get_or_insert_with(|| error.to_string());
                    // A failed exchange counts as one error of its kind, with status 0.
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                    Outcome::default()
                }
            };
            // Failed creates count as answered too: an unmarked number would hold back every later
            // number.
            if let Operation::Create(number) = operation {
                self.keys.answered(number);
            }
            gauge.operations.fetch_add(1, Ordering::Relaxed);
            gauge
                .throttled
                .fetch_add(outcome.throttled, Ordering::Relaxed);
            // Throttled operations have a count of their own, so they are no errors on the progress
            // line.
            let expected = self.chooser.expects(outcome.status) || outcome.status == THROTTLED;
            if !outcome.is_success() && !expected {
                gauge.errors.fetch_add(1, Ordering::Relaxed);
            }
            // The clock looks at the start of the request, so no request of the warm-up is counted.
            if start < window.from {
                continue;
            }
            // From now on the end of the window ends this client.
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

    /// Builds the request of an operation before the clock of the operation starts.
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

    /// Builds the item of a number with new random values.
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

    /// Performs one operation with its one or two requests.
    async fn perform(
        &mut self,
        operation: Operation,
        failure: &mut Option<String>,
    ) -> std::io::Result<Outcome> {
        let mut outcome = Outcome::default();
        self.send(&mut outcome, failure).await?;
        // Both requests count as one operation: the time of a read-modify-write includes its read.
        if let (Operation::ReadModifyWrite(number), true) = (operation, outcome.is_success()) {
            // The replacement is built between the two requests, as an application does it.
            self.make_item(number);
            self.writer.replace([&self.id, &self.key], &self.item);
            self.send(&mut outcome, failure).await?;
        }
        Ok(outcome)
    }

    /// Sends the prepared request, and repeats it after each 429 if the plan says so.
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
            // Throttled attempts have a charge too, which is zero.
            outcome.charge += head.charge;
            if head.status != THROTTLED {
                if !outcome.is_success() {
                    // Only the beginning: the body of a proxy may be long.
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
