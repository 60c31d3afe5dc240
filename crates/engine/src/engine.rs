//! The engine of one account: its catalogue, its store and its background work.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex as StdMutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use orrery_keys::ContainerRid;
use orrery_model::{ConsistencyLevel, Failure};
use orrery_partition::{
    ApplyAfter, Container, Durability, Error, MaintenanceOptions, Store, StoreOptions,
};
use orrery_regions::RegionId;
use orrery_script::{AbandonedThreads, Runtime, ScriptError, ScriptOptions};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, Notify, oneshot};

use crate::catalogue::Catalogue;
use crate::catalogue_rows::{self, CatalogueWrite};
use crate::current_catalogue::CurrentCatalogue;
use crate::multi_write::{AccountStreamWriter, CatalogueProposal, HubState};
use crate::partitions::{GrowthChecks, PartitionLimits};
use crate::query::{QueryCache, QueryLaneCounts, QueryLanes};
use crate::scripts::{ChargeEstimates, FunctionThreads, ScriptBlocklist, ScriptQueue};
use crate::throughput::ThroughputState;
use crate::{Clock, ReplicationRole, ThroughputOptions, background};

/// Time that a shutdown waits for background work.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
const TICKS_PER_SECOND: u64 = 10_000_000;

#[derive(Clone)]
pub struct EngineOptions {
    /// The data directory. Without one, the account lives in memory.
    pub directory: Option<PathBuf>,
    pub durability: Durability,
    pub cache_bytes: u64,
    /// When records from other regions become readable; see [`ApplyAfter`].
    pub apply_after: ApplyAfter,
    pub consistency: ConsistencyLevel,
    pub clock: Arc<dyn Clock>,
    /// Limits of stored procedures, triggers and user-defined functions.
    pub scripts: ScriptOptions,
    pub partitions: PartitionLimits,
    pub throughput: ThroughputOptions,
    /// The region id in a multi-write account; absent in an account with one write region.
    pub multi_write: Option<RegionId>,
    /// Whether the engine itself removes expired items, resolves conflicts, splits partitions and
    /// trims history every second. Otherwise the caller triggers each of these steps.
    pub sweeps: bool,
    /// How the store maintains its disk: the space it keeps free, the speed of its scrub, and its
    /// reaction to a panic or to a loss of records.
    pub maintenance: MaintenanceOptions,
}

/// One account. All requests share the engine; changes of the catalogue pass through one lock, and
/// changes of data through the store's committer.
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) catalogue: Arc<CurrentCatalogue>,
    /// Whether this account follows the records of a write region.
    pub(crate) is_following: AtomicBool,
    /// Serialises catalogue changes: each is decided over the result of the one before. Item writes
    /// do not take this lock.
    pub(crate) catalogue_lock: Mutex<()>,
    pub(crate) queries: QueryCache,
    /// Limits the pages of queries and feeds that run at the same time.
    pub(crate) lanes: Arc<QueryLanes>,
    pub(crate) script_queue: ScriptQueue,
    pub(crate) script_blocklist: ScriptBlocklist,
    pub(crate) charge_estimates: ChargeEstimates,
    pub(crate) script_options: ScriptOptions,
    /// The first script starts its threads.
    script_runtime: OnceLock<Result<Runtime, ScriptError>>,
    pub(crate) function_threads: FunctionThreads,
    pub(crate) throughput: ThroughputState,
    pub(crate) clock: Arc<dyn Clock>,
    pub consistency: ConsistencyLevel,
    pub(crate) limits: PartitionLimits,
    /// The runtime of background work, whichever thread starts that work.
    pub(crate) runtime: Handle,
    /// Wakes the sweep before its interval ends.
    pub(crate) wake: Arc<Notify>,
    /// Limits the attempts to split partitions for their size.
    pub(crate) split_checks: GrowthChecks,
    /// Limits the searches for logical partitions near their size limit.
    pub(crate) oversized_checks: GrowthChecks,
    pub(crate) hub: HubState,
    /// Writes catalogue changes into the account stream of a multi-write account.
    pub(crate) account_writer: StdMutex<Option<Arc<dyn AccountStreamWriter>>>,
    /// The catalogue change that this region has proposed and that the stream has not yet returned.
    pub(crate) proposal: StdMutex<Option<CatalogueProposal>>,
}

impl EngineOptions {
    pub(crate) fn store(&self) -> StoreOptions {
        StoreOptions {
            directory: self.directory.clone(),
            durability: self.durability,
            cache_bytes: self.cache_bytes,
            apply_after: self.apply_after,
            multi_write: self.multi_write,
            maintenance: self.maintenance,
        }
    }
}

impl Engine {
    /// Opens the account and resumes the background work that an earlier run left.
    ///
    /// Must be called inside a tokio runtime.
    pub fn open(options: EngineOptions) -> Result<Arc<Engine>, Error> {
        Engine::open_as(options, ReplicationRole::Writer)
    }

