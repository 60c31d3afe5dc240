//! One region's part in the account stream: it writes the stream or follows the write region.
//!
//! ```text
//!            hears of a newer epoch            wins the votes it needs
//!   Writer -----------------------> Follower <----------> Candidate -----> Writer
//!             hands over, votes               offers itself, gives up
//! ```
//!
//! The rules that prevent diverging histories, as in other logs with one leader at a time:
//!
//! - A region promises an epoch durably before it votes, and takes no record from an older epoch
//!   afterwards. So a replaced write region cannot gather a majority any more.
//! - A voter refuses a candidate with a lower position. So a majority's records outlive a
//!   promotion.
//! - Only records of the current epoch count for a majority. Earlier records are committed with
//!   them.
//! - Only durable records leave a region. So a restart never reuses a sequence that another region
//!   has.
//!
//! At level strong the state follows the commit index ([`Replica::apply_limit`]): no reader sees a
//! record that a log repair could cut. At weaker levels the state follows the durable log.

mod candidate;
mod follow;
mod members;
mod reads;
mod serve;
mod writer;

use std::collections::VecDeque;

use crate::log_summary::LogSummary;
use crate::{
    Consistency, Epoch, EpochStart, HardState, Lineage, LogRepair, Membership, Millis, Puller,
    ReadContext, ReadVerdict, RegionId, ReplicaEffect, ReplicaMessage, ReplicaPosition,
    ReplicaSettings, Sequence, SessionToken, SnapshotMetadata, StreamId, StreamRecord,
    TokenVersion, VersionVector, may_read,
};
use candidate::Candidate;
pub use candidate::{Force, PromotionError};
use reads::Reads;
use writer::Writer;
pub use writer::{HandOverError, Lag};

/// The account stream in one region.
#[derive(Debug)]
pub struct Replica {
    me: RegionId,
    settings: ReplicaSettings,
    hard_state: HardState,
    log_summary: LogSummary,
    durable: Sequence,
    applied: Sequence,
    commit: Sequence,
    /// The commit index that the write region announced.
    announced_commit: Sequence,
    /// Up to this record, the log equals that of the write region.
    verified: Sequence,
    /// The prefix of the log that every member has made durable.
    stable_prefix: Sequence,
    /// The epoch that this region writes or follows. The promised epoch may be newer.
    current: Epoch,
    /// The newest epoch that any region has promised, as far as this region knows.
    highest_promise: Epoch,
    role: Role,
    /// When a message from the write region last arrived.
    writer_heard_at: Millis,
    /// When this region last gave up a candidacy.
    last_candidacy: Millis,
    /// When the driver last called [`Replica::tick`].
    ticked: Millis,
    puller: Puller,
    /// How many pulls and fetches were sent: without a write region they go to the members in turn.
    attempts: usize,
    /// The state is complete as of each time once it has applied the record beside that time.
    freshness: VecDeque<(Sequence, Millis)>,
    fresh: Option<Millis>,
    /// The last record of the write region, as far as this region knows.
    known_last: Sequence,
    log_repair: Option<LogRepair>,
    /// The disk accepts no more records.
    has_storage_failed: bool,
    /// When a snapshot was last requested, while one is needed.
    snapshot_requested_at: Option<Millis>,
    /// The region that this one handed over to, its epoch, and when the hand-over was last sent.
    handed_over: Option<(RegionId, Epoch, Millis)>,
    reads: Reads,
    effects: Vec<ReplicaEffect>,
}

/// What a region reads from its disk at a restart. All of it is durable.
#[derive(Debug)]
pub struct Restart<L> {
    /// The incarnation must be one above that of any earlier start, and durable already.
    pub hard_state: HardState,
    /// The last trimmed record of the log.
    pub begins: Sequence,
    /// The lineage and members at one record; see [`Replica::metadata_at`].
    pub base: SnapshotMetadata,
    /// The records of the log after `base`.
    pub log: L,
    /// The last record that the state has applied.
    pub applied: Sequence,
}

#[derive(Debug)]
enum Role {
    Follower,
    Candidate(Candidate),
    Writer(Writer),
}

