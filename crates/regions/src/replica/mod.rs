//! One region's part in the account stream: it writes the stream, or follows whoever does.
//!
//! ```text
//!            hears of a newer epoch            wins the votes it needs
//!   Writer -----------------------> Follower <----------> Candidate -----> Writer
//!             hands over, votes               offers itself, gives up
//! ```
//!
//! The rules that keep histories together, as in other logs with one leader at a time:
//!
//! - A region promises an epoch durably before it votes, and takes no record from an older one
//!   afterwards. So a write region that was replaced cannot gather a majority any more.
//! - A voter refuses whoever has less than it has. So a majority's records outlive a promotion.
//! - Only records of the own epoch are counted for a majority. Those before come along with them.
//! - Only durable records leave a region. So a restart never gives a sequence a second time.
//!
//! At level strong the state follows the commit index ([`Replica::apply_limit`]): nobody reads what
//! could be taken back. At weaker levels it follows the log.

mod candidate;
mod follow;
mod members;
mod reads;
mod serve;
mod writer;

use std::collections::VecDeque;

use crate::ledger::Ledger;
use crate::{
    Effect, Epoch, EpochStart, Head, Level, Lineage, Membership, Message, Millis, Place, Progress,
    Puller, ReadVerdict, Readable, RegionId, Rejoin, Saved, Sequence, SessionToken, Settings,
    StreamId, StreamRecord, TokenVersion, may_read,
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
    settings: Settings,
    saved: Saved,
    ledger: Ledger,
    kept: Sequence,
    applied: Sequence,
    commit: Sequence,
    /// What the write region said is committed.
    commit_heard: Sequence,
    /// Up to here the log is known to be that of the write region.
    verified: Sequence,
    /// Every member keeps the records up to here.
    held: Sequence,
    /// The epoch that is written or followed. The promise may be ahead of it.
    current: Epoch,
    /// The newest epoch that anybody is known to have promised.
    seen: Epoch,
    role: Role,
    /// When something of the write region was last heard.
    heard: Millis,
    /// When it last gave up to become the write region.
    tried: Millis,
    /// When it last looked at the time.
    ticked: Millis,
    puller: Puller,
    /// How many questions there were: when the write region does not answer, the others are asked in turn.
    turn: usize,
    /// Known to be complete up to these records as of these times, once they are applied.
    freshness: VecDeque<(Sequence, Millis)>,
    fresh: Option<Millis>,
    /// The last record of the write region that was heard of.
    known_last: Sequence,
    mending: Option<Rejoin>,
    /// Nothing can be kept here any more.
    is_unfit: bool,
    /// When a snapshot was last asked for, while one is needed.
    snapshot_asked: Option<Millis>,
    /// Where to send the promise when another region takes over, and since when.
    handed: Option<(RegionId, Epoch, Millis)>,
    reads: Reads,
    effects: Vec<Effect>,
}

/// What a region finds when it comes up. All of it is durable.
#[derive(Debug)]
pub struct Restart<L> {
    /// The incarnation must be one more than at any start before, and saved already.
    pub saved: Saved,
    /// Records up to here are not in the log any more.
    pub begins: Sequence,
    /// What was known at a record; see [`Replica::head_at`].
    pub base: Head,
    /// The records of the log after that one.
    pub log: L,
    /// The last record that is in the state.
    pub applied: Sequence,
}

#[derive(Debug)]
enum Role {
    Follower,
    Candidate(Candidate),
    Writer(Writer),
}

