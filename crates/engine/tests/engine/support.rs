//! An engine with a manual clock, and helper functions for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use orrery_engine::{
    ApplyAfter, Clock, Container, Durability, Engine, EngineOptions, FeedRequest, FeedScope,
    NewContainer, PartitionLimits, ReplicationRole, ScriptOptions, StoreError, ThroughputMode,
    ThroughputOptions,
};
use orrery_json::{Value, parse};
use orrery_keys::PartitionKey;
use orrery_model::{
    ChargedResult, ConsistencyLevel, ContainerAddress, ContainerDefinition, DatabaseAddress,
    Document, Failure, Operation, OperationKind, OperationOutcome, Patch, PatchOperation,
    Precondition, Throughput,
};

pub(crate) const START_SECONDS: u64 = 1_800_000_000;
const LEVEL: ConsistencyLevel = ConsistencyLevel::Session;
/// Enough for every script in the tests except the endless one, also on a busy machine.
const SCRIPT_TIME: Duration = Duration::from_secs(8);
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The first background sweep starts a second after the engine.
const SWEEP: Duration = Duration::from_millis(900);

pub(crate) struct TestClock(pub(crate) AtomicU64);

impl Clock for TestClock {
    fn now_seconds(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// What differs between accounts of tests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TestOptions {
    pub(crate) throughput: ThroughputMode,
    pub(crate) partitions: PartitionLimits,
}

/// Names the seed when a test ends badly.
pub(crate) struct Seed(pub(crate) u64);

#[expect(clippy::print_stderr, reason = "for whoever has to repeat it")]
impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed is {}", self.0);
        }
    }
}

/// An account with the database `d`.
pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) directory: Option<PathBuf>,
    durability: Durability,
}

impl World {
    pub(crate) async fn in_memory() -> World {
        World::open(None, Durability::None).await.unwrap()
    }

    /// In memory, with limits.
    pub(crate) async fn limited(options: TestOptions) -> World {
        let clock = Arc::new(TestClock(AtomicU64::new(START_SECONDS)));
        let engine = open_engine(None, Durability::None, options, &clock).unwrap();
        engine.create_database("d", None).await.unwrap();
        World {
            engine,
            clock,
            directory: None,
            durability: Durability::None,
        }
    }

    pub(crate) async fn at(directory: &Path) -> World {
        World::open(Some(directory), Durability::Sync)
            .await
            .unwrap()
    }

    /// Opens an account, and creates the database if it is missing.
    pub(crate) async fn open(
        directory: Option<&Path>,
        durability: Durability,
    ) -> Result<World, StoreError> {
        let clock = Arc::new(TestClock(AtomicU64::new(START_SECONDS)));
        let directory = directory.map(Path::to_owned);
        let options = TestOptions::default();
        let engine = open_engine(directory.clone(), durability, options, &clock)?;
        if engine.catalogue().databases.is_empty() {
            engine.create_database("d", None).await.unwrap();
        }
        Ok(World {
            engine,
            clock,
            directory,
            durability,
        })
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now_seconds()
    }

    /// Waits until background work has released the account, then closes it.
    pub(crate) async fn close(self) {
        let World { engine, .. } = self;
        close_engine(engine).await;
    }

    pub(crate) async fn reopen(self) -> World {
        self.restart(close_engine).await
    }

    /// Drops the account without closing it, as a killed process does.
    pub(crate) async fn abandon(self) -> World {
        let let_go = async |engine| {
            wait_until_alone(&engine).await;
            drop(engine);
        };
        self.restart(let_go).await
    }

    /// Reopens the account in the same role.
    async fn restart(self, end: impl AsyncFnOnce(Arc<Engine>)) -> World {
        let World {
            engine,
            clock,
            directory,
            durability,
        } = self;
        let role = engine.role();
        end(engine).await;
        let options = engine_options(
            directory.clone(),
            durability,
            TestOptions::default(),
            &clock,
        );
        World {
            engine: Engine::open_as(options, role).unwrap(),
            clock,
            directory,
            durability,
        }
    }

    /// An empty follower of this account, with the same clock.
    pub(crate) fn follower(&self, directory: Option<&Path>) -> World {
        let options = self.options_at(directory);
        let engine = Engine::open_as(options, ReplicationRole::Follower).unwrap();
        self.beside(engine, directory)
    }

    /// A follower that starts from a chunked snapshot of this account.
    pub(crate) fn copy(&self, directory: Option<&Path>, piece_bytes: usize) -> World {
        let mut stream = self.engine.snapshot_stream().unwrap();
        let mut filling =
            Engine::install_snapshot(&self.options_at(directory), stream.position()).unwrap();
        while let Some(piece) = stream.next_chunk(piece_bytes).unwrap() {
            filling.add(piece).unwrap();
        }
        let (store, options) = (filling.finish().unwrap(), self.options_at(directory));
        let engine = Engine::with_store(store, options, ReplicationRole::Follower).unwrap();
        self.beside(engine, directory)
    }

