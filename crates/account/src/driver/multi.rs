//! The task of one region of an account in which every region writes.
//!
//! Two streams of messages: the account stream, with the catalogue and the members, in a [`Replica`]
//! at level strong over a short log of its own; and the streams of the regions, with the items, in a
//! [`Mesh`] over the log of the store. The engine takes writes all the time; the task sends its records
//! out and merges those of others.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_engine::{AccountOutcome, AccountWriter, Engine, StreamPiece, StreamReader};
use orrery_model::Failure;
use orrery_regions::{
    Body, Effect, Mesh, MeshEffect, MeshMessage, MeshSettings, Message, Millis, Page, PageHead,
    RegionId, Sequence, StreamId, StreamRecord,
};
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, timeout};

use super::account_log::AccountLog;
use super::core::Shared;
use super::neighbours::Neighbours;
use super::pages::Pages;
use super::saved::Place;
use super::{KEPT_BYTES_MAX, KEPT_BYTES_MAX_IN_MEMORY, RETRY_MS, TICK};
use crate::link::{Inbox, Links};
use crate::{Frame, Region};

/// How long a question for records waits for one.
const HELD_MS: u64 = 100;
/// Bytes of records that are merged together.
const MERGE_BYTES: u64 = 4 * 1024 * 1024;
const UPKEEP: Duration = Duration::from_secs(1);
/// For a change of the catalogue to be had by a majority.
const CATALOGUE_PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct MultiDriver {
    shared: Arc<Shared>,
    region: Arc<Region>,
    engine: Arc<Engine>,
    links: Links,
    inbox: Inbox,
    place: Place,
    log: AccountLog,
    mesh: Mesh,
    reader: StreamReader,
    /// Records of the account stream before which others come.
    unappended: BTreeMap<Sequence, StreamRecord>,
    /// Questions for records of the account stream.
    pages: Pages,
    neighbours: Neighbours,
    /// Whether the store will wake the task when something is written.
    is_listening: Arc<AtomicBool>,
    /// Questions for records of a stream that there are none of yet.
    held: BTreeMap<(RegionId, StreamId), Held>,
    upkept: Instant,
    broken: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    since: Millis,
    after: Sequence,
    asked: Millis,
    bytes_max: u64,
}

/// Brings changes of the catalogue into the account stream, in the hub.
struct HubWriter(Weak<Shared>);

impl AccountWriter for HubWriter {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let Some(shared) = self.0.upgrade() else {
                return Err(Failure::Timeout);
            };
            let answer = propose(&shared, data)?;
            match timeout(CATALOGUE_PATIENCE, answer).await {
                Ok(Ok(AccountOutcome::Applied)) => Ok(()),
                Ok(Ok(AccountOutcome::Void | AccountOutcome::Known)) => Err(Failure::RetryWith),
                Ok(Err(_)) | Err(_) => Err(Failure::Timeout),
            }
        })
    }
}

fn propose(shared: &Shared, data: Bytes) -> Result<oneshot::Receiver<AccountOutcome>, Failure> {
    let (applied, answer) = oneshot::channel();
    let now = shared.now();
    let mut core = shared.lock();
    let written = core.replica.write(now, data);
    let record = written.map_err(super::refusal)?;
    core.proposals.insert(record.sequence, applied);
    core.appending.push(record);
    drop(core);
    shared.wake();
    Ok(answer)
}

