//! The store: the state, its log and its threads. An engine owns one store.
//!
//! Reads go to the state on the caller's thread. Every write is a command in the channel of the
//! commit thread, which alone changes the state and the log.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use orrery_log::{
    CommitLog, DeferredSyncs, Disk, LocalLog, Log, LogOptions, MemoryLog, Position, SystemDisk,
    deferred_syncs,
};
use orrery_model::{Failure, PartitionLsn};
use orrery_regions::RegionId;
use orrery_storage::{Storage, StorageOptions};

pub use orrery_log::Durability;

use crate::apply_after::ApplyAfter;
use crate::command::{Command, Event, Reply, TransactionOutcome};
use crate::committer::{Committer, internal};
use crate::data_directory::DataDirectory;
use crate::disk_monitor::DiskMonitor;
use crate::expiry::{self, ExpiryCandidate};
use crate::health::Health;
use crate::in_flight_groups::InFlightGroups;
use crate::index_state::{IndexState, IndexStateCache, state_key};
use crate::keyspaces::{DOCUMENTS, INDEX, INDEX_BYTES_IN_MEMORY, META, NAMES};
use crate::log_loss::{ExpectedLogEnd, open_log_with};
use crate::log_tail::{LogRecord, LogTail};
use crate::multi_write::{MultiWriteRegion, check_region};
use crate::planner_facts::BatchCounter;
use crate::record::KeyChange;
use crate::reindex::progress;
use crate::replay::{applied_position, replay};
use crate::scan::ScanRange;
use crate::scrub::Scrub;
use crate::snapshot_install::is_unfinished;
use crate::statistics::StatisticsCache;
use crate::store_threads::{
    Threads, spawn, spawn_checkpoint, spawn_committer, spawn_deferred_syncs,
};
use crate::stored_item::StoredItem;
use crate::uncommitted::uncommitted_records;
use crate::watches::Watches;
use crate::work::Work;
use crate::write::Write;
use crate::{
    CatalogueState, ChangeReader, Container, Correction, Error, IndexPolicyState, ItemTransaction,
    LogicalPartition, MaintenanceOptions, OversizedRecount, Partition, PartitionRecount,
    Repartitioning, Sample, ScriptCommit, ScriptContext, ScriptTransaction, ScrubReport,
    StoreStatus, View,
};

/// The size of a log segment. In ordinary operation a restart reads two segments at most.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The data directory; `None` for a store in memory.
    pub directory: Option<PathBuf>,
    pub durability: Durability,
    pub cache_bytes: u64,
    /// The time at which readers see records of other regions.
    pub apply_after: ApplyAfter,
    /// The region of this store in a multi-write account.
    pub multi_write: Option<RegionId>,
    /// The disk reserve, the scrub rate and the reaction to a panic.
    pub maintenance: MaintenanceOptions,
}

pub struct Store {
    // The order of the fields is the order of their drops, and it is an invariant: the threads end
    // when their senders are dropped, `_threads` joins them, and only then `_directory` releases its
    // lock, when no thread has a file of the directory open.
    pub(crate) storage: Arc<Storage>,
    batches: Arc<BatchCounter>,
    watches: Arc<Watches>,
    pub(crate) log_tail: Arc<LogTail>,
    pub(crate) multi: Option<Arc<MultiWriteRegion>>,
    /// The disk and the directory of the log; `None` for a store in memory.
    pub(crate) log_location: Option<(Arc<dyn Disk>, PathBuf)>,
    commands: Arc<Sender<Command>>,
    health: Arc<Health>,
    /// The disk monitor and the scrub end when these senders are dropped.
    _end_senders: Vec<Sender<()>>,
    _threads: Threads,
    /// The lock of the directory: no other process may open the directory while the store exists.
    _directory: Option<DataDirectory>,
}

/// What the threads of a store run, or the steps of a simulation.
pub(crate) struct StoreParts {
    pub(crate) committer: Committer,
    pub(crate) commands: Receiver<Command>,
    /// Positions whose state should be saved.
    pub(crate) checkpoint_requests: Receiver<Position>,
    pub(crate) deferred_syncs: Option<(Arc<dyn Disk>, DeferredSyncs)>,
}

impl Store {
    /// Opens the state, replays the log records after the applied position, and starts the threads.
    pub fn open(options: &StoreOptions) -> Result<Store, Error> {
        Store::open_on(options, &(Arc::new(SystemDisk) as Arc<dyn Disk>))
    }