    pub(crate) fn options_at(&self, directory: Option<&Path>) -> EngineOptions {
        let directory = directory.map(Path::to_owned);
        let options = TestOptions::default();
        engine_options(directory, self.durability, options, &self.clock)
    }

    /// Wraps another engine with the clock of this world.
    pub(crate) fn over(&self, engine: Arc<Engine>) -> World {
        self.beside(engine, None)
    }

    fn beside(&self, engine: Arc<Engine>, directory: Option<&Path>) -> World {
        World {
            engine,
            clock: Arc::clone(&self.clock),
            directory: directory.map(Path::to_owned),
            durability: self.durability,
        }
    }

    /// Creates a container from its definition.
    pub(crate) async fn create(&self, definition: &str, throughput: u32) -> Arc<Container> {
        let definition = ContainerDefinition::parse(&json(definition)).unwrap();
        let new = NewContainer {
            definition,
            throughput: Some(Throughput::Manual(throughput)),
        };
        let entry = self
            .engine
            .create_container(DatabaseAddress::Name("d"), new)
            .await
            .unwrap();
        Arc::clone(&entry.container)
    }

    /// A container with one physical partition, partitioned by `/p`; `settings` begin with a comma.
    pub(crate) async fn container(&self, id: &str, settings: &str) -> Arc<Container> {
        self.create(
            &format!(r#"{{"id":"{id}","partitionKey":{{"paths":["/p"]}}{settings}}}"#),
            400,
        )
        .await
    }

    pub(crate) async fn set_default_ttl(&self, id: &str, seconds: Option<i32>) -> Arc<Container> {
        let container = self.find(id);
        let Value::Object(mut body) = container.definition.to_value() else {
            panic!("a definition is an object");
        };
        body.shift_remove("defaultTtl");
        if let Some(seconds) = seconds {
            body.insert("defaultTtl".to_owned(), i64::from(seconds).into());
        }
        let entry = self
            .engine
            .replace_container(address(id), &Value::Object(body), None)
            .await
            .unwrap();
        Arc::clone(&entry.container)
    }

    /// Gives a container another definition.
    pub(crate) async fn redefine(&self, id: &str, definition: &str) -> Arc<Container> {
        let body = json(definition);
        let replaced = self.engine.replace_container(address(id), &body, None);
        Arc::clone(&replaced.await.unwrap().container)
    }

    pub(crate) async fn delete_container(&self, id: &str) {
        self.engine
            .delete_container(address(id), None)
            .await
            .unwrap();
    }

    pub(crate) fn find(&self, id: &str) -> Arc<Container> {
        let catalogue = self.engine.catalogue();
        Arc::clone(&catalogue.container(address(id)).unwrap().1.container)
    }

    pub(crate) async fn write(
        &self,
        container: &Arc<Container>,
        key: &str,
        operation: Operation,
    ) -> ChargedResult<OperationOutcome> {
        self.engine
            .write_item(container, pk(key), operation, LEVEL)
            .await
    }

    pub(crate) async fn ok(
        &self,
        container: &Arc<Container>,
        key: &str,
        operation: Operation,
    ) -> OperationOutcome {
        self.write(container, key, operation).await.result.unwrap()
    }

    pub(crate) async fn refused(
        &self,
        container: &Arc<Container>,
        key: &str,
        operation: Operation,
    ) -> Failure {
        self.write(container, key, operation)
            .await
            .result
            .unwrap_err()
    }

    pub(crate) async fn batch(
        &self,
        container: &Arc<Container>,
        key: &str,
        operations: Vec<Operation>,
    ) -> ChargedResult<Vec<Result<OperationOutcome, Failure>>> {
        self.engine
            .transact(
                container,
                pk(key),
                operations.into_iter().map(Ok).collect(),
                LEVEL,
            )
            .await
    }

    pub(crate) fn read(
        &self,
        container: &Arc<Container>,
        key: &str,
        id: &str,
    ) -> Result<OperationOutcome, Failure> {
        self.engine
            .read_item(container, &pk(key), id, None, LEVEL)
            .result
    }

    pub(crate) async fn page(
        &self,
        container: &Arc<Container>,
        scope: FeedScope,
        items_max: usize,
        continuation: Option<String>,
    ) -> Result<(Vec<String>, Option<String>), Failure> {
        let request = FeedRequest {
            scope,
            query: None,
            items_max,
            continuation,
            continuation_bytes_max: None,
            budget: LEVEL.into(),
            wants_report: false,
            without_index: false,
            enable_scan: true,
        };
        let page = self.engine.feed(container, request).await.result?;
        let items = page
            .items
            .iter()
            .map(|text| String::from_utf8(text.to_vec()).unwrap());
        Ok((items.collect(), page.continuation))
    }

    /// Reads all items of a scope in pages of the given size.
    pub(crate) async fn all(
        &self,
        container: &Arc<Container>,
        scope: FeedScope,
        items_max: usize,
    ) -> Vec<String> {
        let (mut all, mut continuation) = (Vec::new(), None);
        loop {
            let page = self
                .page(container, scope.clone(), items_max, continuation)
                .await
                .unwrap();
            assert!(page.0.len() <= items_max);
            all.extend(page.0);
            continuation = page.1;
            if continuation.is_none() {
                return all;
            }
        }
    }
}

fn open_engine(
    directory: Option<PathBuf>,
    durability: Durability,
    options: TestOptions,
    clock: &Arc<TestClock>,
) -> Result<Arc<Engine>, StoreError> {
    Engine::open(engine_options(directory, durability, options, clock))
}

fn engine_options(
    directory: Option<PathBuf>,
    durability: Durability,
    options: TestOptions,
    clock: &Arc<TestClock>,
) -> EngineOptions {
    EngineOptions {
        multi_write: None,
        sweeps: true,
        maintenance: orrery_engine::MaintenanceOptions::default(),
        throughput: ThroughputOptions {
            mode: options.throughput,
            burst_capacity: false,
            bulk_patience: Duration::ZERO,
        },
        directory,
        durability,
        cache_bytes: 4 << 20,
        apply_after: ApplyAfter::Durable,
        consistency: LEVEL,
        partitions: options.partitions,
        scripts: ScriptOptions {
            wall_time: SCRIPT_TIME,
            accept_time: SCRIPT_TIME / 2,
            ..ScriptOptions::default()
        },
        clock: Arc::clone(clock) as Arc<dyn Clock>,
    }
}

async fn close_engine(engine: Arc<Engine>) {
    wait_until_alone(&engine).await;
    Engine::close(engine).unwrap();
}

async fn wait_until_alone(engine: &Arc<Engine>) {
    eventually("background work lets go of the engine", || {
        Arc::strong_count(engine) == 1
    })
    .await;
}

/// Runs a scene that opens an engine, and repeats the scene if a sweep may have run in between.
pub(crate) async fn before_any_sweep<T>(scene: impl AsyncFn() -> T) -> T {
    let started = Instant::now();
    loop {
        let begun = Instant::now();
        let seen = scene().await;
        if begun.elapsed() < SWEEP {
            return seen;
        }
        assert!(started.elapsed() < PATIENCE, "the machine is too slow");
    }
}

/// Waits until background work has reached a condition.
pub(crate) async fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(crate) fn address(container: &str) -> ContainerAddress<'_> {
    ContainerAddress::Name {
        database: "d",
        container,
    }
}

