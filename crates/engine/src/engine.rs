//! The engine: one account, its catalogue and its store.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex as StdMutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use orrery_keys::ContainerRid;
use orrery_model::{ConsistencyLevel, Failure};
use orrery_partition::{Container, Durability, Error, Seen, Store, StoreOptions, Upkeep};
use orrery_regions::RegionId;
use orrery_script::{LostThreads, Runtime, ScriptError, ScriptOptions};
use tokio::sync::{Mutex, Notify, oneshot};

use crate::catalogue::Catalogue;
use crate::current::Current;
use crate::entries::{self, Change};
use crate::multi::{AccountWriter, HubState, Proposed};
use crate::partitions::{Looks, PartitionLimits};
use crate::query::{QueryCache, QueryLaneCounts, QueryLanes};
use crate::scripts::{Offenders, Reservations, Turns};
use crate::throughput::ThroughputState;
use crate::{Clock, Role, ThroughputOptions, background};

/// How long the end of the server waits for work in the background.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
const TICKS_PER_SECOND: u64 = 10_000_000;

#[derive(Clone)]
pub struct EngineOptions {
    /// None keeps everything in memory.
    pub directory: Option<PathBuf>,
    pub durability: Durability,
    pub cache_bytes: u64,
    /// When records of other regions can be read; see [`Engine::keep`].
    pub seen: Seen,
    pub consistency: ConsistencyLevel,
    pub clock: Arc<dyn Clock>,
    /// Limits of stored procedures, triggers and user-defined functions.
    pub scripts: ScriptOptions,
    pub partitions: PartitionLimits,
    pub throughput: ThroughputOptions,
    /// Set if this is that region of an account in which every region writes.
    pub multi_write: Option<RegionId>,
    /// How the store looks after its disk: the space it keeps free, the speed of its scrub, and
    /// what it does after a panic or after a loss of records.
    pub upkeep: Upkeep,
}

pub struct Engine {
    pub(crate) store: Store,
    pub(crate) catalogue: Arc<Current>,
    /// Whether its records are another's.
    pub(crate) is_following: AtomicBool,
    /// Changes of the catalogue are made one after another; data does not wait for them.
    pub(crate) changing: Mutex<()>,
    pub(crate) queries: QueryCache,
    /// Where pages of queries and feeds work.
    pub(crate) lanes: Arc<QueryLanes>,
    pub(crate) turns: Turns,
    pub(crate) offenders: Offenders,
    pub(crate) reservations: Reservations,
    pub(crate) script_options: ScriptOptions,
    /// Its threads are started by the first script.
    script_runtime: OnceLock<Result<Runtime, ScriptError>>,
    pub(crate) throughput: ThroughputState,
    pub(crate) clock: Arc<dyn Clock>,
    pub consistency: ConsistencyLevel,
    pub(crate) limits: PartitionLimits,
    /// Told when background work need not wait for its time.
    pub(crate) wake: Arc<Notify>,
    /// When partitions were last tried to be split for their size, and looked through for logical
    /// partitions that are too big.
    pub(crate) splits: Looks,
    pub(crate) looks: Looks,
    pub(crate) hub: HubState,
    /// Where changes of the catalogue go in a multi-write account, and the one under way.
    pub(crate) account_writer: StdMutex<Option<Arc<dyn AccountWriter>>>,
    pub(crate) proposed: StdMutex<Option<Proposed>>,
}

impl EngineOptions {
    pub(crate) fn store(&self) -> StoreOptions {
        StoreOptions {
            directory: self.directory.clone(),
            durability: self.durability,
            cache_bytes: self.cache_bytes,
            seen: self.seen,
            multi_write: self.multi_write,
            upkeep: self.upkeep,
        }
    }
}

