//! The state, its log and the threads that keep them: what the engine holds.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use orrery_log::{Disk, Log, LogOptions, Position, SystemDisk};
use orrery_model::{Failure, Stamp};
use orrery_regions::RegionId;
use orrery_storage::{Options, Storage};

pub use orrery_log::Durability;

use crate::command::{Command, Reply, TransactionOutcome, refuse};
use crate::committed::{Committed, CommittedRecord};
use crate::committer::{Committer, internal};
use crate::data_directory::DataDirectory;
use crate::expiry::{self, Due};
use crate::filling::is_unfinished;
use crate::guard::Guard;
use crate::health::Health;
use crate::index_state::{IndexState, IndexStates, state_key};
use crate::known::Batches;
use crate::late_sync::{LateSyncs, Seen, sync_late};
use crate::multi::{Multi, check_region};
use crate::pending::pending_of;
use crate::positions::{Known, open_log_with};
use crate::record::Change;
use crate::reindex::progress;
use crate::replay::{applied, replay};
use crate::scan::ScanRange;
use crate::scrub::Scrub;
use crate::spaces::{DOCUMENTS, INDEX, INDEX_BYTES_IN_MEMORY, META, NAMES};
use crate::statistics::Tallies;
use crate::stored::StoredItem;
use crate::under_way::UnderWay;
use crate::watches::Watches;
use crate::{
    CatalogueState, ChangeReader, Container, Correction, Error, IndexFollows, ItemTransaction,
    LogicalPartition, Partition, Reshape, Sample, ScriptCommit, ScriptPlace, ScriptTransaction,
    ScrubReport, StoreStatus, Uncounted, UncountedCrowd, Upkeep, View,
};

/// Segments of the log; two of them are what a restart reads at most in ordinary running.
const SEGMENT_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// None keeps everything in memory.
    pub directory: Option<PathBuf>,
    pub durability: Durability,
    pub cache_bytes: u64,
    /// When records of other regions can be read.
    pub seen: Seen,
    /// Set if the store is this region of an account in which every region writes.
    pub multi_write: Option<RegionId>,
    /// What it does about its disk.
    pub upkeep: Upkeep,
}

pub struct Store {
    // In the order in which they are let go: without senders the threads end, and when they have
    // ended nothing in the directory is open any more.
    pub(crate) storage: Arc<Storage>,
    batches: Arc<Batches>,
    watches: Arc<Watches>,
    pub(crate) committed: Arc<Committed>,
    pub(crate) multi: Option<Arc<Multi>>,
    /// Where its log can be read, if it has one.
    pub(crate) log_place: Option<(Arc<dyn Disk>, PathBuf)>,
    commands: Arc<Sender<Command>>,
    health: Arc<Health>,
    /// Guard and scrub end when these are let go.
    _lives: [Sender<()>; 2],
    _threads: Threads,
    /// Held for as long as the store lives: nobody else may open the directory.
    _directory: Option<DataDirectory>,
}

impl Store {
    /// Opens the state, replays what the log holds beyond it, and starts the committer.
    pub fn open(options: &StoreOptions) -> Result<Store, Error> {
        Store::open_on(options, &(Arc::new(SystemDisk) as Arc<dyn Disk>))
    }