    /// Opens the account of an already opened store.
    ///
    /// Must be called inside a tokio runtime.
    pub fn with_store(
        store: Store,
        options: EngineOptions,
        role: ReplicationRole,
    ) -> Result<Arc<Engine>, Error> {
        let is_following = role == ReplicationRole::Follower;
        // The role is queued before the first request, so that a follower's store refuses the first
        // write too.
        store.submit_follow(is_following, Box::new(|()| ()));
        let (catalogue, pending) = catalogue_rows::load(&store.catalogue_state())?;
        let engine = Arc::new(Engine {
            store,
            catalogue: Arc::new(CurrentCatalogue::new(catalogue)),
            is_following: AtomicBool::new(is_following),
            catalogue_lock: Mutex::new(()),
            queries: QueryCache::new(),
            lanes: Arc::new(QueryLanes::new(options.scripts.threads)),
            script_queue: ScriptQueue::default(),
            script_blocklist: ScriptBlocklist::default(),
            charge_estimates: ChargeEstimates::default(),
            function_threads: FunctionThreads::new(options.scripts.threads),
            script_options: options.scripts,
            script_runtime: OnceLock::new(),
            throughput: ThroughputState::new(options.throughput, options.clock.monotonic_ms()),
            clock: options.clock,
            consistency: options.consistency,
            limits: options.partitions,
            runtime: Handle::current(),
            wake: Arc::default(),
            split_checks: GrowthChecks::after_growth(0.5),
            oversized_checks: GrowthChecks::after_growth(0.05),
            hub: HubState::default(),
            account_writer: StdMutex::default(),
            proposal: StdMutex::default(),
        });
        // A meter without a rate does not limit requests, so the rates are assigned before the
        // first request.
        engine.assign_all_rates(&engine.catalogue());
        background::start(&engine, pending, options.sweeps);
        Ok(engine)
    }

    /// The numbers of waiting and of refused pages.
    pub fn query_lanes(&self) -> QueryLaneCounts {
        self.lanes.counts()
    }

    /// The catalogue as of now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.get()
    }

    /// Drains the queue and closes the store. Requests must have ended. A background task may still
    /// hold the engine for one step, so this call waits for it.
    pub fn close(mut engine: Arc<Engine>) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            match Arc::try_unwrap(engine) {
                // Only the last owner can take the store out of the engine.
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

    /// The current time for queries, in ticks of 100 nanoseconds since 1970, in whole seconds.
    pub fn now_ticks(&self) -> i64 {
        i64::try_from(self.now_seconds() * TICKS_PER_SECOND).unwrap_or(i64::MAX)
    }

    /// Starts the script threads if no script has run yet. A new thread inherits the priority of
    /// the thread that starts it, and requests may run on threads of low priority. So a thread of
    /// the engine's runtime starts the script threads.
    pub(crate) async fn start_script_runtime(self: &Arc<Self>) {
        if self.script_runtime.get().is_none() {
            let engine = Arc::clone(self);
            let starting = self
                .runtime
                .spawn(async move { engine.script_runtime().is_ok() });
            // `script_runtime` reports a failed start again. The join itself fails only at
            // shutdown.
            drop(starting.await);
        }
    }

    /// The script runtime, started on first use. A failed start is remembered and returned to every
    /// caller.
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

    /// Counts the script threads that the runtime abandoned because their runs overran the time
    /// limit.
    pub fn abandoned_script_threads(&self) -> AbandonedThreads {
        match self.script_runtime.get() {
            Some(Ok(runtime)) => runtime.abandoned_threads(),
            Some(Err(_)) | None => AbandonedThreads::default(),
        }
    }

    /// Changes the catalogue: `change` edits a copy and lists the rows to write. The copy becomes
    /// the current catalogue when its record is durable.
    pub(crate) async fn change_catalogue<T>(
        &self,
        change: impl FnOnce(&mut Catalogue, &mut Vec<CatalogueWrite>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Two concurrent changes would be decided over the same catalogue, and one would be lost.
        let _turn = self.catalogue_lock.lock().await;
        // The role is checked under the lock, because a failover can change it while this change
        // waits.
        self.check_catalogue_writer()?;
        let mut next = Catalogue::clone(&self.catalogue());
        let mut changes = Vec::new();
        let result = change(&mut next, &mut changes)?;
        if changes.is_empty() {
            return Ok(result);
        }
        // The counters travel in the same record, or a restart could hand out an id a second time.
        changes.push(catalogue_rows::put_id_counters(&next.id_counters));
        if self.region().is_some() {
            self.write_account_stream(&changes, next).await?;
            return Ok(result);
        }
        self.write_catalogue(changes).await?;
        // Publication follows durability: a reader must not see a resource that a crash takes back.
        self.catalogue.set(next);
        Ok(result)
    }

    /// Submits catalogue rows and waits until their record is durable.
    pub(crate) async fn write_catalogue(
        &self,
        changes: Vec<CatalogueWrite>,
    ) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        self.store
            .submit_catalogue(changes, Box::new(move |result| drop(reply.send(result))));
        answer.await.unwrap_or_else(|_| Err(stopping_failure()))
    }

    /// Refuses further writes to deleted containers and starts the removal of their documents.
    pub(crate) fn purge_deleted(self: &Arc<Self>, containers: &[Arc<Container>]) {
        // The flag must fall before the purge: a write that committed behind the purge would stay
        // forever.
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

pub(crate) fn stopping_failure() -> Failure {
    Failure::Unavailable("Service is currently unavailable: the server is stopping.".to_owned())
}