impl Replica {
    /// A region as it comes up, with what it kept.
    pub fn new<'a>(
        me: RegionId,
        settings: Settings,
        now: Millis,
        kept: Restart<impl IntoIterator<Item = &'a StreamRecord>>,
    ) -> Replica {
        let Restart {
            saved,
            begins,
            base,
            log,
            applied,
        } = kept;
        let mut ledger = Ledger::new(begins, base);
        for record in log {
            ledger.append(record);
        }
        let current = ledger.lineage().newest();
        let mut replica = Replica {
            me,
            settings,
            saved,
            kept: ledger.last(),
            applied,
            commit: Sequence::ZERO,
            commit_heard: Sequence::ZERO,
            verified: Sequence::ZERO,
            held: Sequence::ZERO,
            current,
            seen: saved.promised,
            role: Role::Follower,
            heard: now,
            tried: now,
            ticked: now,
            puller: Puller::default(),
            turn: 0,
            freshness: VecDeque::new(),
            fresh: None,
            known_last: ledger.last(),
            mending: None,
            is_unfit: false,
            snapshot_asked: None,
            handed: None,
            reads: Reads::new(saved.incarnation),
            effects: Vec::new(),
            ledger,
        };
        if settings.level == Level::Strong {
            // What is in the state was committed.
            (replica.commit, replica.commit_heard) = (applied, applied);
        }
        if current.write_region() == Some(me) && saved.promised <= current {
            replica.role = Role::Writer(Writer::new(&replica, now));
        }
        replica
    }

    /// The first write region of a new account: nothing was written and nobody needs to be asked.
    pub fn found(me: RegionId, settings: Settings, now: Millis, members: Membership) -> Replica {
        let kept = Restart {
            saved: Saved {
                promised: Epoch::NONE,
                incarnation: 1,
            },
            begins: Sequence::ZERO,
            base: Head::default(),
            log: [],
            applied: Sequence::ZERO,
        };
        let mut replica = Replica::new(me, settings, now, kept);
        let epoch = Epoch::NONE.next(me);
        replica.promise(epoch);
        let start = EpochStart {
            members: Some(members),
            is_lossy: false,
        };
        replica.begin_epoch(now, epoch, start);
        replica
    }

    /// Something came from another region.
    pub fn receive(&mut self, now: Millis, from: RegionId, message: Message) {
        match message {
            Message::Beat(beat) => self.on_beat(now, from, beat),
            Message::Echo { round, place } => self.on_echo(now, from, round, place),
            Message::Pull(pull) => self.on_pull(now, from, pull),
            Message::Page(page) => self.on_page(now, from, page),
            Message::Trimmed(refused) => self.on_trimmed(now, from, &refused),
            Message::Diverged(refused) => {
                self.find_divergence(now, from, &refused);
            }
            Message::Canvass(canvass) => self.on_canvass(now, from, canvass),
            Message::Vote {
                epoch,
                is_sounding,
                verdict,
            } => self.on_vote(now, from, epoch, is_sounding, verdict),
            Message::TakeOver { epoch, position } => {
                self.on_take_over(now, from, epoch, position);
            }
            Message::Confirm { read, place } => self.on_confirm(now, from, read, place),
            Message::Confirmed {
                read,
                epoch,
                commit,
            } => self.on_confirmed(epoch, read, commit),
            Message::NotConfirmed { read, why } => self.reads.refuse(read, why, &mut self.effects),
        }
    }

    /// Time has passed. To be called at least every [`Settings::beat_ms`].
    pub fn tick(&mut self, now: Millis) {
        if now.since(self.ticked) >= self.settings.unresponsive_ms / 2 {
            // It stood still itself: that it has heard of nobody says nothing of the others.
            self.heard = now;
        }
        self.ticked = now;
        match self.role {
            Role::Writer(_) => self.tick_writer(now),
            Role::Candidate(_) => self.tick_candidate(now),
            Role::Follower => self.tick_follower(now),
        }
    }

    /// What is to be done now, in this order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The log is durable up to here.
    pub fn kept(&mut self, now: Millis, upto: Sequence) {
        let before = self.kept;
        self.kept = self.kept.max(upto.min(self.ledger.last()));
        if matches!(self.role, Role::Writer(_)) {
            self.advance_commit(now);
        } else if !self.pull(now) && self.kept > before {
            self.tell_kept();
        }
    }

    /// Whether records can still be kept here. Who cannot is no candidate and does not vote, and where the others
    /// can choose another write region, it lets them. What it has kept it gives to whoever asks.
    pub fn set_fit(&mut self, is_fit: bool) {
        self.is_unfit = !is_fit;
        if self.is_unfit && (!self.is_write_region() || self.has_successors()) {
            self.role = Role::Follower;
        }
    }

    /// How far the state may follow the log now.
    pub fn apply_limit(&self) -> Sequence {
        match (&self.mending, self.settings.level) {
            (Some(_), _) => self.applied,
            (None, Level::Strong) => self.commit.min(self.kept),
            (None, _) => self.kept,
        }
    }

    /// The state has followed up to here, progress included, and readers see it.
    pub fn applied(&mut self, upto: Sequence) {
        self.applied = self.applied.max(upto);
        let is_complete = |(last, _): &&(Sequence, Millis)| *last <= self.applied;
        while let Some((_, time)) = self.freshness.front().filter(is_complete) {
            self.fresh = self.fresh.max(Some(*time));
            self.freshness.pop_front();
        }
        self.reads.applied(self.applied, &mut self.effects);
    }

    /// Up to where the log should be trimmed: what every member has. A driver that must trim more,
    /// because a region is away for too long, makes that region need a snapshot, and makes
    /// [`Rejoin`] incomplete if that region is promoted by force.
    pub fn trim_limit(&self) -> Sequence {
        self.held.min(self.applied)
    }

    /// Records up to here have left the log; the state behind them is durable.
    pub fn trimmed(&mut self, upto: Sequence) {
        self.ledger.trim(upto);
    }

    /// Whether this region may answer, at a level and with a token. After
    /// [`ReadVerdict::Confirm`] the read goes on with [`Replica::confirm`].
    pub fn may_read(&self, now: Millis, level: Level, token: Option<&SessionToken>) -> ReadVerdict {
        let region = Readable {
            lineage: self.ledger.lineage(),
            applied: &self.progress(),
            fresh: self.fresh(now),
            is_member: self.ledger.members().is_full(self.me),
            account: self.settings.level,
        };
        may_read(region, now, level, token)
    }

    /// Whether a session has seen a newer epoch than this region knows of: it must not write here,
    /// where what it writes would become false progress.
    pub fn is_outdated(&self, token: &SessionToken) -> bool {
        token.version.epoch() > self.current
    }

    /// The token for an answer given now.
    pub fn token(&self) -> SessionToken {
        SessionToken::new(&self.ledger.head_at(self.applied), &self.progress())
    }

    /// What belongs to the state as it is applied, to be kept with it.
    pub fn head(&self) -> Head {
        self.ledger.head_at(self.applied)
    }

    /// That of [`Replica::head`], without making one.
    pub fn token_version(&self) -> TokenVersion {
        self.ledger.token_version_at(self.applied)
    }

    /// What belongs to a record of the log, to be kept when the log is trimmed up to it.
    pub fn head_at(&self, sequence: Sequence) -> Head {
        self.ledger.head_at(sequence)
    }

    pub fn settings(&self) -> Settings {
        self.settings
    }

    pub fn region(&self) -> RegionId {
        self.me
    }

    pub fn members(&self) -> &Membership {
        self.ledger.members()
    }

    pub fn lineage(&self) -> &Lineage {
        self.ledger.lineage()
    }

    /// The last record of the log, durable or not.
    pub fn last(&self) -> Sequence {
        self.ledger.last()
    }

    /// The last record that the state has.
    pub fn applied_last(&self) -> Sequence {
        self.applied
    }

    pub fn commit(&self) -> Sequence {
        self.commit
    }

    pub fn epoch(&self) -> Epoch {
        self.current
    }

    /// Whether everything in the state is known to be part of the history of the write region, as far
    /// as that was heard since it began or since [`Replica::doubt`].
    pub fn is_verified(&self) -> bool {
        self.mending.is_none() && self.verified >= self.applied
    }

    /// Whether the state has what the history does not.
    pub fn has_parted(&self) -> bool {
        self.mending.is_some_and(|rejoin| rejoin.rewinds)
    }

    /// The region was away: others may have gone on without it.
    pub fn doubt(&mut self) {
        self.verified = Sequence::ZERO;
    }

    pub fn is_write_region(&self) -> bool {
        matches!(self.role, Role::Writer(_))
    }

    /// Whom clients should write to, as far as is known here.
    pub fn write_region(&self) -> Option<RegionId> {
        self.current.write_region()
    }

    fn progress(&self) -> Progress {
        [(StreamId::Account, self.applied)].into_iter().collect()
    }

    fn place(&self) -> Place {
        Place {
            promised: self.saved.promised,
            kept: self.kept,
            kept_epoch: self.ledger.epoch_at(self.kept),
            applied: self.applied,
        }
    }

    fn send(&mut self, to: RegionId, message: Message) {
        self.effects.push(Effect::Send { to, message });
    }

    fn promise(&mut self, epoch: Epoch) {
        if epoch > self.saved.promised {
            self.saved.promised = epoch;
            self.effects.push(Effect::Save(self.saved));
        }
    }
}
