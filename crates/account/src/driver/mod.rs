//! The task of one region: it hears messages and the clock, calls the state machine, and carries out
//! what that asks, in order.
//!
//! ```text
//!  links ------> receive -+                     +-> send, pages from the log
//!  clock ------> tick ----+-> Replica -> effects +-> append and apply in the engine
//!  commit thread -> write, kept, applied        +-> save the promise, copies, false progress
//! ```
//!
//! While the region writes, its store makes the records and asks the machine for their places
//! ([`StoreAuthority`]); otherwise the task gives the engine records to follow. The engine is told to
//! write only when the machine says so and the state has everything, and is told to stop before
//! anything leaves that would make another region write.

mod account_log;
mod authority;
mod copies;
mod core;
mod false_progress;
mod install;
mod mesh_account;
mod mesh_copy;
mod mesh_members;
mod mesh_pages;
mod multi;
mod neighbours;
mod pages;
mod partitions;
mod saved;
mod staleness;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions};
use orrery_partition::{CommittedRecord, Position, Subscription, note_record, tell_record};
use orrery_regions::{
    Body, Effect, Head, Level, Message, Pull, RegionId, Rejoin, Replica, Restart, Saved, Sequence,
    Settings, StreamId, StreamRecord,
};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

pub(crate) use self::account_log::AccountLog;
pub(crate) use self::authority::{StoreAuthority, refusal};
use self::copies::{Copier, Copies};
use self::core::is_data;
pub(crate) use self::core::{Shared, millis_since};
pub(crate) use self::false_progress::FalseProgress;
pub(crate) use self::mesh_account::propose;
pub(crate) use self::multi::{MultiDriver, MultiStart};
use self::neighbours::Neighbours;
use self::pages::Pages;
pub(crate) use self::saved::{Kept, Place};
pub(crate) use self::staleness::Reach;
use crate::codec::decode_note;
use crate::link::{Inbox, Links};
use crate::{Frame, Region};

/// Longer than the round trip of the slowest link that anybody tries out.
pub(crate) const RETRY_MS: u64 = 1_000;
const TICK: Duration = Duration::from_millis(20);
/// A store that refuses writes for longer than this leaves them to another region, where there is one.
pub(super) const REFUSAL_PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of records that the log keeps for regions that are away.
const KEPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The same of an account in memory.
const KEPT_BYTES_MAX_IN_MEMORY: u64 = 256 * 1024 * 1024;
/// A region that comes up as the write region first hears whether it still is, for so long.
const RETURN_PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Driver {
    shared: Arc<Shared>,
    region: Arc<Region>,
    engine: Arc<Engine>,
    options: EngineOptions,
    links: Links,
    inbox: Inbox,
    place: Place,
    kept_bytes_max: Option<u64>,
    subscription: Subscription,
    /// Whether the engine makes records.
    is_writing: bool,
    /// Since when it is known that this region was the write region before it went away.
    returned: Option<Instant>,
    was_down: bool,
    /// Since when it is not known whether the account went on without this region.
    doubted: Option<Instant>,
    pages: Pages,
    neighbours: Neighbours,
    copies: Copies,
    /// Where the log and the history part, while a copy is wanted.
    rejoining: Option<Rejoin>,
    false_progress: Arc<Mutex<FalseProgress>>,
    /// Why the engine takes nothing any more.
    broken: Option<String>,
}

/// The state machine of the account stream where all regions write.
pub(crate) fn account_replica(engine: &Engine, log: &AccountLog, start: Start) -> Replica {
    let now = millis_since(start.begun);
    if let Some(members) = start.founds {
        return Replica::found(start.kept.id, start.settings, now, members);
    }
    let restart = Restart {
        saved: start.kept.saved,
        begins: Sequence::ZERO,
        base: Head::default(),
        log: log.records(),
        // A copy may have more of the stream than the log.
        applied: engine.progress().of(StreamId::Account).min(log.last()),
    };
    Replica::new(start.kept.id, start.settings, now, restart)
}

