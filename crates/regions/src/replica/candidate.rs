//! Becoming the write region: by votes when the write region is silent, because it hands over, or
//! by an operator's order.
//!
//! | cause | candidate | votes needed |
//! |---|---|---|
//! | silence | members in order of priority, from three members on | a majority, after a pre-vote |
//! | hand over | the member that the write region named | a majority, the write region among it |
//! | forced | the member that an operator named | its own; strong, bounded of 3 on: a majority |
//! | forced with loss | the member that an operator named | its own |
//!
//! A write region whose disk fails stops its heartbeats on purpose, so that the others promote
//! another one.
//!
//! Two regions cannot tell a dead write region from a cut link, so with two members only an
//! operator promotes. A voter refuses a candidate whose last position is below its own; among
//! candidates with equal positions, the one of higher priority asks first. An operator who takes a
//! region offline, or removes it while it cannot receive the removal, must not promote that same
//! region by force before it has been added again: no rule of this protocol can arbitrate between
//! two operators who each believe that the other side is gone. The pre-vote prevents a region that
//! is merely cut off from raising the epoch when its link recovers.

use std::collections::BTreeSet;

use super::{Replica, Role};
use crate::log_summary::Electorate;
use crate::{
    ElectionCause, Epoch, EpochStart, Membership, Millis, RegionId, ReplicaMessage, RequestVote,
    Sequence, VoteOutcome,
};

#[derive(Debug)]
pub(super) struct Candidate {
    epoch: Epoch,
    cause: ElectionCause,
    is_pre_vote: bool,
    granted: BTreeSet<RegionId>,
    needed: usize,
    since: Millis,
    start: EpochStart,
}

/// An operator's order to promote a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Force {
    /// Regions that are down and leave the account with this promotion.
    pub offline: Vec<RegionId>,
    /// Promotes even if the region may lack committed records.
    pub accepts_loss: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromotionError {
    #[error("this region is not a member in full standing")]
    NotAMember,
    #[error("this region writes already")]
    Writes,
    #[error("this region is putting its own history in order")]
    RepairingLog,
    #[error("this region cannot keep records")]
    StorageFailed,
}

impl Replica {
    /// Makes this region the write region on an operator's order. A write region can use it to take
    /// offline the regions that block its writes. The region asks its peers for votes;
    /// [`Replica::is_write_region`] turns true when enough have granted one.
    pub fn promote_by_force(&mut self, now: Millis, force: &Force) -> Result<(), PromotionError> {
        if !self.log_summary.members().is_voter(self.me) {
            return Err(PromotionError::NotAMember);
        }
        if self.is_write_region() && force.offline.is_empty() {
            return Err(PromotionError::Writes);
        }
        if self.log_repair.is_some() {
            return Err(PromotionError::RepairingLog);
        }
        if self.has_storage_failed {
            return Err(PromotionError::StorageFailed);
        }
        let members = self.log_summary.members();
        let gone = force.offline.iter().filter(|region| **region != self.me);
        let remaining = members.without_any(&gone.copied().collect::<Vec<_>>());
        let start = EpochStart {
            members: (remaining != *members).then_some(remaining),
            is_lossy: force.accepts_loss,
        };
        let needed = if self.settings.level.needs_quorum() && !force.accepts_loss {
            members.recovery_quorum()
        } else {
            1
        };
        self.campaign(now, ElectionCause::Forced, needed, start, None);
        Ok(())
    }

    /// Cancels a candidacy that an operator ordered and that got too few votes. The promise stays
    /// durable: the old write region continues in a newer epoch when it receives that promise.
    pub fn give_up(&mut self, now: Millis) {
        if matches!(self.role, Role::Candidate(_)) {
            self.role = Role::Follower;
            self.last_candidacy = now;
        }
    }

    /// Becomes a candidate when the write region has been silent for long enough.
    pub(super) fn consider_promotion(&mut self, now: Millis) {
        let members = self.log_summary.members();
        let Some(rank) = members.rank(self.me) else {
            return;
        };
        let delay = self.settings.rank_delay_ms * rank as u64;
        let since = self.writer_heard_at.max(self.last_candidacy);
        let is_silent = now.since(since) >= self.settings.silence_ms + delay;
        if self.has_successors() && is_silent && self.can_vote() {
            let needed = members.majority();
            self.campaign(
                now,
                ElectionCause::Silence,
                needed,
                EpochStart::default(),
                None,
            );
        }
    }

    /// Whether the members elect another write region by themselves.
    pub(super) fn has_successors(&self) -> bool {
        self.settings.promotes && self.log_summary.members().voters().count() >= 3
    }