pub(crate) fn json(text: &str) -> Value {
    parse(text.as_bytes()).unwrap()
}

pub(crate) fn pk(header: &str) -> PartitionKey {
    PartitionKey::parse_header(header).unwrap()
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

pub(crate) fn create(text: &str) -> Operation {
    Operation::new(OperationKind::Create(document(text)))
}

pub(crate) fn upsert(text: &str) -> Operation {
    Operation::new(OperationKind::Upsert(document(text)))
}

pub(crate) fn replace(id: &str, text: &str) -> Operation {
    Operation::new(OperationKind::Replace {
        id: id.to_owned(),
        document: document(text),
    })
}

pub(crate) fn patch(id: &str, operations: Vec<PatchOperation>) -> Operation {
    let patch = Patch {
        operations,
        condition: None,
    };
    Operation::new(OperationKind::Patch {
        id: id.to_owned(),
        patch,
    })
}

pub(crate) fn read(id: &str) -> Operation {
    Operation::new(OperationKind::Read { id: id.to_owned() })
}

pub(crate) fn delete(id: &str) -> Operation {
    Operation::new(OperationKind::Delete { id: id.to_owned() })
}

pub(crate) fn if_match(operation: Operation, etag: &str) -> Operation {
    Operation {
        if_match: Some(Precondition::Etag(etag.to_owned())),
        ..operation
    }
}

/// The property `name` of an item's text.
pub(crate) fn property(outcome: &OperationOutcome, name: &str) -> Value {
    json(std::str::from_utf8(outcome.body.as_ref().unwrap()).unwrap())
        .get(name)
        .clone()
}

pub(crate) fn text_property(outcome: &OperationOutcome, name: &str) -> String {
    property(outcome, name).as_str().unwrap().to_owned()
}