    /// [`Store::open`] with another implementation of the disk for the log, for example a faulty one.
    pub fn open_on(options: &StoreOptions, disk: &Arc<dyn Disk>) -> Result<Store, Error> {
        match &options.directory {
            Some(directory) => Store::open_directory(directory, options, disk),
            None => {
                let storage = Storage::in_memory(&NAMES);
                Store::start(storage, None, None, VecDeque::new(), options)
            }
        }
    }

    fn open_directory(
        path: &Path,
        options: &StoreOptions,
        disk: &Arc<dyn Disk>,
    ) -> Result<Store, Error> {
        let directory = DataDirectory::open(path)?;
        let storage = open_storage(&directory, options)?;
        // An interrupted snapshot install leaves a state without the later rows.
        if is_unfinished(&storage)? {
            return Err(Error::Unfinished(path.to_owned()));
        }
        let expected = ExpectedLogEnd::of(&directory, &**disk, applied_position(&storage)?)?;
        let log = open_log_with(&directory, options, disk, expected)?;
        // A majority may not have the records after the applied position, so the replication decides
        // when the committer applies them.
        if options.apply_after == ApplyAfter::Committed {
            let uncommitted = uncommitted_records(&log, applied_position(&storage)?)?;
            let log = Some((log, Arc::clone(disk)));
            return Store::start(storage, log, Some(directory), uncommitted, options);
        }
        replay(&storage, &log)?;
        let log = Some((log, Arc::clone(disk)));
        Store::start(storage, log, Some(directory), VecDeque::new(), options)
    }

    /// Starts the threads over a state that lacks only the `uncommitted` records of its log.
    pub(crate) fn start(
        storage: Storage,
        log: Option<(Log, Arc<dyn Disk>)>,
        directory: Option<DataDirectory>,
        uncommitted: VecDeque<LogRecord>,
        options: &StoreOptions,
    ) -> Result<Store, Error> {
        let log_directory = directory.as_ref().map(DataDirectory::log);
        let (store, parts) = Store::assemble(storage, log, log_directory, uncommitted, options)?;
        let disk = store.log_location.as_ref().map(|(disk, _)| disk);
        // The first call that may fail comes before the first thread, so a failed start leaves none.
        let disk_monitor = match (disk, &directory) {
            (Some(disk), Some(directory)) => Some(DiskMonitor::open(
                directory.path().to_owned(),
                &directory.watermark_path(),
                disk,
                &store.health,
                options.maintenance,
                Arc::downgrade(&store.commands),
            )?),
            _ => None,
        };
        let on_panic = options.maintenance.on_panic;
        let mut threads = vec![
            spawn_committer(
                parts.committer,
                parts.commands,
                Arc::clone(&store.log_tail),
                on_panic,
            ),
            spawn_checkpoint(
                Arc::clone(&store.storage),
                parts.checkpoint_requests,
                Arc::downgrade(&store.commands),
                on_panic,
            ),
        ];
        threads.extend(parts.deferred_syncs.map(|(disk, syncs)| {
            spawn_deferred_syncs(syncs, disk, Arc::downgrade(&store.commands))
        }));
        let (scrub_end, scrub_ended) = channel();
        let (monitor_end, monitor_ended) = channel();
        threads.extend(
            disk_monitor.map(|disk_monitor| {
                spawn("orrery-guard", move || disk_monitor.run(&monitor_ended))
            }),
        );
        let scrub_location = store.log_location.clone();
        if let Some((disk, log)) = scrub_location
            && options.maintenance.scrub_bytes_per_second > 0
        {
            let scrub = Scrub {
                storage: Arc::clone(&store.storage),
                health: Arc::clone(&store.health),
                log_tail: Arc::clone(&store.log_tail),
                disk,
                log,
                bytes_per_second: options.maintenance.scrub_bytes_per_second,
            };
            threads.push(spawn("orrery-scrub", move || scrub.run(&scrub_ended)));
        }
        Ok(Store {
            _end_senders: vec![monitor_end, scrub_end],
            _threads: Threads(threads),
            _directory: directory,
            ..store
        })
    }

