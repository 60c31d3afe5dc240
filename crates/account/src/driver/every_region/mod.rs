//! The strategy of an account in which every region writes, and of an account in which partitions
//! fail over by owner.
//!
//! The region handles two kinds of streams: the account stream, with the catalogue and the members,
//! in a [`Replica`](orrery_regions::Replica) at level strong over a short log of its own; and the
//! region streams, with the items, in a [`MultiWriteReplica`] over the log of the store. The engine
//! takes writes all the time; the task sends its records to the other regions and merges theirs.

mod account_log;
mod account_stream;
mod copies;
mod hub_writer;
mod members;
mod pages;
mod partition_failover;
mod staleness;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, ReplicationRole, StreamReader};
use orrery_model::ConsistencyLevel;
use orrery_partition::Error;
use orrery_regions::{
    Millis, MultiWriteEffect, MultiWriteMessage, MultiWriteReplica, MultiWriteSettings, RegionId,
    ReplicaEffect, Sequence, StreamId, StreamRecord, VersionVector,
};

pub(crate) use self::account_log::AccountLog;
pub(super) use self::account_stream::stored_stream;
use self::hub_writer::HubWriter;
pub(crate) use self::hub_writer::propose;
use self::pages::{GATHER, HeldStreamPull};
use self::partition_failover::PartitionFailoverTask;
use self::staleness::Staleness;
pub(crate) use self::staleness::StalenessView;
use super::task::{DriverParts, WriteStrategy};
use super::{Driver, RETRY_MS, SharedReplica};
use crate::LinkFrame;

/// Bytes of records that are merged in one batch. Writes of this region wait for the whole batch.
const MERGE_BYTES: u64 = 128 * 1024;
const UPKEEP: Duration = Duration::from_secs(1);

pub(super) struct EveryRegionWrites {
    log: AccountLog,
    replica: MultiWriteReplica,
    reader: StreamReader,
    /// Records of the account stream that wait for earlier records.
    unappended: BTreeMap<Sequence, StreamRecord>,
    /// Whether the store will wake the task at its next commit.
    is_listening: Arc<AtomicBool>,
    /// Pulls for a stream that wait for records.
    waiting_pulls: BTreeMap<(RegionId, StreamId), HeldStreamPull>,
    /// The record that added this region, until the region may write.
    joining: Option<Sequence>,
    /// In the hub: the hub's progress at the time of each addition whose copy is not complete.
    progress_at_addition: BTreeMap<RegionId, VersionVector>,
    /// When the last page of records was sent.
    last_page_sent: Instant,
    last_upkeep: Instant,
    /// Present in an account with failover per partition.
    partitions: Option<PartitionFailoverTask>,
    /// Present in an account at bounded staleness.
    staleness: Option<Staleness>,
}

/// The streams over one engine.
struct EngineStreams {
    reader: StreamReader,
    replica: MultiWriteReplica,
}

