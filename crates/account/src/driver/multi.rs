//! The task of one region of an account in which every region writes.
//!
//! Two streams of messages: the account stream, with the catalogue and the members, in a [`Replica`]
//! at level strong over a short log of its own; and the streams of the regions, with the items, in a
//! [`Mesh`] over the log of the store. The engine takes writes all the time; the task sends its records
//! out and merges those of others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orrery_engine::{Engine, EngineOptions, Role, StreamReader};
use orrery_model::ConsistencyLevel;
use orrery_regions::{
    Mesh, MeshEffect, MeshMessage, MeshSettings, Message, Progress, RegionId, Sequence, StreamId,
    StreamRecord,
};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, sleep_until};

use super::account_log::AccountLog;
use super::copies::{Copier, Copies};
use super::core::Shared;
use super::false_progress::FalseProgress;
use super::mesh_account::HubWriter;
use super::mesh_pages::{GATHER, Held};
use super::neighbours::Neighbours;
use super::pages::Pages;
use super::partitions::Partitions;
use super::saved::Place;
use super::staleness::Staleness;
use super::{REFUSAL_PATIENCE, RETRY_MS, TICK, kept_bytes_max};
use crate::link::{Inbox, Links};
use crate::partitions::Board;
use crate::{Frame, Region};

/// How long a question for records waits for one.
const HELD_MS: u64 = 100;
/// Bytes of records that are merged together. Writes of this region wait for as long as that takes.
const MERGE_BYTES: u64 = 128 * 1024;
const UPKEEP: Duration = Duration::from_secs(1);

pub(crate) struct MultiDriver {
    pub(super) shared: Arc<Shared>,
    pub(super) region: Arc<Region>,
    pub(super) engine: Arc<Engine>,
    pub(super) options: EngineOptions,
    pub(super) links: Links,
    inbox: Inbox,
    pub(super) place: Place,
    pub(super) log: AccountLog,
    pub(super) mesh: Mesh,
    pub(super) reader: StreamReader,
    pub(super) kept_bytes_max: Option<u64>,
    /// Records of the account stream before which others come.
    pub(super) unappended: BTreeMap<Sequence, StreamRecord>,
    /// Questions for records of the account stream.
    pub(super) pages: Pages,
    neighbours: Neighbours,
    pub(super) copies: Copies,
    /// Whether the store will wake the task when something is written.
    pub(super) is_listening: Arc<AtomicBool>,
    /// Questions for records of a stream that there are none of yet.
    pub(super) held: BTreeMap<(RegionId, StreamId), Held>,
    /// The record that added this region, until it may write.
    pub(super) joining: Option<Sequence>,
    /// As the hub: what was had here when regions were added that are not copied yet.
    pub(super) arrivals: BTreeMap<RegionId, Progress>,
    pub(super) false_progress: Arc<Mutex<FalseProgress>>,
    /// When a page of records left last, and whether that is so recent that records gather.
    pub(super) given: Instant,
    is_gathering: bool,
    upkept: Instant,
    /// Where of each key one region alone takes the writes.
    pub(super) partitions: Option<Partitions>,
    /// Of an account at bounded staleness.
    staleness: Option<Staleness>,
    pub(super) broken: Option<String>,
}

/// What a region is started with beside its engine.
pub(crate) struct MultiStart {
    pub(crate) options: EngineOptions,
    pub(crate) place: Place,
    pub(crate) log: AccountLog,
    pub(crate) false_progress: Arc<Mutex<FalseProgress>>,
    /// Of records that the log keeps for regions that are away; none if it is not said.
    pub(crate) kept_bytes_max: Option<u64>,
    /// Where of each key one region alone takes the writes.
    pub(crate) board: Option<Arc<Board>>,
}

/// What follows an engine.
pub(super) struct Attached {
    pub(super) reader: StreamReader,
    pub(super) mesh: Mesh,
}