    /// The store without its threads, and the parts that the threads run.
    pub(crate) fn assemble(
        storage: Storage,
        log: Option<(Log, Arc<dyn Disk>)>,
        log_directory: Option<PathBuf>,
        uncommitted: VecDeque<LogRecord>,
        options: &StoreOptions,
    ) -> Result<(Store, StoreParts), Error> {
        let storage = Arc::new(storage);
        let (log, disk) = log.unzip();
        let multi = options.multi_write;
        check_region(multi, &storage)?;
        let multi = multi
            .map(|region| MultiWriteRegion::open(region, &storage))
            .transpose()?;
        let applied = applied_position(&storage)?;
        let appended = uncommitted.back().map_or(applied, |(last, _)| *last);
        let log_tail = Arc::new(LogTail::new(appended, applied, log.is_some()));
        let (commands, command_receiver) = channel();
        // With `ApplyAfter::Written` the region of origin has the records durable, so this store may
        // apply its copies before their sync.
        let defers_syncs =
            options.apply_after == ApplyAfter::Written && options.durability == Durability::Sync;
        let (requests, deferred_syncs) = disk
            .clone()
            .filter(|_| defers_syncs)
            .map(|disk| {
                let (requests, syncs) = deferred_syncs();
                (requests, (disk, syncs))
            })
            .unzip();
        let log: Box<dyn CommitLog> = match (log, requests) {
            (Some(log), Some(requests)) => {
                Box::new(LocalLog::new(log).with_deferred_syncs(requests))
            }
            (Some(log), None) => Box::new(LocalLog::new(log)),
            (None, _) => Box::new(MemoryLog::after(appended)),
        };
        let (checkpoints, checkpoint_requests) = channel();
        let health = Arc::new(Health::default());
        health.set_durable(log.durable());
        let watches = Arc::new(Watches::default());
        let batches = Arc::new(BatchCounter::default());
        let committer = Committer {
            storage: Arc::clone(&storage),
            batches: Arc::clone(&batches),
            log,
            health: Arc::clone(&health),
            checkpoints,
            checkpoint_asked: Position(0),
            watches: Arc::clone(&watches),
            states: IndexStateCache::default(),
            statistics: StatisticsCache::default(),
            purge_cursors: BTreeMap::new(),
            log_tail: Arc::clone(&log_tail),
            is_following: false,
            unappended: None,
            must_drain: false,
            in_flight: InFlightGroups::default(),
            uncommitted,
            multi: multi.clone(),
            prune_cursor: None,
            no_room_since: None,
            is_refusing: false,
            read_only_cause: None,
        };
        let store = Store {
            storage,
            batches,
            watches,
            log_tail,
            multi,
            log_location: disk.zip(log_directory),
            commands: Arc::new(commands),
            health,
            _end_senders: Vec::new(),
            _threads: Threads(Vec::new()),
            _directory: None,
        };
        let parts = StoreParts {
            committer,
            commands: command_receiver,
            checkpoint_requests,
            deferred_syncs,
        };
        Ok((store, parts))
    }

    /// The visible version of a document.
    pub fn read(
        &self,
        container: &Container,
        logical: &LogicalPartition,
        id: &str,
        now_seconds: u64,
    ) -> Result<Option<StoredItem>, Failure> {
        let read = || -> Result<Option<StoredItem>, Error> {
            let bytes = self
                .storage
                .get_cached(DOCUMENTS, &logical.document_key(id))?;
            let item = bytes.map(StoredItem::decode).transpose()?;
            Ok(item.filter(|item| item.is_visible(container.default_ttl(), now_seconds)))
        };
        read().map_err(|error| internal(&error))
    }

    /// A view of a scope of a container over a new snapshot.
    pub fn view(&self, container: &Arc<Container>, scope: &ScanRange, now_seconds: u64) -> View {
        let (snapshot, batch) = self.batches.snapshot(|| self.storage.snapshot());
        let planner_facts = container.planner_facts().at(batch);
        View::new(Arc::new(snapshot), container, scope, now_seconds)
            .with_planner_facts(planner_facts)
    }

    /// The progress of the index rebuild of a container, in per cent.
    pub fn index_progress(&self, container: u32) -> Result<u8, Error> {
        let row = self.storage.get(META, &state_key(container))?;
        let state = row.map(|row| IndexState::decode(&row)).transpose()?;
        Ok(state.map_or(100, |state| progress(state.cursor())))
    }

    /// Compares the stored index of a container with its indexing policy.
    pub fn index_policy_state(&self, container: &Container) -> Result<IndexPolicyState, Error> {
        let row = self.storage.get(META, &state_key(container.rid.id()))?;
        let Some(row) = row else {
            return Ok(IndexPolicyState::Mismatched);
        };
        let state = IndexState::decode(&row)?;
        Ok(if state.newest().text() != container.index().text() {
            IndexPolicyState::Mismatched
        } else if state.cursor().is_some() {
            IndexPolicyState::Rebuilding
        } else {
            IndexPolicyState::Current
        })
    }

