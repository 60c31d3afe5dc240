//! The task of one region of a multi-write account.
//!
//! It handles two kinds of streams: the account stream, with the catalogue and the members, in a
//! [`Replica`](orrery_regions::Replica) at level strong over a short log of its own; and the region
//! streams, with the items, in a [`MultiWriteReplica`] over the log of the store. The engine takes
//! writes all the time; the task sends its records to the other regions and merges theirs.

mod account_log;
mod account_stream;
mod copies;
mod members;
mod pages;
mod partition_failover;
mod staleness;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, EngineOptions, ReplicationRole, StreamReader};
use orrery_model::ConsistencyLevel;
use orrery_regions::{
    MultiWriteEffect, MultiWriteMessage, MultiWriteReplica, MultiWriteSettings, RegionId,
    ReplicaMessage, Sequence, StreamId, StreamRecord, VersionVector,
};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, sleep_until};

pub(crate) use self::account_log::AccountLog;
use self::account_stream::HubWriter;
pub(crate) use self::account_stream::propose;
use self::pages::{GATHER, HeldStreamPull};
use self::partition_failover::PartitionFailoverTask;
use self::staleness::Staleness;
pub(crate) use self::staleness::StalenessView;
use crate::driver::diverged_suffix::DivergedSuffix;
use crate::driver::pages::PendingPulls;
use crate::driver::peer_announcer::PeerAnnouncer;
use crate::driver::region_directory::RegionDirectory;
use crate::driver::shared_replica::SharedReplica;
use crate::driver::snapshot_transfer::{SnapshotExchange, SnapshotTransfers};
use crate::driver::{REFUSAL_PATIENCE, RETRY_MS, TICK, kept_bytes_max};
use crate::link::{Inbox, Links};
use crate::partitions::FailoverBoard;
use crate::{LinkFrame, Region};

/// How long a pull waits for records.
const HELD_MS: u64 = 100;
/// Bytes of records that are merged in one batch. Writes of this region wait for the whole batch.
const MERGE_BYTES: u64 = 128 * 1024;
const UPKEEP: Duration = Duration::from_secs(1);

pub(crate) struct MultiWriteDriver {
    shared: Arc<SharedReplica>,
    region: Arc<Region>,
    engine: Arc<Engine>,
    options: EngineOptions,
    links: Links,
    inbox: Inbox,
    directory: RegionDirectory,
    log: AccountLog,
    replica: MultiWriteReplica,
    reader: StreamReader,
    kept_bytes_max: Option<u64>,
    /// Records of the account stream that wait for earlier records.
    unappended: BTreeMap<Sequence, StreamRecord>,
    /// Pulls for the account stream.
    pages: PendingPulls,
    announcer: PeerAnnouncer,
    snapshot_transfers: SnapshotTransfers,
    /// Whether the store will wake the task at its next commit.
    is_listening: Arc<AtomicBool>,
    /// Pulls for a stream that wait for records.
    waiting_pulls: BTreeMap<(RegionId, StreamId), HeldStreamPull>,
    /// The record that added this region, until the region may write.
    joining: Option<Sequence>,
    /// In the hub: the hub's progress at the time of each addition whose copy is not complete.
    progress_at_addition: BTreeMap<RegionId, VersionVector>,
    diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// When the last page of records was sent, and whether that is so recent that records gather.
    last_page_sent: Instant,
    is_gathering: bool,
    last_upkeep: Instant,
    /// Present in an account with failover per partition.
    partitions: Option<PartitionFailoverTask>,
    /// Present in an account at bounded staleness.
    staleness: Option<Staleness>,
    broken: Option<String>,
}

/// The parts of a region that its driver needs besides the engine.
pub(crate) struct MultiWriteStart {
    pub(crate) options: EngineOptions,
    pub(crate) directory: RegionDirectory,
    pub(crate) log: AccountLog,
    pub(crate) diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// Bytes of records that the log retains for disconnected regions; none for the default.
    pub(crate) kept_bytes_max: Option<u64>,
    /// Present in an account with failover per partition.
    pub(crate) board: Option<Arc<FailoverBoard>>,
}

