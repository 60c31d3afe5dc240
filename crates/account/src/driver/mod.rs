//! The task of one region: it receives messages and clock ticks, calls the replica, and carries out
//! the replica's effects in order.
//!
//! ```text
//!  links ------> receive -+                     +-> send, pages from the log
//!  clock ------> tick ----+-> Replica -> effects +-> append and apply in the engine
//!  commit thread -> write, durable, applied      +-> save the promise, snapshots, false progress
//! ```
//!
//! While the region writes, its store makes the records and asks the replica for their sequences
//! ([`StreamReplication`]); otherwise the task gives the engine the write region's records. The
//! task makes the engine the writer only when the replica leads and the state has applied the whole
//! log. It demotes the engine before any message leaves that could make another region the write
//! region.

mod diverged_suffix;
mod every_region;
mod one_region;
mod pages;
mod peer_announcer;
mod region_directory;
mod shared_replica;
mod snapshot_transfer;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_engine::{Engine, EngineOptions};
use orrery_log::{CommitLog, ReplicatedLog};
use orrery_partition::{
    LogRecord, Position, Subscription, SubscriptionRead, note_record, record_json_lines,
};
use orrery_regions::{
    Consistency, HardState, LogRepair, Pull, RecordBody, RegionId, Replica, ReplicaEffect,
    ReplicaMessage, ReplicaSettings, Restart, Sequence, SnapshotMetadata, StreamId, StreamRecord,
};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

pub(crate) use self::diverged_suffix::DivergedSuffix;
use self::diverged_suffix::{READ_BYTES, SuffixRead, suffix_lines};
pub(crate) use self::every_region::{
    AccountLog, MultiWriteDriver, MultiWriteStart, StalenessView, propose,
};
pub(crate) use self::one_region::{StreamReplication, refusal};
use self::pages::PendingPulls;
use self::peer_announcer::PeerAnnouncer;
pub(crate) use self::region_directory::{RegionDirectory, RegionMetadata};
use self::shared_replica::is_data;
pub(crate) use self::shared_replica::{SharedReplica, millis_since};
use self::snapshot_transfer::{SnapshotExchange, SnapshotTransfers};
use crate::codec::decode_note;
use crate::link::{Inbox, Links};
use crate::{LinkFrame, Region};

/// Longer than the round trip of the slowest link that is supported.
pub(crate) const RETRY_MS: u64 = 1_000;
const TICK: Duration = Duration::from_millis(20);
/// A store that refuses writes for longer than this makes the region step down, if there is another
/// one.
pub(super) const REFUSAL_PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of log records that a region retains for disconnected regions.
const KEPT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The same limit for an account in memory.
const KEPT_BYTES_MAX_IN_MEMORY: u64 = 256 * 1024 * 1024;
/// How long a restarted write region waits for the confirmation that it still is the write region.
const RETURN_PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Driver {
    shared: Arc<SharedReplica>,
    region: Arc<Region>,
    engine: Arc<Engine>,
    options: EngineOptions,
    links: Links,
    inbox: Inbox,
    directory: RegionDirectory,
    kept_bytes_max: Option<u64>,
    subscription: Subscription,
    /// Whether the engine is the writer.
    is_writing: bool,
    /// When the region returned, while it has no confirmation since then that it still is the write
    /// region.
    unconfirmed_since: Option<Instant>,
    was_down: bool,
    /// Since when the region does not know whether the account promoted another region.
    unverified_since: Option<Instant>,
    pages: PendingPulls,
    announcer: PeerAnnouncer,
    snapshot_transfers: SnapshotTransfers,
    /// The divergence of the log, while the region waits for a snapshot.
    log_repair: Option<LogRepair>,
    diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// The failure that stopped the engine's replication.
    broken: Option<String>,
}

/// The replica of the account stream in a multi-write account.
pub(crate) fn account_replica(engine: &Engine, log: &AccountLog, start: ReplicaStart) -> Replica {
    let now = millis_since(start.begun);
    if let Some(members) = start.founds {
        return Replica::bootstrap(start.metadata.id, start.settings, now, members);
    }
    let restart = Restart {
        hard_state: start.metadata.hard_state,
        begins: Sequence::ZERO,
        base: SnapshotMetadata::default(),
        log: log.records(),
        // A snapshot may have more of the account stream than the log.
        applied: engine
            .version_vector()
            .of(StreamId::Account)
            .min(log.last()),
    };
    Replica::new(start.metadata.id, start.settings, now, restart)
}