    /// Queues an item transaction. The commit thread calls `reply` after it has applied or refused the
    /// transaction.
    pub fn submit(&self, transaction: ItemTransaction, reply: Reply<TransactionOutcome>) {
        self.send(Command::Items(Box::new(transaction), reply));
    }

    /// Begins the transaction of a script over a new snapshot of the state.
    pub fn begin_script(&self, context: ScriptContext) -> Result<ScriptTransaction, Failure> {
        let region = self.multi.as_ref().map(|multi| multi.region);
        let snapshot = || self.storage.snapshot();
        let begun = ScriptTransaction::begin(context, &self.watches, region, snapshot);
        begun.map_err(|error| internal(&error))
    }

    /// Queues the writes of a script. The reply is [`Failure::RetryWith`], without any effect, if
    /// another transaction has changed the logical partition since the script began.
    pub fn submit_script(&self, commit: ScriptCommit, reply: Reply<Result<PartitionLsn, Failure>>) {
        self.send(Command::Write(Write::Script(Box::new(commit), reply)));
    }

    /// Queues changes of the catalogue as one record.
    pub fn submit_catalogue(&self, changes: Vec<KeyChange>, reply: Reply<Result<(), Failure>>) {
        self.send(Command::Write(Write::Catalogue(changes, reply)));
    }

    /// A new snapshot of the catalogue and the counters.
    pub fn catalogue_state(&self) -> CatalogueState {
        CatalogueState::new(self.storage.snapshot())
    }

    /// Documents with an expiry entry up to now whose writes this region takes, oldest entry first.
    pub fn expiry_candidates(
        &self,
        now_seconds: u64,
        limit: usize,
    ) -> Result<Vec<ExpiryCandidate>, Error> {
        expiry::due(&self.storage.snapshot(), now_seconds, limit, |key| {
            self.takes(key)
        })
    }