impl Attached {
    pub(super) fn to(
        engine: &Engine,
        place: &Place,
        shared: &Arc<Shared>,
        bytes_max: Option<u64>,
    ) -> Result<Attached, orrery_partition::Error> {
        let reader = engine.stream_reader(kept_bytes_max(place, bytes_max));
        let mut reader = reader.ok_or_else(|| {
            orrery_partition::Error::Damaged("the store is not of a multi-write account".to_owned())
        })?;
        let progress = engine.progress();
        let bases = reader.bases(&progress)?;
        let settings = MeshSettings {
            retry_ms: RETRY_MS,
            ..MeshSettings::default()
        };
        let mesh = Mesh::new(shared.me, settings, Vec::new(), progress, bases);
        engine.set_account_writer(Some(Arc::new(HubWriter::of(shared))));
        Ok(Attached { reader, mesh })
    }
}

impl MultiDriver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        region: Arc<Region>,
        (links, inbox): (Links, Inbox),
        start: MultiStart,
    ) -> Result<MultiDriver, orrery_partition::Error> {
        let engine = region.engine();
        let is_bounded = engine.consistency == ConsistencyLevel::BoundedStaleness;
        let bound = region.part().map(|part| part.bound);
        let bound = bound.filter(|_| is_bounded);
        let MultiStart {
            options,
            place,
            log,
            false_progress,
            kept_bytes_max,
            board,
        } = start;
        let Attached { reader, mesh } = Attached::to(&engine, &place, &shared, kept_bytes_max)?;
        let partitions = board.map(|board| {
            let applied = engine.progress().of(StreamId::Account);
            Partitions::new(&shared, board, log.upto(applied))
        });
        Ok(MultiDriver {
            shared,
            region,
            engine,
            options,
            links,
            inbox,
            place,
            log,
            mesh,
            reader,
            kept_bytes_max,
            unappended: BTreeMap::new(),
            pages: Pages::default(),
            neighbours: Neighbours::default(),
            copies: Copies::default(),
            is_listening: Arc::default(),
            held: BTreeMap::new(),
            joining: None,
            arrivals: BTreeMap::new(),
            false_progress,
            given: Instant::now(),
            is_gathering: false,
            upkept: Instant::now(),
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
            let gathered = (self.given + GATHER).into();
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                // First: others must hear of this region however busy it is.
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

    /// Wakes the task when the engine has written something.
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
        self.ask_for_copy(now);
        self.mesh.tick(now);
        self.neighbours
            .tick(&self.shared, &self.region, &self.links);
        let is_over = |held: &Held| now.since(held.since) >= HELD_MS;
        let over: Vec<_> = self.held.extract_if(.., |_, held| is_over(held)).collect();
        for ((to, stream), held) in over {
            self.send_records(to, stream, held, Vec::new());
        }
        for (to, page) in self.pages.overdue(now) {
            self.send(to, Frame::Account(Message::Page(page)));
        }
        if let Some(partitions) = &mut self.partitions {
            partitions.watch(&self.shared, &self.mesh);
        }
        if self.upkept.elapsed() >= UPKEEP {
            self.upkept = Instant::now();
            self.keep_up().await;
        }
    }

    /// Lets go of what nobody needs any more.
    async fn keep_up(&mut self) {
        if self.place.kept.is_astray {
            return;
        }
        let own = StreamId::Region(self.shared.me);
        let kept = self.reader.pin(own, self.mesh.shared());
        let kept = kept.and_then(|()| self.reader.acknowledge(&self.mesh.held()));
        if let Err(error) = kept {
            self.break_down(&error.to_string());
        }
        let horizon = self.mesh.horizon();
        if let Err(failure) = self.engine.prune(&horizon).await {
            tracing::warn!(%failure, "versions that are over are not forgotten");
        }
    }

    async fn take(&mut self, from: RegionId, frame: Frame) {
        if self.shared.is_down() {
            return;
        }
        let now = self.shared.now();
        match frame {
            Frame::Account(message) => {
                if let Message::Pull(pull) = &message {
                    self.pages.asked(from, *pull);
                }
                self.shared.lock().replica.receive(now, from, message);
            }
            // What it has is not what the others mean by the same numbers.
            Frame::Mesh(_) if self.place.kept.is_astray => {}
            Frame::Mesh(message) => {
                if let (Some(staleness), MeshMessage::Page { have, asked, .. }) =
                    (&mut self.staleness, &message)
                {
                    staleness.told(from, *asked, have.of(StreamId::Region(from)));
                }
                self.mesh.receive(now, from, message);
            }
            Frame::Endpoint(url) => self.region.set_endpoint_of(from, &url),
            Frame::Problem(cause) => self.region.set_problem_of(from, cause),
            Frame::TokenSecret(secret) => self.region.hear_token_secret(from, secret),
            Frame::Snapshot(frame) => {
                if let Some(copied) = self.take_snapshot_frame(from, frame) {
                    self.install(copied).await;
                }
            }
            Frame::Partitions(frame) => {
                if let Some(partitions) = &mut self.partitions {
                    partitions.take(from, frame);
                }
            }
        }
    }

    pub(super) fn send(&self, to: RegionId, frame: Frame) {
        if !self.shared.is_down() {
            self.links.send(to, frame);
        }
    }

    async fn settle(&mut self) {
        if self.shared.is_down() {
            if let Some(partitions) = &mut self.partitions {
                partitions.leave(&self.shared, &self.engine).await;
            }
            return self.publish();
        }
        loop {
            let is_quiet = !self.follow_account().await;
            let own = StreamId::Region(self.shared.me);
            let written = self.engine.progress().of(own);
            self.mesh.applied(own, written);
            let is_merged = self.merge().await;
            for effect in self.mesh.take_effects() {
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
            partitions.refresh(shared, engine, &self.mesh).await;
        }
        self.tell_partitions();
        self.answer_held();
        self.answer_pulls();
        // Nobody needs to be woken by every write who looks again soon, or whom nobody asks.
        self.is_gathering = self.given.elapsed() < GATHER;
        if !self.is_gathering && !self.held.is_empty() {
            self.listen_to_writes();
        }
        self.publish();
        self.shared.moved();
    }

    /// Tells the others how partitions are here.
    fn tell_partitions(&mut self) {
        let partitions = self.partitions.as_mut();
        if let Some(frame) = partitions.and_then(Partitions::untold) {
            for to in self.shared.members().all() {
                if to != self.shared.me {
                    self.send(to, frame.clone());
                }
            }
        }
    }

    /// Merges records of other regions whose turn has come. True if there were any.
    async fn merge(&mut self) -> bool {
        if self.broken.is_some() || self.place.kept.is_astray {
            return false;
        }
        let records = self.mesh.take_ready(MERGE_BYTES);
        if records.is_empty() {
            return false;
        }
        let ends: BTreeMap<_, _> = records
            .iter()
            .map(|record| (record.stream, record.sequence))
            .collect();
        match self.engine.merge(records).await {
            Ok(_) => {
                for (stream, sequence) in ends {
                    self.mesh.applied(stream, sequence);
                }
                true
            }
            Err(error) => {
                self.break_down(&error.to_string());
                false
            }
        }
    }

    fn carry_out(&mut self, effect: MeshEffect) {
        match effect {
            MeshEffect::Send { .. } | MeshEffect::SendPage { .. } if self.place.kept.is_astray => {}
            MeshEffect::Send { to, message } => self.send(to, Frame::Mesh(message)),
            MeshEffect::SendPage {
                to,
                stream,
                after,
                asked,
                bytes_max,
            } => {
                let held = Held {
                    since: self.shared.now(),
                    after,
                    asked,
                    bytes_max,
                };
                self.held.insert((to, stream), held);
            }
            MeshEffect::FetchSnapshot { from } => self.fetch_copy(from),
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
        let lags = self.mesh.lags();
        if let Some(staleness) = &mut self.staleness {
            let progress = self.mesh.progress();
            let own = progress.of(StreamId::Region(self.shared.me));
            staleness.wrote(self.shared.now(), own);
            self.region.set_reach(staleness.reach(progress, own, &lags));
        }
        let mut core = self.shared.lock();
        core.tell_broken(self.broken.as_ref().or(refusal.as_ref()));
        self.region.publish(&core.replica);
        // It decides over the newest catalogue only.
        let is_current = core.replica.applied_last() == self.log.last();
        let is_hub = core.replica.is_write_region() && (is_current || self.engine.is_hub());
        core.lags = lags;
        drop(core);
        let is_writer = self.engine.role() == Role::Writer;
        self.region.set_can_write(is_writer);
        if self.engine.is_hub() != (is_hub && is_writer) {
            self.engine.set_hub(is_hub && is_writer);
        }
    }
}