/// How a region comes up.
pub(crate) struct Start {
    pub(crate) kept: Kept,
    /// Founds the account with these members.
    pub(crate) founds: Option<orrery_regions::Membership>,
    pub(crate) settings: Settings,
    pub(crate) begun: Instant,
}

/// What a region of an account with one write region is started with beside its engine.
pub(crate) struct SingleStart {
    pub(crate) options: EngineOptions,
    pub(crate) place: Place,
    pub(crate) false_progress: Arc<Mutex<FalseProgress>>,
    /// Of records that the log keeps for regions that are away; none if it is not said.
    pub(crate) kept_bytes_max: Option<u64>,
    /// Whether it has never been in the account.
    pub(crate) is_new: bool,
}

/// The state machine of a region, with what its engine has.
pub(crate) fn replica_of(
    engine: &Engine,
    start: Start,
) -> Result<Replica, orrery_partition::Error> {
    let now = millis_since(start.begun);
    if let Some(members) = start.founds {
        return Ok(Replica::found(start.kept.id, start.settings, now, members));
    }
    let applied = Sequence(engine.committed().0);
    let head = head_of(engine.note()?, applied);
    let mut log = engine.subscribe(engine.committed(), 0);
    let mut tail = Vec::new();
    let mut lineage = head.lineage.clone();
    let mut last = engine.committed();
    while let orrery_partition::Piece::Records(records) = log.records_after(last, usize::MAX)? {
        let Some((newest, _)) = records.last() else {
            break;
        };
        last = *newest;
        for (position, payload) in records {
            let record = pages::stream_record(&lineage, position, payload);
            lineage.record(record.epoch, record.sequence);
            tail.push(record);
        }
    }
    let restart = Restart {
        saved: start.kept.saved,
        begins: Sequence::ZERO,
        base: head,
        log: &tail,
        applied,
    };
    Ok(Replica::new(start.kept.id, start.settings, now, restart))
}