/// The state with which a region starts.
pub(crate) struct ReplicaStart {
    pub(crate) metadata: RegionMetadata,
    /// The members of the account, if this region founds it.
    pub(crate) founds: Option<orrery_regions::Membership>,
    pub(crate) settings: ReplicaSettings,
    pub(crate) begun: Instant,
}

/// The parts of a region in an account with one write region that its driver needs besides the
/// engine.
pub(crate) struct SingleStart {
    pub(crate) options: EngineOptions,
    pub(crate) directory: RegionDirectory,
    pub(crate) diverged_suffix: Arc<Mutex<DivergedSuffix>>,
    /// Bytes of log records to retain for disconnected regions; none for the default.
    pub(crate) kept_bytes_max: Option<u64>,
    /// Whether the region starts for the first time.
    pub(crate) is_new: bool,
}

/// The replica of a region, from the state and the log of its engine.
pub(crate) fn replica_of(
    engine: &Engine,
    start: ReplicaStart,
) -> Result<Replica, orrery_partition::Error> {
    let now = millis_since(start.begun);
    if let Some(members) = start.founds {
        return Ok(Replica::bootstrap(
            start.metadata.id,
            start.settings,
            now,
            members,
        ));
    }
    let applied = Sequence(engine.applied().0);
    let head = head_of(engine.note()?, applied);
    let mut log = engine.subscribe(engine.applied(), 0);
    let mut tail = Vec::new();
    let mut lineage = head.lineage.clone();
    let mut last = engine.applied();
    while let SubscriptionRead::Records(records) = log.records_after(last, usize::MAX)? {
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
        hard_state: start.metadata.hard_state,
        begins: Sequence::ZERO,
        base: head,
        log: &tail,
        applied,
    };
    Ok(Replica::new(
        start.metadata.id,
        start.settings,
        now,
        restart,
    ))
}