/// The streams over one engine.
struct EngineStreams {
    reader: StreamReader,
    replica: MultiWriteReplica,
}

impl EngineStreams {
    fn open(
        engine: &Engine,
        directory: &RegionDirectory,
        shared: &Arc<SharedReplica>,
        bytes_max: Option<u64>,
    ) -> Result<EngineStreams, orrery_partition::Error> {
        let reader = engine.stream_reader(kept_bytes_max(directory, bytes_max));
        let mut reader = reader.ok_or_else(|| {
            orrery_partition::Error::Damaged("the store is not of a multi-write account".to_owned())
        })?;
        let progress = engine.version_vector();
        let bases = reader.bases(&progress)?;
        let settings = MultiWriteSettings {
            retry_ms: RETRY_MS,
            ..MultiWriteSettings::default()
        };
        let replica = MultiWriteReplica::new(shared.me, settings, Vec::new(), progress, bases);
        engine.set_account_writer(Some(Arc::new(HubWriter::of(shared))));
        Ok(EngineStreams { reader, replica })
    }
}

impl MultiWriteDriver {
    pub(crate) fn new(
        shared: Arc<SharedReplica>,
        region: Arc<Region>,
        (links, inbox): (Links, Inbox),
        start: MultiWriteStart,
    ) -> Result<MultiWriteDriver, orrery_partition::Error> {
        let engine = region.engine();
        let is_bounded = engine.consistency == ConsistencyLevel::BoundedStaleness;
        let bound = region.replication().map(|part| part.bound);
        let bound = bound.filter(|_| is_bounded);
        let MultiWriteStart {
            options,
            directory,
            log,
            diverged_suffix,
            kept_bytes_max,
            board,
        } = start;
        let EngineStreams { reader, replica } =
            EngineStreams::open(&engine, &directory, &shared, kept_bytes_max)?;
        let partitions = board.map(|board| {
            let applied = engine.version_vector().of(StreamId::Account);
            PartitionFailoverTask::new(&shared, board, log.upto(applied))
        });
        Ok(MultiWriteDriver {
            shared,
            region,
            engine,
            options,
            links,
            inbox,
            directory,
            log,
            replica,
            reader,
            kept_bytes_max,
            unappended: BTreeMap::new(),
            pages: PendingPulls::default(),
            announcer: PeerAnnouncer::default(),
            snapshot_transfers: SnapshotTransfers::default(),
            is_listening: Arc::default(),
            waiting_pulls: BTreeMap::new(),
            joining: None,
            progress_at_addition: BTreeMap::new(),
            diverged_suffix,
            last_page_sent: Instant::now(),
            is_gathering: false,
            last_upkeep: Instant::now(),
            partitions,
            staleness: bound.map(Staleness::new),
            broken: None,
        })
    }

    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.follow_members();
        self.settle().await;
        loop {
            let gathered = (self.last_page_sent + GATHER).into();
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                // Ticks come first, so that a busy region still sends its heartbeats.
                _ = ticks.tick() => self.tick().await,
                frame = self.inbox.recv() => match frame {
                    Some((from, frame)) => self.take(from, frame).await,
                    None => break,
                },
                () = sleep_until(gathered), if self.is_gathering => self.is_gathering = false,
                () = self.shared.woken() => {}
            }
            while let Ok((from, frame)) = self.inbox.try_recv() {
                self.take(from, frame).await;
            }
            self.settle().await;
        }
        self.engine.set_account_writer(None);
    }

    /// Makes the store wake the task at its next commit.
    fn listen_to_writes(&mut self) {
        if self.is_listening.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::downgrade(&self.shared);
        let is_listening = Arc::clone(&self.is_listening);
        self.reader.when_committed(Box::new(move |_| {
            is_listening.store(false, Ordering::Release);
            if let Some(shared) = shared.upgrade() {
                shared.wake();
            }
        }));
    }

    async fn tick(&mut self) {
        if self.shared.is_down() {
            return;
        }
        let now = self.shared.now();
        self.shared.lock().replica.tick(now);
        self.request_snapshot(now);
        self.replica.tick(now);
        self.announcer.tick(&self.shared, &self.region, &self.links);
        let is_over = |held: &HeldStreamPull| now.since(held.since) >= HELD_MS;
        let over: Vec<_> = self
            .waiting_pulls
            .extract_if(.., |_, held| is_over(held))
            .collect();
        for ((to, stream), held) in over {
            self.send_records(to, stream, held, Vec::new());
        }
        for (to, page) in self.pages.overdue(now) {
            self.send(to, LinkFrame::Account(ReplicaMessage::Page(page)));
        }
        if let Some(partitions) = &mut self.partitions {
            partitions.watch(&self.shared, &self.replica);
        }
        if self.last_upkeep.elapsed() >= UPKEEP {
            self.last_upkeep = Instant::now();
            self.trim_history().await;
        }
    }

    /// Trims the log, and forgets versions that cannot affect a merge any more.
    async fn trim_history(&mut self) {
        if self.directory.metadata.has_diverged {
            return;
        }
        let own = StreamId::Region(self.shared.me);
        // The own records that no other region has stay in the log: a snapshot of another region
        // would lack them.
        let outcome = self.reader.pin(own, self.replica.shared());
        let outcome = outcome.and_then(|()| self.reader.acknowledge(&self.replica.stable_prefix()));
        if let Err(error) = outcome {
            self.break_down(&error.to_string());
        }
        let horizon = self.replica.horizon();
        if let Err(failure) = self.engine.prune(&horizon).await {
            tracing::warn!(%failure, "versions that are over are not forgotten");
        }
    }

    async fn take(&mut self, from: RegionId, frame: LinkFrame) {
        if self.shared.is_down() {
            self.shared.record_epoch_while_down(&frame);
            return;
        }
        let now = self.shared.now();
        match frame {
            LinkFrame::Account(message) => {
                if let ReplicaMessage::Pull(pull) = &message {
                    self.pages.asked(from, *pull);
                }
                self.shared.lock().replica.receive(now, from, message);
            }
            // Its sequences name other records than those of the history.
            LinkFrame::MultiWrite(_) if self.directory.metadata.has_diverged => {}
            LinkFrame::MultiWrite(message) => {
                if let (Some(staleness), MultiWriteMessage::Page { have, asked, .. }) =
                    (&mut self.staleness, &message)
                {
                    staleness.record_answer(from, *asked, have.of(StreamId::Region(from)));
                }
                self.replica.receive(now, from, message);
            }
            LinkFrame::Endpoint(url) => self.region.set_endpoint_of(from, &url),
            LinkFrame::Problem(cause) => self.region.set_problem_of(from, cause),
            LinkFrame::TokenSecret(secret) => self.region.hear_token_secret(from, secret),
            LinkFrame::Snapshot(frame) => {
                if let Some(snapshot) = self.take_snapshot_frame(from, frame) {
                    self.install(snapshot).await;
                }
            }
            LinkFrame::Partitions(frame) => {
                if let Some(partitions) = &mut self.partitions {
                    partitions.take(from, frame);
                }
            }
        }
    }

    pub(super) fn send(&self, to: RegionId, frame: LinkFrame) {
        if !self.shared.is_down() {
            self.links.send(to, frame);
        }
    }

    async fn settle(&mut self) {
        if self.shared.is_down() {
            if let Some(partitions) = &mut self.partitions {
                partitions.mark_down(&self.shared, &self.engine).await;
            }
            return self.publish();
        }
        // The loop ends when neither stream has more to do: applied account records may make region
        // records ready, and one merge takes only `MERGE_BYTES`.
        loop {
            let is_quiet = !self.follow_account().await;
            let own = StreamId::Region(self.shared.me);
            let written = self.engine.version_vector().of(own);
            self.replica.applied(own, written);
            let is_merged = self.merge().await;
            for effect in self.replica.take_effects() {
                self.carry_out(effect);
            }
            if is_quiet && !is_merged {
                break;
            }
        }
        self.follow_role().await;
        self.review_members();
        if let Some(partitions) = &mut self.partitions {
            let (shared, engine) = (&self.shared, &self.engine);
            partitions.refresh(shared, engine, &self.replica).await;
        }
        self.send_partition_report();
        self.answer_waiting_pulls();
        self.answer_pulls();
        // While records gather, the task looks again soon by itself; without a waiting pull, no
        // wake-up is needed.
        self.is_gathering = self.last_page_sent.elapsed() < GATHER;
        if !self.is_gathering && !self.waiting_pulls.is_empty() {
            self.listen_to_writes();
        }
        self.publish();
        self.shared.notify_waiters();
    }

    /// Sends the other regions the state of this region's partitions.
    fn send_partition_report(&mut self) {
        let partitions = self.partitions.as_mut();
        if let Some(frame) = partitions.and_then(PartitionFailoverTask::pending_report) {
            for to in self.shared.members().all() {
                if to != self.shared.me {
                    self.send(to, frame.clone());
                }
            }
        }
    }

    /// Merges the records of other regions that are ready. True if there were any.
    async fn merge(&mut self) -> bool {
        if self.broken.is_some() || self.directory.metadata.has_diverged {
            return false;
        }
        let records = self.replica.take_ready(MERGE_BYTES);
        if records.is_empty() {
            return false;
        }
        let ends: BTreeMap<_, _> = records
            .iter()
            .map(|record| (record.stream, record.sequence))
            .collect();
        match self.engine.merge_records(records).await {
            Ok(_) => {
                for (stream, sequence) in ends {
                    self.replica.applied(stream, sequence);
                }
                true
            }
            Err(error) => {
                self.break_down(&error.to_string());
                false
            }
        }
    }

    fn carry_out(&mut self, effect: MultiWriteEffect) {
        match effect {
            MultiWriteEffect::Send { .. } | MultiWriteEffect::SendPage { .. }
                if self.directory.metadata.has_diverged => {}
            MultiWriteEffect::Send { to, message } => self.send(to, LinkFrame::MultiWrite(message)),
            MultiWriteEffect::SendPage {
                to,
                stream,
                after,
                asked,
                bytes_max,
            } => {
                let held = HeldStreamPull {
                    since: self.shared.now(),
                    after,
                    asked,
                    bytes_max,
                };
                self.waiting_pulls.insert((to, stream), held);
            }
            MultiWriteEffect::FetchSnapshot { from } => self.fetch_snapshot(from),
        }
    }

    pub(super) fn break_down(&mut self, cause: &str) {
        if self.broken.is_none() {
            tracing::error!(
                cause,
                region = self.region.name(),
                "a region takes no more records"
            );
            self.broken = Some(cause.to_owned());
        }
    }

    fn publish(&mut self) {
        let refusal = self.engine.refusal_of(REFUSAL_PATIENCE);
        if self.broken.is_none()
            && let Some(cause) = self.engine.problem().map(str::to_owned)
        {
            self.break_down(&cause);
        }
        let lags = self.replica.lags();
        if let Some(staleness) = &mut self.staleness {
            let progress = self.replica.progress();
            let own = progress.of(StreamId::Region(self.shared.me));
            staleness.record_write(self.shared.now(), own);
            self.region
                .set_staleness(staleness.view(progress, own, &lags));
        }
        let mut core = self.shared.lock();
        core.report_broken(self.broken.as_ref().or(refusal.as_ref()));
        self.region.publish(&core.replica);
        // The hub decides only on the newest catalogue, so it must have applied its whole log
        // first.
        let is_current = core.replica.applied_last() == self.log.last();
        let is_hub = core.replica.is_write_region() && (is_current || self.engine.is_hub());
        core.lags = lags;
        drop(core);
        let is_writer = self.engine.role() == ReplicationRole::Writer;
        self.region.set_can_write(is_writer);
        if self.engine.is_hub() != (is_hub && is_writer) {
            self.engine.set_hub(is_hub && is_writer);
        }
    }
}