/// What the state says of the stream up to what it has.
fn head_of(note: Option<Bytes>, applied: Sequence) -> Head {
    let head = note.and_then(|note| decode_note(&note));
    let head = head.map(|(head, _)| head).unwrap_or_default();
    Head {
        sequence: applied,
        ..head
    }
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        region: Arc<Region>,
        (links, inbox): (Links, Inbox),
        start: SingleStart,
    ) -> Driver {
        let SingleStart {
            options,
            place,
            false_progress,
            kept_bytes_max,
            is_new,
        } = start;
        let engine = region.engine();
        let subscription = subscribe(&engine, &place, kept_bytes_max);
        region.set_returning(!is_new);
        Driver {
            shared,
            region,
            engine,
            options,
            links,
            inbox,
            place,
            kept_bytes_max,
            subscription,
            is_writing: false,
            returned: (!is_new).then(Instant::now),
            was_down: false,
            doubted: (!is_new).then(Instant::now),
            pages: Pages::default(),
            neighbours: Neighbours::default(),
            copies: Copies::default(),
            rejoining: None,
            false_progress,
            broken: None,
        }
    }

    /// Runs until told to stop.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        self.watch_engine().await;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.settle().await;
        loop {
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                // First: others must hear of this region however busy it is.
                _ = ticks.tick() => self.tick(),
                frame = self.inbox.recv() => match frame {
                    Some((from, frame)) => self.take(from, frame).await,
                    None => break,
                },
                () = self.shared.woken() => {}
            }
            while let Ok((from, frame)) = self.inbox.try_recv() {
                self.take(from, frame).await;
            }
            self.settle().await;
        }
    }

    /// Lets the store of the engine ask here.
    async fn watch_engine(&mut self) {
        let authority = StoreAuthority(Arc::clone(&self.shared));
        let engine = Arc::clone(&self.engine);
        engine.set_authority(Arc::new(authority)).await;
    }

    fn tick(&mut self) {
        if self.shared.is_down() {
            return;
        }
        let now = self.shared.now();
        self.shared.lock().replica.tick(now);
        self.neighbours
            .tick(&self.shared, &self.region, &self.links);
        self.ask_for_copy(now);
        for (to, page) in self.pages.overdue(now) {
            self.send(to, Frame::Account(Message::Page(page)));
        }
    }

    /// A region stops writing when it goes, so that nothing is taken in the moment of its return: as
    /// after a restart, another region may write by then.
    async fn notice_absence(&mut self) {
        let is_down = self.shared.is_down();
        let was_down = std::mem::replace(&mut self.was_down, is_down);
        if is_down || was_down {
            self.doubted = Some(Instant::now());
            self.region.set_returning(true);
            self.shared.lock().replica.doubt();
        }
        if is_down {
            self.stop_writing().await;
        } else if was_down {
            self.returned = self.doubted;
        }
    }

    async fn take(&mut self, from: RegionId, frame: Frame) {
        if self.shared.is_down() {
            return;
        }
        match frame {
            Frame::Account(message) => {
                if let Message::Pull(pull) = &message {
                    self.pages.asked(from, *pull);
                }
                let now = self.shared.now();
                self.shared.lock().replica.receive(now, from, message);
                self.settle().await;
            }
            Frame::Snapshot(frame) => {
                if let Some(copied) = self.take_snapshot_frame(from, frame) {
                    self.install(copied).await;
                }
            }
            Frame::Endpoint(url) => self.region.set_endpoint_of(from, &url),
            Frame::Problem(cause) => self.region.set_problem_of(from, cause),
            Frame::TokenSecret(secret) => self.region.hear_token_secret(from, secret),
            Frame::Mesh(_) | Frame::Partitions(_) => {}
        }
    }

    fn send(&self, to: RegionId, frame: Frame) {
        if !self.shared.is_down() {
            self.links.send(to, frame);
        }
    }

    /// Carries out effects until there are none, and lets everybody know.
    async fn settle(&mut self) {
        self.notice_absence().await;
        loop {
            self.tell_store();
            self.follow_role().await;
            let effects = self.shared.lock().replica.take_effects();
            let is_done = effects.is_empty();
            for effect in effects {
                self.carry_out(effect).await;
            }
            if !self.let_state_follow().await && is_done {
                break;
            }
        }
        for (from, pull) in self
            .pages
            .due(Sequence(self.engine.kept().0), self.commit())
        {
            for effect in self.ask_again(from, pull) {
                self.carry_out(effect).await;
            }
        }
        self.send_unasked();
        self.publish();
        self.shared.moved();
    }

    /// The store goes on with what others keep by now.
    fn tell_store(&self) {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        if core.must_tell_store(now) {
            core.is_store_told = true;
            drop(core);
            self.engine.look();
        }
    }

    fn ask_again(&mut self, from: RegionId, pull: Pull) -> Vec<Effect> {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        core.replica.receive(now, from, Message::Pull(pull));
        core.replica.take_effects()
    }

    fn commit(&self) -> Sequence {
        self.shared.lock().replica.commit()
    }

    async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Save(saved) => {
                self.follow_role().await;
                // Whoever relies on the promise relies on what was taken before it.
                match self.engine.sync().await {
                    Ok(()) => self.save(saved),
                    Err(error) => self.withdraw(&error.to_string()),
                }
            }
            Effect::Append(records) => self.append(records).await,
            Effect::Send { to, message } => self.send(to, Frame::Account(message)),
            Effect::SendPage {
                to,
                head,
                bytes_max,
            } => self.send_page(to, head, bytes_max),
            Effect::FetchSnapshot { from } => self.fetch_copy(from),
            Effect::Rejoin(rejoin) => self.rejoin(rejoin),
            Effect::Read { read, outcome } => {
                let waiting = self.shared.lock().reads.remove(&read);
                if let Some(waiting) = waiting {
                    // Whoever asked may have gone.
                    let _ = waiting.send(outcome);
                }
            }
        }
    }

    fn save(&mut self, saved: Saved) {
        if let Err(error) = self.place.save(saved) {
            self.withdraw(&error.to_string());
        }
    }

    /// A promise cannot be kept on disk: nothing may leave that relies on it.
    fn withdraw(&mut self, cause: &str) {
        self.break_down(cause);
        self.shared.set_down(true);
    }

    /// Appends records: through the store that makes its own, or by following.
    async fn append(&mut self, records: Vec<StreamRecord>) {
        if self.is_writing {
            let mut core = self.shared.lock();
            for record in records.iter().filter(|record| !is_data(record)) {
                core.add_note(record);
            }
            drop(core);
            self.shared.moved();
            return self.engine.append_notes();
        }
        // Readers see a new version of the account with the record that makes it, not before.
        let mut piece = Vec::new();
        for record in records {
            let ends_piece = !is_data(&record);
            piece.push(self.payload(&record));
            if ends_piece {
                self.follow(std::mem::take(&mut piece)).await;
                self.publish();
            }
        }
        self.follow(piece).await;
    }

    fn payload(&self, record: &StreamRecord) -> CommittedRecord {
        let payload = match &record.body {
            Body::Data(payload) => payload.clone(),
            body => {
                let head = self.shared.lock().replica.head_at(record.sequence);
                note_record(crate::codec::encode_note(&head, body))
            }
        };
        (Position(record.sequence.0), payload)
    }

    async fn follow(&mut self, records: Vec<CommittedRecord>) {
        let Some((last, _)) = records.last() else {
            return;
        };
        let last = Sequence(last.0);
        let limit = self.apply_limit(last);
        match self.engine.keep(records, Position(limit.0)).await {
            Ok(reached) => {
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.kept(now, Sequence(reached.kept.0));
                core.replica.applied(Sequence(reached.applied.0));
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    /// How far the state may go when records up to `last` are kept.
    fn apply_limit(&self, last: Sequence) -> Sequence {
        match self.shared.level {
            Level::Strong => self.shared.lock().replica.commit().min(last),
            _ => last,
        }
    }

    /// At level strong: applies what is committed by now. True if something was.
    async fn let_state_follow(&mut self) -> bool {
        if self.is_writing || self.broken.is_some() {
            return false;
        }
        let limit = self.shared.lock().replica.apply_limit();
        if limit.0 <= self.engine.committed().0 {
            return false;
        }
        let before = self.engine.committed();
        match self.engine.keep(Vec::new(), Position(limit.0)).await {
            Ok(reached) => {
                let applied = Sequence(reached.applied.0);
                self.shared.lock().replica.applied(applied);
                self.publish();
                reached.applied > before
            }
            Err(error) => {
                self.break_down(&error.to_string());
                false
            }
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

    /// Makes the engine write or follow, as the machine says.
    async fn follow_role(&mut self) {
        let (is_write_region, fell_back) = {
            let mut core = self.shared.lock();
            let fell_back = std::mem::take(&mut core.fell_back);
            (core.replica.is_write_region(), fell_back)
        };
        if self.is_writing && (!is_write_region || fell_back) {
            self.stop_writing().await;
        }
        self.append_notes().await;
        if !self.is_writing && is_write_region && self.may_write() {
            self.publish();
            match self.engine.promote().await {
                Ok(()) => self.is_writing = true,
                Err(failure) => self.break_down(&failure.to_string()),
            }
        }
    }

    async fn stop_writing(&mut self) {
        if !std::mem::take(&mut self.is_writing) {
            return;
        }
        if let Err(failure) = self.engine.demote().await {
            self.break_down(&failure.to_string());
        }
    }

    /// Notes have their places already: they are appended by whoever appends now.
    async fn append_notes(&mut self) {
        if self.is_writing {
            if self.shared.lock().has_notes() {
                self.engine.append_notes();
            }
            return;
        }
        let notes = self.shared.lock().take_notes();
        let records = notes.into_iter();
        let records = records.map(|(at, text)| (Position(at.0), note_record(text)));
        self.follow(records.collect()).await;
    }

    /// Whether the state has everything, and the region knows that it is still the one.
    fn may_write(&mut self) -> bool {
        // If it is up again and that was not noticed yet, it is not known what happened meanwhile.
        if self.was_down || self.shared.is_down() || self.broken.is_some() {
            return false;
        }
        let now = self.shared.now();
        let core = self.shared.lock();
        let last = core.replica.last();
        if last.0 != self.engine.committed().0 || self.engine.kept() != self.engine.committed() {
            return false;
        }
        let confirmed = core.replica.own_lag(now);
        match self.returned {
            Some(since)
                if !is_confirmed_after(since, confirmed) && since.elapsed() < RETURN_PATIENCE =>
            {
                false
            }
            _ => {
                self.returned = None;
                true
            }
        }
    }

    /// Whether the state may be another one than the account's: known to be, or not heard yet that it is
    /// not. Who hears nothing for a while goes on: all others may be gone.
    fn is_returning(&mut self) -> bool {
        let now = self.shared.now();
        let core = self.shared.lock();
        let has_parted = core.replica.has_parted();
        let Some(since) = self.doubted else {
            return has_parted;
        };
        let is_sure = if core.replica.is_write_region() {
            is_confirmed_after(since, core.replica.own_lag(now))
        } else {
            core.replica.is_verified()
        };
        drop(core);
        if is_sure || since.elapsed() >= RETURN_PATIENCE {
            self.doubted = None;
        }
        self.doubted.is_some() || has_parted
    }

    /// Keeps what the history does not have, before it goes.
    fn rejoin(&mut self, rejoin: Rejoin) {
        let mut lines = Vec::new();
        let mut after = Position(rejoin.diverged_from.0);
        while after.0 < rejoin.last.0 {
            let piece = self.subscription.records_after(after, 1 << 20);
            let Ok(orrery_partition::Piece::Records(records)) = piece else {
                tracing::error!(
                    region = self.region.name(),
                    "records that are not part of the history are not in the log any more"
                );
                break;
            };
            let Some((newest, _)) = records.last() else {
                break;
            };
            after = *newest;
            for (position, payload) in &records {
                match tell_record(position.0, payload) {
                    Ok(told) => lines.extend(told),
                    Err(error) => tracing::error!(%error, "a record cannot be told"),
                }
            }
        }
        let count = lines.len();
        let mut kept = self
            .false_progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = kept.add(lines) {
            drop(kept);
            tracing::error!(%error, "false progress cannot be kept; the region stays as it is");
            self.break_down(&error.to_string());
            return;
        }
        drop(kept);
        tracing::warn!(
            region = self.region.name(),
            from = rejoin.diverged_from.0,
            to = rejoin.last.0,
            changes = count,
            "this region had acknowledged what the history does not have; it is kept as false progress"
        );
        self.rejoining = Some(rejoin);
    }

    /// Says outside how things are.
    fn publish(&mut self) {
        let is_returning = self.is_returning();
        self.region.set_returning(is_returning);
        let refusal = self.engine.refusal_of(REFUSAL_PATIENCE);
        if self.broken.is_none()
            && let Some(cause) = self.engine.problem().map(str::to_owned)
        {
            self.break_down(&cause);
        }
        let mut core = self.shared.lock();
        core.tell_broken(self.broken.as_ref().or(refusal.as_ref()));
        self.region.publish(&core.replica);
        let trim = core.replica.trim_limit();
        drop(core);
        self.subscription.acknowledge(Position(trim.0));
    }
}

/// Whether the write region has heard that it still is, since then.
fn is_confirmed_after(since: Instant, confirmed: Option<(u64, u64)>) -> bool {
    // Of the age the last part of a millisecond is left out.
    confirmed.is_some_and(|(_, age)| Duration::from_millis(age + 1) < since.elapsed())
}

fn subscribe(engine: &Engine, place: &Place, bytes_max: Option<u64>) -> Subscription {
    engine.subscribe(Position::ZERO, kept_bytes_max(place, bytes_max))
}

/// As was said, or as much as is sensible.
fn kept_bytes_max(place: &Place, said: Option<u64>) -> u64 {
    match (said, place.directory()) {
        (Some(said), _) => said,
        (None, Some(_)) => KEPT_BYTES_MAX,
        (None, None) => KEPT_BYTES_MAX_IN_MEMORY,
    }
}

/// Where the engine of a region is on disk.
pub(crate) fn engine_directory(place: &Place) -> Option<PathBuf> {
    place.side(place.kept.side)
}