impl Engine {
    /// Opens the account and takes up background work that an earlier run left.
    ///
    /// Must be called inside a tokio runtime.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>, Error> {
        Engine::open_as(options, Role::Writer)
    }

    /// Opens the account that a store holds.
    ///
    /// Must be called inside a tokio runtime.
    pub fn over(store: Store, options: EngineOptions, role: Role) -> Result<Arc<Engine>, Error> {
        let is_following = role == Role::Follower;
        store.submit_follow(is_following, Box::new(|()| ()));
        let (catalogue, pending) = entries::load(&store.catalogue_state())?;
        let engine = Arc::new(Engine {
            store,
            catalogue: Arc::new(Current::new(catalogue)),
            is_following: AtomicBool::new(is_following),
            changing: Mutex::new(()),
            queries: QueryCache::new(),
            lanes: Arc::new(QueryLanes::new(options.scripts.threads)),
            turns: Turns::default(),
            offenders: Offenders::default(),
            reservations: Reservations::default(),
            script_options: options.scripts,
            script_runtime: OnceLock::new(),
            throughput: ThroughputState::new(options.throughput, options.clock.monotonic_ms()),
            clock: options.clock,
            consistency: options.consistency,
            limits: options.partitions,
            wake: Arc::default(),
            splits: Looks::after_growth(0.5),
            looks: Looks::after_growth(0.05),
            hub: HubState::default(),
            account_writer: StdMutex::default(),
            proposed: StdMutex::default(),
        });
        engine.assign_all(&engine.catalogue());
        background::start(&engine, pending);
        Ok(engine)
    }

    /// How many pages wait for their turn.
    pub fn query_lanes(&self) -> QueryLaneCounts {
        self.lanes.counts()
    }

    /// Everything that exists, as of now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.get()
    }

    /// Finishes what is queued and closes the store. Requests must have ended; work in the background
    /// that has the engine just now is waited for.
    pub fn close(mut engine: Arc<Engine>) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            match Arc::try_unwrap(engine) {
                Ok(alone) => return alone.store.close(),
                Err(held) if begun.elapsed() < CLOSE_PATIENCE => engine = held,
                Err(_) => {
                    return Err(Error::ReadOnly("requests are still running".to_owned()));
                }
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn now_seconds(&self) -> u64 {
        self.clock.now_seconds()
    }

    /// The moment of a query: 100 nanoseconds each, since 1970, in whole seconds.
    pub fn now_ticks(&self) -> i64 {
        i64::try_from(self.now_seconds() * TICKS_PER_SECOND).unwrap_or(i64::MAX)
    }

    pub(crate) fn script_runtime(&self) -> Result<&Runtime, Failure> {
        let runtime = self.script_runtime.get_or_init(|| {
            let begun = Instant::now();
            let clock = orrery_script::Clock::Monotonic(Arc::new(move || begun.elapsed()));
            Runtime::new(self.script_options.clone(), clock)
        });
        runtime
            .as_ref()
            .map_err(|error| Failure::Internal(error.to_string()))
    }

    /// Counts the script threads that the runtime has given up because their runs did not end in
    /// time.
    pub fn lost_script_threads(&self) -> LostThreads {
        match self.script_runtime.get() {
            Some(Ok(runtime)) => runtime.lost_threads(),
            Some(Err(_)) | None => LostThreads::default(),
        }
    }

    /// Changes the catalogue: `change` edits a copy and lists what to write; when that is durable,
    /// the copy becomes the catalogue.
    pub(crate) async fn change_catalogue<T>(
        &self,
        change: impl FnOnce(&mut Catalogue, &mut Vec<Change>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let _turn = self.changing.lock().await;
        self.check_catalogue_writer()?;
        let mut next = Catalogue::clone(&self.catalogue());
        let mut changes = Vec::new();
        let result = change(&mut next, &mut changes)?;
        if changes.is_empty() {
            return Ok(result);
        }
        changes.push(entries::put_numbers(&next.numbers));
        if self.region().is_some() {
            self.write_account(&changes, next).await?;
            return Ok(result);
        }
        self.write_catalogue(changes).await?;
        self.catalogue.set(next);
        Ok(result)
    }

    pub(crate) async fn write_catalogue(&self, changes: Vec<Change>) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        self.store
            .submit_catalogue(changes, Box::new(move |result| drop(reply.send(result))));
        answer.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Refuses what still comes for deleted containers and removes their documents in time.
    pub(crate) fn retire(self: &Arc<Self>, containers: &[Arc<Container>]) {
        for container in containers {
            container
                .alive
                .store(false, std::sync::atomic::Ordering::Release);
        }
        let numbers = containers
            .iter()
            .map(|container| container.rid)
            .map(ContainerRid::id);
        background::purge(self, numbers.collect());
    }
}

pub(crate) fn stopping() -> Failure {
    Failure::Unavailable("Service is currently unavailable: the server is stopping.".to_owned())
}