impl Replica {
    /// A region after a restart, with the contents of its disk.
    pub fn new<'a>(
        me: RegionId,
        settings: ReplicaSettings,
        now: Millis,
        restart: Restart<impl IntoIterator<Item = &'a StreamRecord>>,
    ) -> Replica {
        let Restart {
            hard_state: saved,
            begins,
            base,
            log,
            applied,
        } = restart;
        let mut log_summary = LogSummary::new(begins, base);
        for record in log {
            log_summary.append(record);
        }
        let current = log_summary.lineage().newest();
        let mut replica = Replica {
            me,
            settings,
            hard_state: saved,
            durable: log_summary.last(),
            applied,
            commit: Sequence::ZERO,
            announced_commit: Sequence::ZERO,
            verified: Sequence::ZERO,
            stable_prefix: Sequence::ZERO,
            current,
            highest_promise: saved.promised,
            role: Role::Follower,
            writer_heard_at: now,
            last_candidacy: now,
            ticked: now,
            puller: Puller::default(),
            attempts: 0,
            freshness: VecDeque::new(),
            fresh: None,
            known_last: log_summary.last(),
            log_repair: None,
            has_storage_failed: false,
            snapshot_requested_at: None,
            handed_over: None,
            reads: Reads::new(saved.incarnation),
            effects: Vec::new(),
            log_summary,
        };
        if settings.level == Consistency::Strong {
            // At strong the state never passes the commit index, so every applied record is
            // committed.
            (replica.commit, replica.announced_commit) = (applied, applied);
        }
        // The region continues its own epoch only if it has promised no newer one: after such a
        // promise another region may write.
        if current.write_region() == Some(me) && saved.promised <= current {
            replica.role = Role::Writer(Writer::new(&replica, now));
        }
        replica
    }

    /// The first write region of a new account: there is no earlier history and no other voter.
    pub fn bootstrap(
        me: RegionId,
        settings: ReplicaSettings,
        now: Millis,
        members: Membership,
    ) -> Replica {
        let restart = Restart {
            hard_state: HardState {
                promised: Epoch::NONE,
                incarnation: 1,
            },
            begins: Sequence::ZERO,
            base: SnapshotMetadata::default(),
            log: [],
            applied: Sequence::ZERO,
        };
        let mut replica = Replica::new(me, settings, now, restart);
        let epoch = Epoch::NONE.next(me);
        replica.promise(epoch);
        let start = EpochStart {
            members: Some(members),
            is_lossy: false,
        };
        replica.begin_epoch(now, epoch, start);
        replica
    }

    /// Handles a message from another region.
    pub fn receive(&mut self, now: Millis, from: RegionId, message: ReplicaMessage) {
        match message {
            ReplicaMessage::Heartbeat(beat) => self.on_heartbeat(now, from, beat),
            ReplicaMessage::AppendResponse { round, position } => {
                self.on_append_response(now, from, round, position);
            }
            ReplicaMessage::Pull(pull) => self.on_pull(now, from, pull),
            ReplicaMessage::Page(page) => self.on_page(now, from, page),
            ReplicaMessage::Trimmed(refused) => self.on_trimmed(now, from, &refused),
            ReplicaMessage::Diverged(refused) => {
                self.find_divergence(now, from, &refused);
            }
            ReplicaMessage::RequestVote(request) => self.on_request_vote(now, from, request),
            ReplicaMessage::Vote {
                epoch,
                is_pre_vote,
                outcome,
            } => self.on_vote(now, from, epoch, is_pre_vote, outcome),
            ReplicaMessage::TakeOver { epoch, position } => {
                self.on_take_over(now, from, epoch, position);
            }
            ReplicaMessage::ReadIndex { read, position } => {
                self.on_read_index(now, from, read, position);
            }
            ReplicaMessage::ReadIndexResponse {
                read,
                epoch,
                commit,
            } => self.on_read_index_response(epoch, read, commit),
            ReplicaMessage::ReadIndexRefused { read, why } => {
                self.reads.refuse(read, why, &mut self.effects);
            }
        }
    }

    /// Handles the passing of time; the driver calls this at least every
    /// [`ReplicaSettings::heartbeat_ms`].
    pub fn tick(&mut self, now: Millis) {
        if now.since(self.ticked) >= self.settings.unresponsive_ms / 2 {
            // The process was paused: this region received no heartbeats because of its own pause,
            // so the silence is no evidence that the write region is down.
            self.writer_heard_at = now;
        }
        self.ticked = now;
        match self.role {
            Role::Writer(_) => self.tick_writer(now),
            Role::Candidate(_) => self.tick_candidate(now),
            Role::Follower => self.tick_follower(now),
        }
    }

    /// The effects that the driver carries out now, in this order.
    pub fn take_effects(&mut self) -> Vec<ReplicaEffect> {
        std::mem::take(&mut self.effects)
    }

    /// The log is durable up to this record.
    pub fn mark_durable(&mut self, now: Millis, upto: Sequence) {
        let before = self.durable;
        self.durable = self.durable.max(upto.min(self.log_summary.last()));
        if matches!(self.role, Role::Writer(_)) {
            self.advance_commit(now);
        // A pull carries the new durable position; only without a pull is a separate report needed.
        } else if !self.pull(now) && self.durable > before {
            self.report_durable();
        }
    }

    /// Sets whether the disk accepts records. A region without a working disk is no candidate and
    /// does not vote, and as write region it steps down if the others can elect another. It still
    /// serves its durable records to followers.
    pub fn set_storage_healthy(&mut self, is_fit: bool) {
        self.has_storage_failed = !is_fit;
        if self.has_storage_failed && (!self.is_write_region() || self.has_successors()) {
            self.role = Role::Follower;
        }
    }

    /// The last record that the state may apply now.
    pub fn apply_limit(&self) -> Sequence {
        match (&self.log_repair, self.settings.level) {
            // During log repair the state must not apply records of the diverged suffix.
            (Some(_), _) => self.applied,
            (None, Consistency::Strong) => self.commit.min(self.durable),
            (None, _) => self.durable,
        }
    }

    /// The state has applied the log up to this record, with its progress, and readers see it.
    pub fn applied(&mut self, upto: Sequence) {
        self.applied = self.applied.max(upto);
        let is_complete = |(last, _): &&(Sequence, Millis)| *last <= self.applied;
        while let Some((_, time)) = self.freshness.front().filter(is_complete) {
            self.fresh = self.fresh.max(Some(*time));
            self.freshness.pop_front();
        }
        self.reads.applied(self.applied, &mut self.effects);
    }

    /// The record up to which the driver trims the log, because every member has made that prefix
    /// durable. A driver may trim further when a region is away for too long. That region then
    /// needs a snapshot, and if it is promoted by force, the others find an incomplete diverged
    /// suffix ([`LogRepair::is_complete`]).
    pub fn trim_limit(&self) -> Sequence {
        self.stable_prefix.min(self.applied)
    }

    /// The log was trimmed up to this record; the state behind it is durable.
    pub fn trimmed(&mut self, upto: Sequence) {
        self.log_summary.trim(upto);
    }

    /// Whether this region may answer a read at a level and under a session token. After
    /// [`ReadVerdict::ReadIndex`] the driver continues with [`Replica::read_index`].
    pub fn may_read(
        &self,
        now: Millis,
        level: Consistency,
        token: Option<&SessionToken>,
    ) -> ReadVerdict {
        let region = ReadContext {
            lineage: self.log_summary.lineage(),
            applied: &self.progress(),
            fresh: self.fresh(now),
            is_member: self.log_summary.members().is_voter(self.me),
            account: self.settings.level,
        };
        may_read(region, now, level, token)
    }

    /// Whether a session has seen a newer epoch than this region's. The session must not write
    /// here: its writes would become false progress.
    pub fn is_outdated(&self, token: &SessionToken) -> bool {
        token.version.epoch() > self.current
    }

    /// The session token of an answer from the current state.
    pub fn token(&self) -> SessionToken {
        SessionToken::new(
            &self.log_summary.metadata_at(self.applied),
            &self.progress(),
        )
    }

    /// The lineage and members at the last applied record. The store saves them with the state.
    pub fn metadata(&self) -> SnapshotMetadata {
        self.log_summary.metadata_at(self.applied)
    }

    /// The token version of [`Replica::metadata`], without a copy of the members.
    pub fn token_version(&self) -> TokenVersion {
        self.log_summary.token_version_at(self.applied)
    }

    /// The lineage and members at a record of the log. The store saves them when it trims the log
    /// up to that record.
    pub fn metadata_at(&self, sequence: Sequence) -> SnapshotMetadata {
        self.log_summary.metadata_at(sequence)
    }

    pub fn settings(&self) -> ReplicaSettings {
        self.settings
    }

    pub fn region(&self) -> RegionId {
        self.me
    }

    pub fn members(&self) -> &Membership {
        self.log_summary.members()
    }

    pub fn lineage(&self) -> &Lineage {
        self.log_summary.lineage()
    }

    /// The last record of the log, durable or not.
    pub fn last(&self) -> Sequence {
        self.log_summary.last()
    }

    /// The last record that the state has applied.
    pub fn applied_last(&self) -> Sequence {
        self.applied
    }

    pub fn commit(&self) -> Sequence {
        self.commit
    }

    pub fn epoch(&self) -> Epoch {
        self.current
    }

    /// Whether every applied record is part of the write region's history, as far as this region
    /// has compared both since the epoch began or since [`Replica::mark_unverified`].
    pub fn is_verified(&self) -> bool {
        self.log_repair.is_none() && self.verified >= self.applied
    }

    /// The divergence of the log, while the region waits for its repair.
    pub fn log_repair(&self) -> Option<LogRepair> {
        self.log_repair
    }

    /// Whether the state has applied records that the history lacks.
    pub fn has_diverged(&self) -> bool {
        self.log_repair.is_some_and(|repair| repair.rewinds)
    }

    /// The region was disconnected: the others may have promoted another write region meanwhile.
    pub fn mark_unverified(&mut self) {
        self.verified = Sequence::ZERO;
    }

    pub fn is_write_region(&self) -> bool {
        matches!(self.role, Role::Writer(_))
    }

    /// The write region to which clients should send writes, as far as this region knows.
    pub fn write_region(&self) -> Option<RegionId> {
        self.current.write_region()
    }

    fn progress(&self) -> VersionVector {
        [(StreamId::Account, self.applied)].into_iter().collect()
    }

    fn own_position(&self) -> ReplicaPosition {
        ReplicaPosition {
            promised: self.hard_state.promised,
            durable: self.durable,
            durable_epoch: self.log_summary.epoch_at(self.durable),
            applied: self.applied,
        }
    }

    fn send(&mut self, to: RegionId, message: ReplicaMessage) {
        self.effects.push(ReplicaEffect::Send { to, message });
    }

    fn promise(&mut self, epoch: Epoch) {
        if epoch > self.hard_state.promised {
            self.hard_state.promised = epoch;
            self.effects
                .push(ReplicaEffect::SaveHardState(self.hard_state));
        }
    }
}