    /// Whether this region's log needs no repair and its disk accepts records.
    fn can_vote(&self) -> bool {
        self.log_repair.is_none() && !self.has_storage_failed
    }

    /// Members have promised an epoch in which no region writes: this write region begins a newer
    /// one, which they can follow.
    pub(super) fn start_newer_epoch(&mut self, now: Millis) {
        let needed = self.log_summary.members().majority();
        self.campaign(
            now,
            ElectionCause::HandOver,
            needed,
            EpochStart::default(),
            None,
        );
    }

    pub(super) fn on_take_over(
        &mut self,
        now: Millis,
        from: RegionId,
        epoch: Epoch,
        position: (Epoch, Sequence),
    ) {
        let is_new = epoch > self.current && epoch >= self.hard_state.promised;
        let is_candidate = matches!(&self.role, Role::Candidate(c) if c.epoch >= epoch);
        let is_ours = epoch.write_region() == Some(self.me);
        let can_take_over = self.can_vote() && self.log_summary.members().is_voter(self.me);
        // A crash after the hand-over may have lost a suffix of this region's log; the region pulls
        // those records again before it takes over.
        let has_all =
            self.log_summary.position() >= position && self.durable == self.log_summary.last();
        if is_new && is_ours && !is_candidate && can_take_over && has_all {
            let needed = self.log_summary.members().majority();
            let start = EpochStart::default();
            self.campaign(
                now,
                ElectionCause::HandOver,
                needed,
                start,
                Some((from, epoch)),
            );
        }
    }

    fn campaign(
        &mut self,
        now: Millis,
        cause: ElectionCause,
        needed: usize,
        start: EpochStart,
        vote: Option<(RegionId, Epoch)>,
    ) {
        let is_pre_vote = cause == ElectionCause::Silence;
        let newest = self
            .hard_state
            .promised
            .max(self.current)
            .max(self.highest_promise);
        let next = newest.next(self.me);
        let epoch = vote.map_or(next, |(_, epoch)| epoch);
        // A pre-vote promises nothing, so a failed round leaves the epochs of the others alone.
        if !is_pre_vote {
            self.promise(epoch);
        }
        let mut granted: BTreeSet<RegionId> = [self.me].into();
        granted.extend(vote.map(|(from, _)| from));
        self.role = Role::Candidate(Candidate {
            epoch,
            cause,
            is_pre_vote,
            granted,
            needed,
            since: now,
            start,
        });
        self.request_votes();
        self.review_votes(now);
    }