impl EngineStreams {
    fn open(
        engine: &Engine,
        shared: &Arc<SharedReplica>,
        kept_bytes_max: u64,
    ) -> Result<EngineStreams, Error> {
        let mut reader = engine.stream_reader(kept_bytes_max).ok_or_else(|| {
            Error::Damaged("the store is not of a multi-write account".to_owned())
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

impl EveryRegionWrites {
    pub(super) fn new(parts: &DriverParts, log: AccountLog) -> Result<EveryRegionWrites, Error> {
        let (shared, engine) = (&parts.shared, parts.region.engine());
        let is_bounded = engine.consistency == ConsistencyLevel::BoundedStaleness;
        let bound = is_bounded.then_some(parts.published.bound);
        let EngineStreams { reader, replica } =
            EngineStreams::open(&engine, shared, parts.kept_bytes_max)?;
        let partitions = parts.board.clone().map(|board| {
            let applied = engine.version_vector().of(StreamId::Account);
            PartitionFailoverTask::new(Arc::clone(shared), board, log.upto(applied))
        });
        Ok(EveryRegionWrites {
            log,
            replica,
            reader,
            unappended: BTreeMap::new(),
            is_listening: Arc::default(),
            waiting_pulls: BTreeMap::new(),
            joining: None,
            progress_at_addition: BTreeMap::new(),
            last_page_sent: Instant::now(),
            last_upkeep: Instant::now(),
            partitions,
            staleness: bound.map(Staleness::new),
        })
    }
}

impl WriteStrategy for Driver<EveryRegionWrites> {
    async fn begin(&mut self) {
        self.follow_members();
    }

    fn end(&mut self) {
        self.engine.set_account_writer(None);
    }

    async fn tick_strategy(&mut self, now: Millis) {
        if self.snapshot_transfers.is_receiving() {
            self.strategy.replica.still_fetching(now);
        }
        self.strategy.replica.tick(now);
        self.answer_overdue_stream_pulls(now);
        if let Some(partitions) = &mut self.strategy.partitions {
            partitions.watch(&self.strategy.replica);
        }
        if self.strategy.last_upkeep.elapsed() >= UPKEEP {
            self.strategy.last_upkeep = Instant::now();
            self.trim_history().await;
        }
    }

    fn receive_stream_frame(&mut self, from: RegionId, frame: LinkFrame) {
        match frame {
            LinkFrame::MultiWrite(message) => self.receive_multi_write(from, message),
            LinkFrame::Partitions(frame) => {
                if let Some(partitions) = &mut self.strategy.partitions {
                    partitions.take(from, frame);
                }
            }
            _ => {}
        }
    }

    /// A region that is down carries out nothing: its effects wait for its return.
    async fn follow_presence(&mut self) -> bool {
        let is_down = self.shared.is_down();
        if is_down && let Some(partitions) = &mut self.strategy.partitions {
            partitions.mark_down(&self.engine).await;
        }
        !is_down
    }

    /// Records that this region has made come before the effects, because a message among the
    /// effects may depend on their sequences.
    async fn take_effects(&mut self) -> Vec<ReplicaEffect> {
        let mut core = self.shared.lock();
        let appending = std::mem::take(&mut core.appending);
        let own = (!appending.is_empty()).then_some(ReplicaEffect::Append(appending));
        own.into_iter().chain(core.replica.take_effects()).collect()
    }

    async fn advance_state(&mut self) -> bool {
        let has_applied = self.apply_account().await;
        let own = StreamId::Region(self.shared.me);
        let written = self.engine.version_vector().of(own);
        self.strategy.replica.applied(own, written);
        // One merge takes only `MERGE_BYTES`, and applied account records may make further region
        // records ready.
        let is_merged = self.merge().await;
        for effect in self.strategy.replica.take_effects() {
            self.carry_out_multi_write(effect);
        }
        has_applied || is_merged
    }

    async fn complete_round(&mut self) {
        self.follow_role().await;
        self.review_members();
        if let Some(partitions) = &mut self.strategy.partitions {
            partitions
                .refresh(&self.engine, &self.strategy.replica)
                .await;
        }
        self.send_partition_report();
        self.answer_waiting_stream_pulls();
        // While records gather, the task looks again soon by itself; without a waiting pull, no
        // wake-up is needed.
        if self.strategy.last_page_sent.elapsed() < GATHER {
            self.look_again_at = Some(self.strategy.last_page_sent + GATHER);
        } else if !self.strategy.waiting_pulls.is_empty() {
            self.listen_to_writes();
        }
    }

    fn publish_strategy(&mut self) {
        let lags = self.strategy.replica.lags();
        if let Some(staleness) = &mut self.strategy.staleness {
            let progress = self.strategy.replica.progress();
            let own = progress.of(StreamId::Region(self.shared.me));
            staleness.record_write(self.shared.now(), own);
            self.published
                .set_staleness(staleness.view(progress, own, &lags));
        }
        let mut core = self.shared.lock();
        core.lags = lags;
        // The hub decides only on the newest catalogue, so it must have applied its whole log
        // first.
        let is_current = core.replica.applied_last() == self.strategy.log.last();
        let is_hub = core.replica.is_write_region() && (is_current || self.engine.is_hub());
        drop(core);
        let is_writer = self.engine.role() == ReplicationRole::Writer;
        self.published.set_can_write(is_writer);
        if self.engine.is_hub() != (is_hub && is_writer) {
            self.engine.set_hub(is_hub && is_writer);
        }
    }
}

impl Driver<EveryRegionWrites> {
    /// Handles a message about the streams of the regions.
    fn receive_multi_write(&mut self, from: RegionId, message: MultiWriteMessage) {
        if self.directory.metadata.has_diverged {
            // Its sequences name other records than those of the history.
            return;
        }
        if let (Some(staleness), MultiWriteMessage::Page { have, asked, .. }) =
            (&mut self.strategy.staleness, &message)
        {
            staleness.record_answer(from, *asked, have.of(StreamId::Region(from)));
        }
        self.strategy
            .replica
            .receive(self.shared.now(), from, message);
    }

    /// Makes the store wake the task at its next commit.
    fn listen_to_writes(&mut self) {
        if self.strategy.is_listening.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::downgrade(&self.shared);
        let is_listening = Arc::clone(&self.strategy.is_listening);
        self.strategy.reader.when_committed(Box::new(move |_| {
            is_listening.store(false, Ordering::Release);
            if let Some(shared) = shared.upgrade() {
                shared.wake();
            }
        }));
    }

    /// Trims the log, and forgets versions that cannot affect a merge any more.
    async fn trim_history(&mut self) {
        if self.directory.metadata.has_diverged {
            return;
        }
        let own = StreamId::Region(self.shared.me);
        // The own records that no other region has stay in the log: a snapshot of another region
        // would lack them.
        let outcome = self
            .strategy
            .reader
            .pin(own, self.strategy.replica.shared());
        let outcome = outcome.and_then(|()| {
            self.strategy
                .reader
                .acknowledge(&self.strategy.replica.stable_prefix())
        });
        if let Err(error) = outcome {
            self.break_down(&error.to_string());
        }
        let horizon = self.strategy.replica.horizon();
        if let Err(failure) = self.engine.prune(&horizon).await {
            tracing::warn!(%failure, "versions that are over are not forgotten");
        }
    }

    /// Sends the other regions the state of this region's partitions.
    fn send_partition_report(&mut self) {
        let partitions = self.strategy.partitions.as_mut();
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
        let records = self.strategy.replica.take_ready(MERGE_BYTES);
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
                    self.strategy.replica.applied(stream, sequence);
                }
                true
            }
            Err(error) => {
                self.break_down(&error.to_string());
                false
            }
        }
    }

    fn carry_out_multi_write(&mut self, effect: MultiWriteEffect) {
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
                self.strategy.waiting_pulls.insert((to, stream), held);
            }
            MultiWriteEffect::FetchSnapshot { from } => self.fetch_snapshot(from),
        }
    }
}