impl MultiDriver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        region: Arc<Region>,
        (links, inbox): (Links, Inbox),
        place: Place,
        log: AccountLog,
    ) -> Result<MultiDriver, orrery_partition::Error> {
        let engine = region.engine();
        let bytes_max = match place.directory() {
            Some(_) => KEPT_BYTES_MAX,
            None => KEPT_BYTES_MAX_IN_MEMORY,
        };
        let reader = engine.stream_reader(bytes_max);
        let mut reader = reader.ok_or_else(|| {
            orrery_partition::Error::Damaged("the store is not of a multi-write account".to_owned())
        })?;
        let progress = engine.progress();
        let bases = reader.bases(&progress)?;
        let members = shared.members().full().collect();
        let settings = MeshSettings {
            retry_ms: RETRY_MS,
            ..MeshSettings::default()
        };
        let mesh = Mesh::new(shared.me, settings, members, progress, bases);
        engine.set_account_writer(Some(Arc::new(HubWriter(Arc::downgrade(&shared)))));
        Ok(MultiDriver {
            shared,
            region,
            engine,
            links,
            inbox,
            place,
            log,
            mesh,
            reader,
            unappended: BTreeMap::new(),
            pages: Pages::default(),
            neighbours: Neighbours::default(),
            is_listening: Arc::default(),
            held: BTreeMap::new(),
            upkept: Instant::now(),
            broken: None,
        })
    }

    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.listen_to_writes();
        self.settle().await;
        loop {
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                // First: others must hear of this region however busy it is.
                _ = ticks.tick() => self.tick().await,
                frame = self.inbox.recv() => match frame {
                    Some((from, frame)) => self.take(from, frame),
                    None => break,
                },
                () = self.shared.woken() => {}
            }
            while let Ok((from, frame)) = self.inbox.try_recv() {
                self.take(from, frame);
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
        if let Err(error) = self.reader.catch_up() {
            return self.break_down(&error.to_string());
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
        if self.upkept.elapsed() >= UPKEEP {
            self.upkept = Instant::now();
            self.keep_up().await;
        }
    }

    /// Lets go of what nobody needs any more.
    async fn keep_up(&mut self) {
        if let Err(error) = self.reader.acknowledge(&self.mesh.held()) {
            self.break_down(&error.to_string());
        }
        let horizon = self.mesh.horizon();
        if let Err(failure) = self.engine.prune(&horizon).await {
            tracing::warn!(%failure, "versions that are over are not forgotten");
        }
    }

    fn take(&mut self, from: RegionId, frame: Frame) {
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
            Frame::Mesh(message) => self.mesh.receive(now, from, message),
            Frame::Endpoint(url) => self.region.set_endpoint_of(from, &url),
            Frame::Snapshot(_) => {}
        }
    }

    fn send(&self, to: RegionId, frame: Frame) {
        if !self.shared.is_down() {
            self.links.send(to, frame);
        }
    }

    async fn settle(&mut self) {
        if self.shared.is_down() {
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
        self.answer_held();
        self.answer_pulls();
        self.listen_to_writes();
        self.publish();
        self.shared.moved();
    }

    /// Carries out what the account stream asks. True if there was anything.
    async fn follow_account(&mut self) -> bool {
        let (effects, appending) = {
            let mut core = self.shared.lock();
            let appending = std::mem::take(&mut core.appending);
            (core.replica.take_effects(), appending)
        };
        let mut did = !effects.is_empty() || !appending.is_empty();
        self.append(appending);
        for effect in effects {
            self.carry_out_account(effect);
        }
        did |= self.apply_account().await;
        did
    }

    /// Appends records in the order of their places, whoever made them.
    fn append(&mut self, records: Vec<StreamRecord>) {
        let records = records.into_iter();
        self.unappended
            .extend(records.map(|record| (record.sequence, record)));
        let mut next = Vec::new();
        let mut sequence = self.log.last().next();
        while let Some(record) = self.unappended.remove(&sequence) {
            sequence = sequence.next();
            next.push(record);
        }
        if next.is_empty() {
            return;
        }
        match self.log.append(next) {
            Ok(()) => {
                let now = self.shared.now();
                self.shared.lock().replica.kept(now, self.log.last());
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    fn carry_out_account(&mut self, effect: Effect) {
        match effect {
            Effect::Save(saved) => {
                if let Err(error) = self.place.save(saved) {
                    self.break_down(&error.to_string());
                    self.shared.set_down(true);
                }
            }
            Effect::Append(records) => self.append(records),
            Effect::Send { to, message } => self.send(to, Frame::Account(message)),
            Effect::SendPage {
                to,
                head,
                bytes_max,
            } => self.send_page(to, head, bytes_max),
            Effect::Rejoin(rejoin) => {
                // Nobody has seen what is taken back: the state follows what is committed.
                self.unappended.clear();
                if let Err(error) = self.log.cut(rejoin.diverged_from) {
                    self.break_down(&error.to_string());
                    return;
                }
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.cut(now);
                // Their places go to records of others, whose fate is not theirs.
                drop(core.proposals.split_off(&rejoin.diverged_from.next()));
            }
            Effect::FetchSnapshot { .. } => {
                tracing::error!(
                    region = self.region.name(),
                    "the account stream is never trimmed"
                );
            }
            Effect::Read { read, outcome } => {
                let waiting = self.shared.lock().reads.remove(&read);
                if let Some(waiting) = waiting {
                    let _ = waiting.send(outcome);
                }
            }
        }
    }

    fn send_page(&mut self, to: RegionId, head: PageHead, bytes_max: u64) {
        let records = self.log.after(head.after, bytes_max);
        if records.is_empty() && self.pages.hold(to, head, self.shared.now()) {
            return;
        }
        let page = Page { head, records };
        self.send(to, Frame::Account(Message::Page(page)));
    }

    /// Looks whether questions for the account stream have an answer.
    fn answer_pulls(&mut self) {
        let commit = self.shared.lock().replica.commit();
        for (from, pull) in self.pages.due(self.log.last(), commit) {
            let now = self.shared.now();
            let effects = {
                let mut core = self.shared.lock();
                core.replica.receive(now, from, Message::Pull(pull));
                core.replica.take_effects()
            };
            for effect in effects {
                self.carry_out_account(effect);
            }
        }
    }

    /// Applies what is committed of the account stream. True if something was.
    async fn apply_account(&mut self) -> bool {
        let mut did = false;
        loop {
            let limit = self.shared.lock().replica.apply_limit();
            let next = self.engine.progress().of(StreamId::Account).next();
            if next > limit || self.broken.is_some() {
                return did;
            }
            let Some(record) = self.log.get(next) else {
                return did;
            };
            let data = match &record.body {
                Body::Data(data) => Some(data.clone()),
                Body::EpochStart(_) | Body::Members(_) => None,
            };
            let outcome = match self.engine.apply_account(next, data).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.break_down(&error.to_string());
                    return did;
                }
            };
            did = true;
            let (members, epoch, waiting) = {
                let mut core = self.shared.lock();
                core.replica.applied(next);
                let head = core.replica.head();
                let waiting = core.proposals.remove(&next);
                let members: Vec<RegionId> = head.members.full().collect();
                (members, head.lineage.newest(), waiting)
            };
            self.mesh.applied(StreamId::Account, next);
            self.mesh.set_members(members);
            self.engine.set_epoch(epoch);
            if let Some(waiting) = waiting {
                // Whoever waited may have gone.
                let _ = waiting.send(outcome);
            }
        }
    }

    /// Merges records of other regions whose turn has come. True if there were any.
    async fn merge(&mut self) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let (mut records, mut bytes) = (Vec::new(), 0);
        while bytes < MERGE_BYTES
            && let Some(record) = self.mesh.take_ready()
        {
            bytes += record.bytes();
            records.push(record);
        }
        if records.is_empty() {
            return false;
        }
        let ends: Vec<_> = records
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
                self.answer(to, stream, held);
            }
            MeshEffect::FetchSnapshot { from } => {
                let cause = format!(
                    "this region was away for so long that the others do not have what it missed; copy the \
                     data of region {from} to it"
                );
                self.break_down(&cause);
            }
        }
    }

    /// Answers a question for records, or lets it wait for some.
    fn answer(&mut self, to: RegionId, stream: StreamId, held: Held) {
        let bytes_max = usize::try_from(held.bytes_max).unwrap_or(usize::MAX);
        match self.reader.records_after(stream, held.after, bytes_max) {
            Ok(StreamPiece::Records(records)) if records.is_empty() => {
                self.held.insert((to, stream), held);
            }
            Ok(StreamPiece::Records(records)) => self.send_records(to, stream, held, records),
            Ok(StreamPiece::Trimmed) => {
                self.mesh.trimmed(stream, held.after.next());
                let have = self.mesh.progress().clone();
                self.send(to, Frame::Mesh(MeshMessage::Trimmed { have, stream }));
            }
            Err(error) => {
                tracing::error!(%error, region = self.region.name(), "the log cannot be read for another region");
            }
        }
    }

    fn send_records(&self, to: RegionId, stream: StreamId, held: Held, records: Vec<StreamRecord>) {
        let message = MeshMessage::Page {
            have: self.mesh.progress().clone(),
            stream,
            after: held.after,
            asked: held.asked,
            records,
        };
        self.send(to, Frame::Mesh(message));
    }

    /// Looks whether questions that wait have an answer.
    fn answer_held(&mut self) {
        let progress = self.engine.progress();
        let has_more = |stream: StreamId, held: &Held| progress.of(stream) > held.after;
        let due: Vec<_> = self
            .held
            .extract_if(.., |(_, stream), held| has_more(*stream, held))
            .collect();
        for ((to, stream), held) in due {
            self.answer(to, stream, held);
        }
    }

    fn break_down(&mut self, cause: &str) {
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
        let can_write = self.mesh.can_write() && self.broken.is_none();
        let lags = self.mesh.lags();
        let mut core = self.shared.lock();
        self.region.publish(&core.replica);
        let is_member = core.replica.members().is_full(self.shared.me);
        // It decides over the newest catalogue only.
        let is_current = core.replica.head().sequence == self.log.last();
        let is_hub = core.replica.is_write_region() && (is_current || self.engine.is_hub());
        core.lags = lags;
        drop(core);
        self.region.set_can_write(can_write && is_member);
        if self.engine.is_hub() != is_hub {
            self.engine.set_hub(is_hub);
        }
    }
}