/// The lineage and members in the state's last note, at the last applied record.
fn head_of(note: Option<Bytes>, applied: Sequence) -> SnapshotMetadata {
    let head = note.and_then(|note| decode_note(&note));
    let head = head.map(|(head, _)| head).unwrap_or_default();
    SnapshotMetadata {
        sequence: applied,
        ..head
    }
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<SharedReplica>,
        region: Arc<Region>,
        (links, inbox): (Links, Inbox),
        start: SingleStart,
    ) -> Driver {
        let SingleStart {
            options,
            directory,
            diverged_suffix,
            kept_bytes_max,
            is_new,
        } = start;
        let engine = region.engine();
        let subscription = subscribe(&engine, &directory, kept_bytes_max);
        region.set_returning(!is_new);
        Driver {
            shared,
            region,
            engine,
            options,
            links,
            inbox,
            directory,
            kept_bytes_max,
            subscription,
            is_writing: false,
            unconfirmed_since: (!is_new).then(Instant::now),
            was_down: false,
            unverified_since: (!is_new).then(Instant::now),
            pages: PendingPulls::default(),
            announcer: PeerAnnouncer::default(),
            snapshot_transfers: SnapshotTransfers::default(),
            log_repair: None,
            diverged_suffix,
            broken: None,
        }
    }

    /// Runs until `stop` changes.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        self.watch_engine().await;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.settle().await;
        loop {
            tokio::select! {
                biased;
                _ = stop.changed() => break,
                // Ticks come first, so that a busy region still sends its heartbeats.
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

    /// Makes the log of the engine's store ask this region's replica about each append and commit.
    async fn watch_engine(&mut self) {
        let replication = StreamReplication(Arc::clone(&self.shared));
        let wrap = |log| Box::new(ReplicatedLog::new(log, replication)) as Box<dyn CommitLog>;
        self.engine.wrap_log(Box::new(wrap)).await;
    }

    fn tick(&mut self) {
        if self.shared.is_down() {
            return;
        }
        let now = self.shared.now();
        self.shared.lock().replica.tick(now);
        self.announcer.tick(&self.shared, &self.region, &self.links);
        self.request_snapshot(now);
        for (to, page) in self.pages.overdue(now) {
            self.send(to, LinkFrame::Account(ReplicaMessage::Page(page)));
        }
    }

    /// Stops writing when the region goes down, so that it takes no write at the moment of its
    /// return: as after a restart, another region may be the write region by then.
    async fn notice_absence(&mut self) {
        let is_down = self.shared.is_down();
        let was_down = std::mem::replace(&mut self.was_down, is_down);
        if is_down || was_down {
            self.unverified_since = Some(Instant::now());
            self.region.set_returning(true);
            self.shared.lock().replica.mark_unverified();
        }
        if is_down {
            self.stop_writing().await;
        } else if was_down {
            self.unconfirmed_since = self.unverified_since;
        }
    }

    async fn take(&mut self, from: RegionId, frame: LinkFrame) {
        if self.shared.is_down() {
            self.shared.record_epoch_while_down(&frame);
            return;
        }
        match frame {
            LinkFrame::Account(message) => {
                if let ReplicaMessage::Pull(pull) = &message {
                    self.pages.asked(from, *pull);
                }
                let now = self.shared.now();
                self.shared.lock().replica.receive(now, from, message);
                self.settle().await;
            }
            LinkFrame::Snapshot(frame) => {
                if let Some(snapshot) = self.take_snapshot_frame(from, frame) {
                    self.install(snapshot).await;
                }
            }
            LinkFrame::Endpoint(url) => self.region.set_endpoint_of(from, &url),
            LinkFrame::Problem(cause) => self.region.set_problem_of(from, cause),
            LinkFrame::TokenSecret(secret) => self.region.hear_token_secret(from, secret),
            LinkFrame::MultiWrite(_) | LinkFrame::Partitions(_) => {}
        }
    }

    fn send(&self, to: RegionId, frame: LinkFrame) {
        if !self.shared.is_down() {
            self.links.send(to, frame);
        }
    }

    /// Carries out effects until there are none, and notifies the waiters.
    async fn settle(&mut self) {
        self.notice_absence().await;
        loop {
            self.request_commit_check();
            self.follow_role().await;
            // The role follows the replica before its effects are carried out: the engine stops
            // writing before a promise or a vote leaves.
            let effects = self.shared.lock().replica.take_effects();
            let is_done = effects.is_empty();
            for effect in effects {
                self.carry_out(effect).await;
            }
            if !self.apply_committed().await && is_done {
                break;
            }
        }
        for (from, pull) in self
            .pages
            .due(Sequence(self.engine.appended().0), self.commit())
        {
            for effect in self.ask_again(from, pull) {
                self.carry_out(effect).await;
            }
        }
        self.send_unasked();
        self.publish();
        self.shared.notify_waiters();
    }

    /// Makes the store check its groups if the outcome of the oldest one is decided.
    fn request_commit_check(&self) {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        if core.needs_commit_check(now) {
            core.is_commit_check_requested = true;
            drop(core);
            self.engine.wake_log();
        }
    }

    fn ask_again(&mut self, from: RegionId, pull: Pull) -> Vec<ReplicaEffect> {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        core.replica.receive(now, from, ReplicaMessage::Pull(pull));
        core.replica.take_effects()
    }

    fn commit(&self) -> Sequence {
        self.shared.lock().replica.commit()
    }

    async fn carry_out(&mut self, effect: ReplicaEffect) {
        match effect {
            ReplicaEffect::SaveHardState(saved) => {
                self.follow_role().await;
                // A region that relies on the promise also relies on the records that this region
                // took before it, so these are made durable first.
                match self.engine.sync().await {
                    Ok(()) => self.save(saved),
                    Err(error) => self.withdraw(&error.to_string()),
                }
            }
            ReplicaEffect::Append(records) => self.append(records).await,
            ReplicaEffect::Send { to, message } => self.send(to, LinkFrame::Account(message)),
            ReplicaEffect::SendPage {
                to,
                head,
                bytes_max,
            } => self.send_page(to, head, bytes_max),
            ReplicaEffect::FetchSnapshot { from } => {
                if self.is_diverged_suffix_saved() {
                    self.fetch_snapshot(from);
                }
            }
            ReplicaEffect::RepairLog(repair) => self.keep_diverged_suffix(repair),
            ReplicaEffect::AnswerRead { read, outcome } => {
                let waiting = self.shared.lock().reads.remove(&read);
                if let Some(waiting) = waiting {
                    // The request may have been dropped.
                    let _ = waiting.send(outcome);
                }
            }
        }
    }

    fn save(&mut self, saved: HardState) {
        if let Err(error) = self.directory.save(saved) {
            self.withdraw(&error.to_string());
        }
    }

    /// The promise is not durable: no message that depends on it may leave, so the region goes
    /// down.
    fn withdraw(&mut self, cause: &str) {
        self.break_down(cause);
        self.shared.set_down(true);
    }

    /// Appends records: through the store while it writes, otherwise as a follower.
    async fn append(&mut self, records: Vec<StreamRecord>) {
        if self.is_writing {
            let mut core = self.shared.lock();
            for record in records.iter().filter(|record| !is_data(record)) {
                core.add_note(record);
            }
            drop(core);
            self.shared.notify_waiters();
            return self.engine.wake_log();
        }
        // Readers must see a new version of the account no earlier than the record that makes it,
        // so each such record ends a piece.
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

    fn payload(&self, record: &StreamRecord) -> LogRecord {
        let payload = match &record.body {
            RecordBody::Data(payload) => payload.clone(),
            body => {
                let head = self.shared.lock().replica.metadata_at(record.sequence);
                note_record(crate::codec::encode_note(&head, body))
            }
        };
        (Position(record.sequence.0), payload)
    }

    async fn follow(&mut self, records: Vec<LogRecord>) {
        let Some((last, _)) = records.last() else {
            return;
        };
        let last = Sequence(last.0);
        let limit = self.apply_limit(last);
        match self.engine.replicate(records, Position(limit.0)).await {
            Ok(reached) => {
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.mark_durable(now, Sequence(reached.appended.0));
                core.replica.applied(Sequence(reached.applied.0));
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    /// The last record that the state may apply once the records up to `last` are durable.
    fn apply_limit(&self, last: Sequence) -> Sequence {
        match self.shared.level {
            Consistency::Strong => self.shared.lock().replica.commit().min(last),
            _ => last,
        }
    }

    /// At level strong: applies the committed records. True if there were any.
    async fn apply_committed(&mut self) -> bool {
        if self.is_writing || self.broken.is_some() {
            return false;
        }
        let limit = self.shared.lock().replica.apply_limit();
        if limit.0 <= self.engine.applied().0 {
            return false;
        }
        let before = self.engine.applied();
        match self.engine.replicate(Vec::new(), Position(limit.0)).await {
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

    /// Makes the engine write or follow, according to the replica.
    async fn follow_role(&mut self) {
        let (is_write_region, has_abandoned_groups) = {
            let mut core = self.shared.lock();
            let has_abandoned_groups = std::mem::take(&mut core.has_abandoned_groups);
            (core.replica.is_write_region(), has_abandoned_groups)
        };
        if self.is_writing && (!is_write_region || has_abandoned_groups) {
            self.stop_writing().await;
        }
        // Queued records have sequences below those of the next writes, so they are appended before
        // the engine is promoted.
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

    /// Queued records have their sequences already; the writer appends them, or this task as a
    /// follower.
    async fn append_notes(&mut self) {
        if self.is_writing {
            if self.shared.lock().has_notes() {
                self.engine.wake_log();
            }
            return;
        }
        let notes = self.shared.lock().take_notes();
        let records = notes.into_iter();
        let records = records.map(|(at, text)| (Position(at.0), note_record(text)));
        self.follow(records.collect()).await;
    }

    /// Whether the state has applied the whole log and this region knows that it still is the write
    /// region.
    fn may_write(&mut self) -> bool {
        // Another region may have been promoted while this one was down, so the task first notices
        // the return.
        if self.was_down || self.shared.is_down() || self.broken.is_some() {
            return false;
        }
        let now = self.shared.now();
        let core = self.shared.lock();
        let last = core.replica.last();
        // The writer continues after the last record of the log, so the state must have applied
        // every record before.
        if last.0 != self.engine.applied().0 || self.engine.appended() != self.engine.applied() {
            return false;
        }
        let confirmed = core.replica.own_lag(now);
        match self.unconfirmed_since {
            Some(since)
                if !is_confirmed_after(since, confirmed) && since.elapsed() < RETURN_PATIENCE =>
            {
                false
            }
            _ => {
                self.unconfirmed_since = None;
                true
            }
        }
    }

    /// Whether the state may be outside the account's history: known to be, or not yet compared
    /// with the write region. After a time without messages the region continues, because all other
    /// regions may be down.
    fn may_have_diverged(&mut self) -> bool {
        let now = self.shared.now();
        let core = self.shared.lock();
        let has_diverged = core.replica.has_diverged();
        let Some(since) = self.unverified_since else {
            return has_diverged;
        };
        let is_sure = if core.replica.is_write_region() {
            is_confirmed_after(since, core.replica.own_lag(now))
        } else {
            core.replica.is_verified()
        };
        drop(core);
        if is_sure || since.elapsed() >= RETURN_PATIENCE {
            self.unverified_since = None;
        }
        self.unverified_since.is_some() || has_diverged
    }

    /// Saves the diverged suffix before the log loses it. If that fails, the region stays as it is:
    /// no snapshot may replace a state whose acknowledged writes are saved nowhere else.
    fn keep_diverged_suffix(&mut self, repair: LogRepair) {
        self.log_repair = None;
        let lines = match self.diverged_lines(&repair) {
            Ok(lines) => lines,
            Err(error) => {
                return self.break_down(&format!("false progress cannot be read: {error}"));
            }
        };
        let count = lines.len();
        let saved = self
            .diverged_suffix
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(lines);
        if let Err(error) = saved {
            return self.break_down(&format!("false progress cannot be saved: {error}"));
        }
        tracing::warn!(
            region = self.region.name(),
            from = repair.diverged_from.0,
            to = repair.last.0,
            changes = count,
            "this region had acknowledged what the history does not have; it is kept as false progress"
        );
        self.log_repair = Some(repair);
    }

    fn diverged_lines(
        &mut self,
        repair: &LogRepair,
    ) -> Result<Vec<String>, orrery_partition::Error> {
        // A record that never reached the log was acknowledged to nobody.
        let upto = repair.last.min(Sequence(self.engine.appended().0));
        let subscription = &mut self.subscription;
        let read = |after: Sequence| {
            let read = subscription.records_after(Position(after.0), READ_BYTES)?;
            let SubscriptionRead::Records(records) = read else {
                let begins_after = Sequence(subscription.begins_after().0);
                return Ok(SuffixRead::Trimmed { begins_after });
            };
            let last = records.last().map_or(after, |(last, _)| Sequence(last.0));
            let mut lines = Vec::new();
            for (position, payload) in &records {
                lines.extend(record_json_lines(position.0, payload)?);
            }
            Ok(SuffixRead::Records { lines, last })
        };
        let from = repair.diverged_from;
        suffix_lines(self.region.name(), StreamId::Account, from, upto, read)
    }

    /// Whether this region has no diverged suffix, or has saved the one that it has: only then may a
    /// snapshot replace the state.
    fn is_diverged_suffix_saved(&self) -> bool {
        let found = self.shared.lock().replica.log_repair();
        found.is_none() || found == self.log_repair
    }

    /// Publishes the state of the region for requests and operators.
    fn publish(&mut self) {
        let may_have_diverged = self.may_have_diverged();
        self.region.set_returning(may_have_diverged);
        let refusal = self.engine.refusal_of(REFUSAL_PATIENCE);
        if self.broken.is_none()
            && let Some(cause) = self.engine.problem().map(str::to_owned)
        {
            self.break_down(&cause);
        }
        let mut core = self.shared.lock();
        core.report_broken(self.broken.as_ref().or(refusal.as_ref()));
        self.region.publish(&core.replica);
        let trim = core.replica.trim_limit();
        drop(core);
        self.subscription.acknowledge(Position(trim.0));
    }
}

/// Whether a majority has confirmed the write region since then.
fn is_confirmed_after(since: Instant, confirmed: Option<(u64, u64)>) -> bool {
    // The age is rounded down to milliseconds, so one is added.
    confirmed.is_some_and(|(_, age)| Duration::from_millis(age + 1) < since.elapsed())
}

fn subscribe(engine: &Engine, directory: &RegionDirectory, bytes_max: Option<u64>) -> Subscription {
    engine.subscribe(Position::ZERO, kept_bytes_max(directory, bytes_max))
}

/// The configured limit, or the default.
fn kept_bytes_max(directory: &RegionDirectory, configured: Option<u64>) -> u64 {
    match (configured, directory.path()) {
        (Some(configured), _) => configured,
        (None, Some(_)) => KEPT_BYTES_MAX,
        (None, None) => KEPT_BYTES_MAX_IN_MEMORY,
    }
}

/// The directory of a region's engine.
pub(crate) fn engine_directory(directory: &RegionDirectory) -> Option<PathBuf> {
    directory.side(directory.metadata.side)
}