    /// [`Store::open`] with the log on a given disk.
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
        if is_unfinished(&storage)? {
            return Err(Error::Unfinished(path.to_owned()));
        }
        let known = Known::of(&directory, &**disk, applied(&storage)?)?;
        let log = open_log_with(&directory, options, disk, known)?;
        if options.seen == Seen::Told {
            let pending = pending_of(&log, applied(&storage)?)?;
            let log = Some((log, Arc::clone(disk)));
            return Store::start(storage, log, Some(directory), pending, options);
        }
        replay(&storage, &log)?;
        let log = Some((log, Arc::clone(disk)));
        Store::start(storage, log, Some(directory), VecDeque::new(), options)
    }

    /// Starts the threads over a state that has all records of its log but those pending.
    pub(crate) fn start(
        storage: Storage,
        log: Option<(Log, Arc<dyn Disk>)>,
        directory: Option<DataDirectory>,
        pending: VecDeque<CommittedRecord>,
        options: &StoreOptions,
    ) -> Result<Store, Error> {
        let storage = Arc::new(storage);
        let (log, disk) = log.unzip();
        let multi = options.multi_write;
        check_region(multi, &storage)?;
        let multi = multi
            .map(|region| Multi::open(region, &storage))
            .transpose()?;
        let applied = applied(&storage)?;
        let kept = pending.back().map_or(applied, |(last, _)| *last);
        let committed = Committed::new(kept, applied, log.is_some());
        let committed = Arc::new(committed);
        let log_place = disk
            .clone()
            .zip(directory.as_ref())
            .map(|(disk, directory)| (disk, directory.log()));
        let (commands, waiting) = channel();
        let commands = Arc::new(commands);
        let late_syncs = (options.seen == Seen::Written && options.durability == Durability::Sync)
            .then(|| log_place.clone())
            .flatten()
            .map(|(disk, _)| late_syncs(disk, Arc::downgrade(&commands)));
        let (late_syncs, late_thread) = late_syncs.unzip();
        let (checkpoints, asked) = channel();
        let health = Arc::new(Health::default());
        health.set_durable(log.as_ref().map_or(kept, Log::durable));
        let guard = match (&disk, &directory) {
            (Some(disk), Some(directory)) => Some(Guard::open(
                directory.path().to_owned(),
                &directory.mark_of_log(),
                disk,
                &health,
                options.upkeep,
                Arc::downgrade(&commands),
            )?),
            _ => None,
        };
        let watches = Arc::new(Watches::default());
        let batches = Arc::new(Batches::default());
        let committer = Committer {
            storage: Arc::clone(&storage),
            batches: Arc::clone(&batches),
            log,
            health: Arc::clone(&health),
            durability: options.durability,
            late_syncs,
            unsynced_since: None,
            checkpoints,
            checkpoint_asked: Position(0),
            watches: Arc::clone(&watches),
            states: IndexStates::default(),
            tallies: Tallies::default(),
            purged: BTreeMap::new(),
            committed: Arc::clone(&committed),
            is_following: false,
            authority: None,
            under_way: UnderWay::default(),
            pending,
            multi: multi.clone(),
            pruned: None,
            is_refusing: false,
            broken: None,
        };
        let on_panic = options.upkeep.on_panic;
        let panicked = Arc::clone(&committed);
        let commit = spawn("orrery-commit", move || {
            let ran = catch_unwind(AssertUnwindSafe(|| committer.run(&waiting)));
            if let Err(panic) = ran {
                let cause = panic_text("commit", &*panic);
                panicked.fail(&cause);
                on_panic.act(&cause);
                refuse_all(&waiting, &cause);
            }
        });
        let state = Arc::clone(&storage);
        let saved = Arc::downgrade(&commands);
        let checkpoint = spawn("orrery-checkpoint", move || {
            let ran = catch_unwind(AssertUnwindSafe(|| checkpoint(&state, &asked, &saved)));
            if let Err(panic) = ran {
                let cause = panic_text("checkpoint", &*panic);
                on_panic.act(&cause);
                let failed = Command::NotSaved(Error::ReadOnly(cause));
                // A store that is closing saves its state itself.
                let _ = saved.upgrade().map(|saved| saved.send(failed));
            }
        });
        let place = log_place
            .clone()
            .filter(|_| options.upkeep.scrub_bytes_per_second > 0);
        let (scrubbed, scrub_end) = channel();
        let scrub = place.map(|(disk, log)| {
            let scrub = Scrub {
                storage: Arc::clone(&storage),
                health: Arc::clone(&health),
                committed: Arc::clone(&committed),
                disk,
                log,
                bytes_per_second: options.upkeep.scrub_bytes_per_second,
            };
            spawn("orrery-scrub", move || scrub.run(&scrub_end))
        });
        let (guarded, end) = channel();
        let guard = guard.map(|guard| spawn("orrery-guard", move || guard.run(&end)));
        Ok(Store {
            storage,
            batches,
            watches,
            committed,
            multi,
            log_place,
            commands,
            health,
            _lives: [guarded, scrubbed],
            _threads: Threads(
                [commit, checkpoint]
                    .into_iter()
                    .chain(late_thread)
                    .chain(guard)
                    .chain(scrub)
                    .collect(),
            ),
            _directory: directory,
        })
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
                .get_kept(DOCUMENTS, &logical.document_key(id))?;
            let item = bytes.map(StoredItem::decode).transpose()?;
            Ok(item.filter(|item| item.is_visible(container.default_ttl(), now_seconds)))
        };
        read().map_err(|error| internal(&error))
    }

    /// A scope of a container as it is now.
    pub fn view(&self, container: &Arc<Container>, scope: &ScanRange, now_seconds: u64) -> View {
        let (snapshot, moment) = self.batches.snapshot(|| self.storage.snapshot());
        let known = container.known().at(moment);
        View::new(Arc::new(snapshot), container, scope, now_seconds).with_known(known)
    }

    /// How much of a container follows its newest indexing policy, in per cent.
    pub fn index_progress(&self, container: u32) -> Result<u8, Error> {
        let row = self.storage.get(META, &state_key(container))?;
        let state = row.map(|row| IndexState::decode(&row)).transpose()?;
        Ok(state.map_or(100, |state| progress(state.cursor())))
    }

    /// Which policy the index of a container follows.
    pub fn index_follows(&self, container: &Container) -> Result<IndexFollows, Error> {
        let row = self.storage.get(META, &state_key(container.rid.id()))?;
        let Some(row) = row else {
            return Ok(IndexFollows::AnotherPolicy);
        };
        let state = IndexState::decode(&row)?;
        Ok(if state.newest().text() != container.index().text() {
            IndexFollows::AnotherPolicy
        } else if state.cursor().is_some() {
            IndexFollows::PolicyInPart
        } else {
            IndexFollows::Policy
        })
    }

    /// Queues a transaction; `reply` is called when it is durable or refused.
    pub fn submit(&self, transaction: ItemTransaction, reply: Reply<TransactionOutcome>) {
        self.send(Command::Items(Box::new(transaction), reply));
    }

    /// Begins the transaction of a script over the state as it is now.
    pub fn begin_script(&self, place: ScriptPlace) -> Result<ScriptTransaction, Failure> {
        let region = self.multi.as_ref().map(|multi| multi.region);
        let snapshot = || self.storage.snapshot();
        let begun = ScriptTransaction::begin(place, &self.watches, region, snapshot);
        begun.map_err(|error| internal(&error))
    }

    /// Queues the writes of a script. The reply is [`Failure::RetryWith`] when somebody else changed
    /// its logical partition since it began; nothing of it remains then.
    pub fn submit_script(&self, commit: ScriptCommit, reply: Reply<Result<Stamp, Failure>>) {
        self.send(Command::Script(Box::new(commit), reply));
    }

    /// Queues changes of the catalogue, which are applied together.
    pub fn submit_catalogue(&self, changes: Vec<Change>, reply: Reply<Result<(), Failure>>) {
        self.send(Command::Catalogue(changes, reply));
    }

    /// The catalogue and the counters as they are now.
    pub fn catalogue_state(&self) -> CatalogueState {
        CatalogueState::new(self.storage.snapshot())
    }

    /// Documents that were entered to expire by now and whose writes are taken here, oldest first.
    pub fn due(&self, now_seconds: u64, limit: usize) -> Result<Vec<Due>, Error> {
        expiry::due(&self.storage.snapshot(), now_seconds, limit, |key| {
            self.takes(key)
        })
    }

    /// Documents of a container that do not stand in the expiry entry they should: TTL was turned
    /// on or changed after they were written.
    pub fn never_entered(
        &self,
        container: &Container,
        after: Option<&Bytes>,
        limit: usize,
    ) -> Result<Vec<Due>, Error> {
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
                found.push(Due { second, key });
                if found.len() == limit {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Queues the removal of those of `due` that have expired.
    pub fn submit_expiry(
        &self,
        container: Option<Arc<Container>>,
        due: Vec<Due>,
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.send(Command::Expire {
            container,
            due,
            now_seconds,
            reply,
        });
    }

    /// Queues the removal of some of what a deleted container left. The reply says whether it
    /// should be called again.
    pub fn submit_purge(&self, container: u32, reply: Reply<Result<bool, Failure>>) {
        self.send(Command::Purge { container, reply });
    }

    /// Queues a step of the walk that makes stored documents follow the indexing policy of their
    /// container. The reply says whether it should be called again.
    pub fn submit_reindex(&self, container: u32, reply: Reply<Result<bool, Failure>>) {
        self.send(Command::Reindex { container, reply });
    }

    /// Queues a split or a merge of physical partitions.
    pub fn submit_reshape(&self, reshape: Reshape, reply: Reply<Result<(), Failure>>) {
        self.send(Command::Reshape(Box::new(reshape), reply));
    }

    /// Asks for a partition as it is between two groups, so that it can be counted.
    pub fn submit_uncounted(
        &self,
        container: Arc<Container>,
        partition: Arc<Partition>,
        reply: Reply<Result<Uncounted, Failure>>,
    ) {
        self.send(Command::Uncounted {
            container,
            partition,
            reply,
        });
    }

    /// Begins to keep the bytes of a logical partition, of which it may have no more than
    /// `bytes_max`.
    pub fn submit_crowd(
        &self,
        partition: Arc<Partition>,
        logical: LogicalPartition,
        bytes_max: u64,
        reply: Reply<Result<UncountedCrowd, Failure>>,
    ) {
        self.send(Command::Crowd {
            partition,
            logical,
            bytes_max,
            reply,
        });
    }

    /// Queues the correction of the counters of a partition that were an estimate.
    pub fn submit_correction(
        &self,
        container: u32,
        partition: Arc<Partition>,
        correction: Correction,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.send(Command::Correct {
            container,
            partition,
            correction,
            reply,
        });
    }

    /// Queues the removal of some of the history that is older than its container keeps it. The reply
    /// says whether it should be called again.
    pub fn submit_forget(
        &self,
        container: Arc<Container>,
        now_seconds: u64,
        reply: Reply<Result<bool, Failure>>,
    ) {
        self.send(Command::Forget {
            container,
            now_seconds,
            reply,
        });
    }

    /// The feeds of a container as they are now.
    pub fn changes(&self, container: &Arc<Container>) -> ChangeReader {
        ChangeReader::new(self.storage.snapshot(), container)
    }

    /// Some documents of a partition, from which its middle can be told.
    pub fn sample(
        &self,
        container: &Arc<Container>,
        partition: &Partition,
    ) -> Result<Sample, Failure> {
        Sample::take(&self.changes(container), container, partition)
    }

    /// Makes the state survive a loss of power without the log.
    pub fn persist(&self) -> Result<(), Error> {
        self.storage.persist().map_err(|error| {
            // The engine takes no more writes from here on, and it says why only once.
            let error = Error::from(error);
            let cause = error.chain();
            self.send(Command::NotSaved(error));
            Error::ReadOnly(cause)
        })
    }

    /// Whether the store takes writes, and the cause if it refuses them.
    pub fn status(&self) -> StoreStatus {
        match self.committed.problem() {
            Some(problem) => StoreStatus::Failed(problem.to_owned()),
            None => self.health.status(),
        }
    }

    /// Why the store has refused writes for at least `patience`, if it has. It may take them again.
    pub fn refusal_of(&self, patience: Duration) -> Option<String> {
        self.health.refusal_of(patience)
    }

    /// What the scrub has read and found.
    pub fn scrub(&self) -> ScrubReport {
        self.health.scrub()
    }

    /// Two numbers: the bytes that the disk of the store had free when the guard measured it last, and
    /// the bytes that the store keeps free there. `None` for a store in memory.
    pub fn disk_space(&self) -> Option<(u64, u64)> {
        self.log_place.is_some().then(|| self.health.disk())
    }

    pub fn disk_bytes(&self) -> Result<u64, Error> {
        Ok(self.storage.disk_bytes()?)
    }

    /// Finishes what is queued and prepares a quick next start.
    pub fn close(self) -> Result<(), Error> {
        let (done, finished) = channel();
        self.send(Command::Stop(Box::new(move |result| {
            // The receiver waits below; if it is gone, so is whoever cared.
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

/// Threads that are waited for.
struct Threads(Vec<JoinHandle<()>>);

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A thread that panicked has said so; it holds nothing any more.
            let _ = thread.join();
        }
    }
}

/// The message for the owner of the store after a thread has panicked.
fn panic_text(thread: &str, panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!(
        "the {thread} thread of the store panicked: {}",
        text.unwrap_or("no message")
    )
}

/// Answers every later command with a refusal, because the committer has panicked and carries out
/// none.
fn refuse_all(commands: &Receiver<Command>, cause: &str) {
    while let Ok(command) = commands.recv() {
        refuse(command, cause);
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(run)
        .expect("the operating system gives a thread at start")
}

/// Starts the thread that syncs the log late.
fn late_syncs(disk: Arc<dyn Disk>, told: Weak<Sender<Command>>) -> (LateSyncs, JoinHandle<()>) {
    let (asks, asked) = channel();
    let thread = spawn("orrery-late-sync", move || sync_late(&disk, &asked, &told));
    (LateSyncs::new(asks), thread)
}

/// Saves the state whenever asked, and tells the committer that the log may forget it.
fn checkpoint(storage: &Storage, asked: &Receiver<Position>, saved: &Weak<Sender<Command>>) {
    while let Ok(mut position) = asked.recv() {
        while let Ok(later) = asked.try_recv() {
            position = later;
        }
        let command = match storage.persist() {
            Ok(()) => Command::Saved(position),
            Err(error) => Command::NotSaved(error.into()),
        };
        let sent = saved.upgrade().map(|saved| saved.send(command));
        if !matches!(sent, Some(Ok(()))) {
            return;
        }
    }
}

/// Opens the state of a data directory.
pub(crate) fn open_storage(
    directory: &DataDirectory,
    options: &StoreOptions,
) -> Result<Storage, Error> {
    let options = Options {
        cache_bytes: options.cache_bytes,
        kept: DOCUMENTS,
        runs: INDEX,
        runs_bytes: INDEX_BYTES_IN_MEMORY,
        is_established: directory.is_established(),
    };
    Ok(Storage::open(&directory.state(), &NAMES, options)?)
}

/// Opens the log of a data directory; one that is made begins after `after`, and one that ends before
/// `known` is refused.
pub(crate) fn open_log(
    directory: &DataDirectory,
    options: &StoreOptions,
    disk: &Arc<dyn Disk>,
    after: Position,
    known: Position,
) -> Result<Log, Error> {
    let options = LogOptions {
        segment_bytes: SEGMENT_BYTES,
        durability: options.durability,
        known,
    };
    let (log, _) = Log::open_after(Arc::clone(disk), &directory.log(), options, after)?;
    Ok(log)
}