    fn request_votes(&mut self) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        let request = RequestVote {
            epoch: candidate.epoch,
            position: self.log_summary.position(),
            cause: candidate.cause,
            is_pre_vote: candidate.is_pre_vote,
        };
        let before = self.electorates(candidate);
        let before = before.iter().flat_map(|before| before.members.voters());
        let electors: BTreeSet<RegionId> =
            self.log_summary.members().voters().chain(before).collect();
        for region in electors.difference(&candidate.granted.clone()).copied() {
            self.send(region, ReplicaMessage::RequestVote(request));
        }
    }

    pub(super) fn tick_candidate(&mut self, now: Millis) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        // A forced candidacy lasts until it succeeds or the operator cancels it; a candidacy after
        // silence ends here and begins again after another silence.
        let is_over = now.since(candidate.since) >= self.settings.silence_ms / 2;
        if is_over && candidate.cause != ElectionCause::Forced {
            // A failed round does not prove that the write region is alive, because a voter may
            // have promised another epoch. So only `last_candidacy` moves; `heard` stays.
            self.last_candidacy = now;
            self.role = Role::Follower;
        } else {
            self.request_votes();
        }
    }

    pub(super) fn on_request_vote(&mut self, now: Millis, from: RegionId, request: RequestVote) {
        let outcome = self.decide_vote(now, from, &request);
        let is_pre_vote = request.is_pre_vote;
        if outcome == VoteOutcome::Granted
            && !is_pre_vote
            && request.epoch > self.hard_state.promised
        {
            self.promise(request.epoch);
            self.role = Role::Follower;
            self.handed_over = None;
            self.writer_heard_at = now;
        }
        let epoch = request.epoch;
        self.send(
            from,
            ReplicaMessage::Vote {
                epoch,
                is_pre_vote,
                outcome,
            },
        );
    }

    fn decide_vote(&self, now: Millis, from: RegionId, request: &RequestVote) -> VoteOutcome {
        let is_heard =
            now.since(self.writer_heard_at) < self.settings.silence_ms || self.is_write_region();
        let is_again = request.epoch == self.hard_state.promised
            && request.epoch > self.current
            && request.epoch.write_region() == Some(from);
        // A former member may still vote for members that do not know that its removal is
        // committed. A voter with an empty log may have lost a promise together with its disk.
        let is_entitled = self.log_summary.last() > Sequence::ZERO && self.is_elector(from);
        if !is_entitled || !self.can_vote() {
            VoteOutcome::NotEntitled
        } else if is_again {
            VoteOutcome::Granted
        // The voter repeats a vote for the epoch that it promised, because the first answer may be
        // lost.
        } else if request.epoch <= self.hard_state.promised {
            VoteOutcome::Promised(self.hard_state.promised)
        } else if request.position < self.log_summary.position() {
            VoteOutcome::Behind
        } else if request.cause == ElectionCause::Silence && is_heard {
            VoteOutcome::WriterAlive
        } else {
            VoteOutcome::Granted
        }
    }

    /// Whether a region is a voter now, or was a voter before an uncommitted membership change.
    pub(super) fn is_elector(&self, region: RegionId) -> bool {
        let before = self
            .log_summary
            .uncommitted_electorates(self.commit, self.settings.level);
        self.log_summary.members().is_voter(region)
            || before.iter().any(|before| before.members.is_voter(region))
    }

    pub(super) fn on_vote(
        &mut self,
        now: Millis,
        from: RegionId,
        epoch: Epoch,
        is_pre_vote: bool,
        outcome: VoteOutcome,
    ) {
        let Role::Candidate(candidate) = &mut self.role else {
            return;
        };
        if candidate.epoch != epoch || candidate.is_pre_vote != is_pre_vote {
            return;
        }
        if let VoteOutcome::Promised(promised) = outcome {
            self.highest_promise = self.highest_promise.max(promised);
        }
        match outcome {
            VoteOutcome::Granted => {
                candidate.granted.insert(from);
                self.review_votes(now);
            }
            VoteOutcome::Promised(_) if candidate.cause == ElectionCause::Forced => {
                // The next attempt uses an epoch above the one that the voter has promised.
                let (needed, start) = (candidate.needed, candidate.start.clone());
                self.campaign(now, ElectionCause::Forced, needed, start, None);
            }
            VoteOutcome::Promised(_)
            | VoteOutcome::Behind
            | VoteOutcome::WriterAlive
            | VoteOutcome::NotEntitled => {}
        }
    }

    fn review_votes(&mut self, now: Millis) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        let votes = |members: &Membership| {
            let granted = members
                .voters()
                .filter(|region| candidate.granted.contains(region));
            granted.count()
        };
        let before = self.electorates(candidate);
        if votes(self.log_summary.members()) < candidate.needed
            || before
                .iter()
                .any(|before| votes(before.members) < before.needed)
        {
            return;
        }
        if !self.log_summary.members().is_voter(self.me) {
            // The region was removed while it waited for votes.
            self.role = Role::Follower;
            return;
        }
        let Role::Candidate(candidate) = &mut self.role else {
            return;
        };
        if candidate.is_pre_vote {
            candidate.is_pre_vote = false;
            // The votes take another round trip, which may be long between distant regions.
            candidate.since = now;
            candidate.granted = [self.me].into();
            let epoch = candidate.epoch;
            // The promise is durable before the request leaves: a crash must not let this region
            // vote for another candidate in the same epoch.
            self.promise(epoch);
            self.request_votes();
        } else {
            let (epoch, start) = (candidate.epoch, candidate.start.clone());
            self.begin_epoch(now, epoch, start);
        }
    }

    /// The electorates of changes in this candidate's log that may not be committed: each could
    /// have promoted a region without the change, so a quorum of each must vote for the candidate.
    /// With two members an operator may promote either alone; a forced candidacy that needs fewer
    /// votes than a majority must therefore ask all of them.
    fn electorates(&self, candidate: &Candidate) -> Vec<Electorate<'_>> {
        let level = self.settings.level;
        if !level.needs_quorum() || candidate.start.is_lossy {
            return Vec::new();
        }
        let mut before = self.log_summary.uncommitted_electorates(self.commit, level);
        if candidate.cause == ElectionCause::Forced {
            for electorate in &mut before {
                electorate.needed = electorate.needed.min(electorate.members.recovery_quorum());
            }
        } else {
            before.retain(|electorate| !electorate.always_overlaps);
        }
        before
    }

    /// Repeats the hand-over until the next region begins its epoch, because the message may be
    /// lost.
    pub(super) fn resend_hand_over(&mut self, now: Millis) {
        if let Some((to, epoch, sent)) = self.handed_over
            && now.since(sent) >= self.settings.retry_ms
        {
            self.handed_over = Some((to, epoch, now));
            let position = self.log_summary.position();
            self.send(to, ReplicaMessage::TakeOver { epoch, position });
        }
    }
}