    /// Documents of a container whose expiry entry is missing or names another second: the TTL of the
    /// container was enabled or changed after the writes of these documents.
    pub fn missing_expiry_entries(
        &self,
        container: &Container,
        after: Option<&Bytes>,
        limit: usize,
    ) -> Result<Vec<ExpiryCandidate>, Error> {
        let range = ScanRange::of_container(container.rid.id());
        let (from, to) = range.bounds();
        let resumed = after.map(|key| [&key[..], &[0]].concat());
        let snapshot = self.storage.snapshot();
        let mut found = Vec::new();
        for entry in snapshot.range(DOCUMENTS, resumed.as_deref().unwrap_or(from), to) {
            let (key, value) = entry?;
            let item = StoredItem::decode(value)?;
            let second = item.header.expiry_entry;
            let expiry = item.expires_at(container.default_ttl());
            if expiry.is_some_and(|expiry| u32::try_from(expiry).unwrap_or(u32::MAX) != second) {
                found.push(ExpiryCandidate { second, key });
                if found.len() == limit {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Queues the removal of the expired documents among `due`.
    pub fn submit_expiry(
        &self,
        container: Option<Arc<Container>>,
        due: Vec<ExpiryCandidate>,
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.send(Command::Write(Write::Expire {
            container,
            due,
            now_seconds,
            reply,
        }));
    }

    /// Queues one step of the purge of a deleted container. The reply is true if rows remain.
    pub fn submit_purge(&self, container: u32, reply: Reply<Result<bool, Failure>>) {
        self.send(Command::Work(Work::Purge { container, reply }));
    }

    /// Queues one step of the index rebuild of a container. The reply is true if documents remain.
    pub fn submit_reindex(&self, container: u32, reply: Reply<Result<bool, Failure>>) {
        self.send(Command::Work(Work::Reindex { container, reply }));
    }

    /// Queues a split or a merge of physical partitions.
    pub fn submit_repartitioning(
        &self,
        repartitioning: Repartitioning,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.send(Command::Write(Write::Repartition(
            Box::new(repartitioning),
            reply,
        )));
    }

    /// Queues a snapshot of a partition between two groups, for an exact count: between two groups
    /// the snapshot and the counters contain the same records.
    pub fn submit_recount(
        &self,
        container: Arc<Container>,
        partition: Arc<Partition>,
        reply: Reply<Result<PartitionRecount, Failure>>,
    ) {
        self.send(Command::Work(Work::Recount {
            container,
            partition,
            reply,
        }));
    }

    /// Starts the byte count of a logical partition, whose writes are refused at `bytes_max`.
    pub fn submit_track_oversized(
        &self,
        partition: Arc<Partition>,
        logical: LogicalPartition,
        bytes_max: u64,
        reply: Reply<Result<OversizedRecount, Failure>>,
    ) {
        self.send(Command::Work(Work::TrackOversized {
            partition,
            logical,
            bytes_max,
            reply,
        }));
    }

    /// Queues the correction of estimated counters of a partition.
    pub fn submit_correction(
        &self,
        container: u32,
        partition: Arc<Partition>,
        correction: Correction,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.send(Command::Write(Write::Correct {
            container,
            partition,
            correction,
            reply,
        }));
    }

    /// Queues one step of the removal of history beyond the retention of its container. The reply is
    /// true if such history remains.
    pub fn submit_trim_history(
        &self,
        container: Arc<Container>,
        now_seconds: u64,
        reply: Reply<Result<bool, Failure>>,
    ) {
        self.send(Command::Work(Work::TrimHistory {
            container,
            now_seconds,
            reply,
        }));
    }

    /// A reader of the change feeds of a container over a new snapshot.
    pub fn changes(&self, container: &Arc<Container>) -> ChangeReader {
        ChangeReader::new(self.storage.snapshot(), container)
    }

    /// Samples documents of a partition, to estimate the middle of its range for a split.
    pub fn sample(
        &self,
        container: &Arc<Container>,
        partition: &Partition,
    ) -> Result<Sample, Failure> {
        Sample::take(&self.changes(container), container, partition)
    }

    /// Saves the state so that it survives a loss of power without the log.
    pub fn persist(&self) -> Result<(), Error> {
        self.storage.persist().map_err(|error| {
            // The storage engine refuses every write after this error and reports the cause only
            // here, so the committer must become read-only with this cause.
            let error = Error::from(error);
            let cause = error.chain();
            self.send(Command::Event(Event::Failed(error)));
            Error::ReadOnly(cause)
        })
    }

    /// Whether the store accepts writes, and the cause of a refusal.
    pub fn status(&self) -> StoreStatus {
        match self.log_tail.problem() {
            Some(problem) => StoreStatus::Failed(problem.to_owned()),
            None => self.health.status(),
        }
    }

    /// The cause for which the store has refused writes for at least `patience`. The store may accept
    /// writes again later.
    pub fn refusal_of(&self, patience: Duration) -> Option<String> {
        self.health.refusal_of(patience)
    }

    /// The progress and the findings of the scrub.
    pub fn scrub(&self) -> ScrubReport {
        self.health.scrub()
    }

    /// The free bytes of the disk at the last measurement of the disk monitor, and the reserve that the
    /// store keeps free. `None` for a store in memory.
    pub fn disk_space(&self) -> Option<(u64, u64)> {
        self.log_location.is_some().then(|| self.health.disk())
    }

    pub fn disk_bytes(&self) -> Result<u64, Error> {
        Ok(self.storage.disk_bytes()?)
    }

    /// Commits the queued commands, saves the state for a quick restart, and ends the store.
    pub fn close(self) -> Result<(), Error> {
        let (done, finished) = channel();
        self.send(Command::Stop(Box::new(move |result| {
            // The send fails only if the receiver below is dropped, and then no caller waits.
            let _ = done.send(result);
        })));
        finished
            .recv()
            .unwrap_or_else(|_| Err(Error::ReadOnly("the commit thread has ended".to_owned())))
    }

    pub(crate) fn send(&self, command: Command) {
        // The committer ends only after `close`, which consumes the store.
        let sent = self.commands.send(command);
        debug_assert!(sent.is_ok(), "the commit thread has ended");
    }
}

/// Opens the state of a data directory.
pub(crate) fn open_storage(
    directory: &DataDirectory,
    options: &StoreOptions,
) -> Result<Storage, Error> {
    let options = StorageOptions {
        cache_bytes: options.cache_bytes,
        cached_keyspace: DOCUMENTS,
        buffered_keyspace: INDEX,
        run_buffer_bytes: INDEX_BYTES_IN_MEMORY,
        required_keyspaces: directory.required_keyspaces(),
    };
    Ok(Storage::open(&directory.state(), &NAMES, options)?)
}

/// Opens or creates the log of a data directory. A new log begins after `after`; a log that ends
/// before `expected_end` is refused, because it has lost durable records.
pub(crate) fn open_log(
    directory: &DataDirectory,
    options: &StoreOptions,
    disk: &Arc<dyn Disk>,
    after: Position,
    expected_end: Position,
) -> Result<Log, Error> {
    let options = LogOptions {
        segment_bytes: SEGMENT_BYTES,
        durability: options.durability,
        known_durable: expected_end,
    };
    let (log, _) = Log::open_after(Arc::clone(disk), &directory.log(), options, after)?;
    Ok(log)
}
