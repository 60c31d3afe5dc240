//! Becoming the write region: by votes when it is silent, because it handed over, or because an
//! operator says so.
//!
//! | cause | who begins | votes needed |
//! |---|---|---|
//! | silence | members in order of priority, from three members on | a majority, sounded out first |
//! | hand over | whom the write region named | a majority; the write region's own comes along |
//! | forced | whom an operator named | strong, bounded: a majority, of two regions its own; else its own |
//! | forced with loss | whom an operator named | its own |
//!
//! A write region that can keep nothing any more falls silent on purpose.
//!
//! Two regions cannot tell a dead write region from a cut link, so with two only an operator
//! promotes. A voter refuses whoever has less than it has; among those with as much, the one of
//! higher priority asks first. An operator who takes a region offline, or removes it while it
//! cannot hear of it, must not promote that same region by force before it has been added again:
//! no rule of ours can tell two operators apart who each believe that the other side is gone.
//! Sounding out keeps a region that is merely cut off from raising the epoch when it comes back.

use std::collections::BTreeSet;

use super::{Replica, Role};
use crate::ledger::Electorate;
use crate::{
    Ballot, Canvass, Cause, Epoch, EpochStart, Membership, Message, Millis, RegionId, Sequence,
};

#[derive(Debug)]
pub(super) struct Candidate {
    epoch: Epoch,
    cause: Cause,
    is_sounding: bool,
    granted: BTreeSet<RegionId>,
    needed: usize,
    since: Millis,
    start: EpochStart,
}

/// How an operator promotes a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Force {
    /// Regions that are down and leave the account with this.
    pub offline: Vec<RegionId>,
    /// Promotes even if committed records may be missing.
    pub accepts_loss: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromotionError {
    #[error("this region is not a member in full standing")]
    NotAMember,
    #[error("this region writes already")]
    Writes,
    #[error("this region is putting its own history in order")]
    Mending,
    #[error("this region cannot keep records")]
    Unfit,
}

impl Replica {
    /// Makes this the write region on an operator's word. A write region can take others offline
    /// with it that it waits for. Regions that are reachable are asked for
    /// their votes; [`Replica::is_write_region`] tells when there were enough.
    pub fn force(&mut self, now: Millis, force: &Force) -> Result<(), PromotionError> {
        if !self.ledger.members().is_full(self.me) {
            return Err(PromotionError::NotAMember);
        }
        if self.is_write_region() && force.offline.is_empty() {
            return Err(PromotionError::Writes);
        }
        if self.mending.is_some() {
            return Err(PromotionError::Mending);
        }
        if self.is_unfit {
            return Err(PromotionError::Unfit);
        }
        let members = self.ledger.members();
        let gone = force.offline.iter().filter(|region| **region != self.me);
        let remaining = members.without_any(&gone.copied().collect::<Vec<_>>());
        let start = EpochStart {
            members: (remaining != *members).then_some(remaining),
            is_lossy: force.accepts_loss,
        };
        let needed = if self.settings.level.is_held() && !force.accepts_loss {
            members.witnesses()
        } else {
            1
        };
        self.campaign(now, Cause::Forced, needed, start, None);
        Ok(())
    }

    /// Takes an operator's word back that could not be carried out. The promise stays: the write
    /// region goes on in a newer epoch when it hears of it.
    pub fn give_up(&mut self, now: Millis) {
        if matches!(self.role, Role::Candidate(_)) {
            self.role = Role::Follower;
            self.tried = now;
        }
    }

    /// Offers itself when the write region has been silent for long enough.
    pub(super) fn consider_promotion(&mut self, now: Millis) {
        let members = self.ledger.members();
        let Some(rank) = members.rank(self.me) else {
            return;
        };
        let delay = self.settings.rank_delay_ms * rank as u64;
        let since = self.heard.max(self.tried);
        let is_silent = now.since(since) >= self.settings.silence_ms + delay;
        if self.has_successors() && is_silent && self.is_able() {
            let needed = members.majority();
            self.campaign(now, Cause::Silence, needed, EpochStart::default(), None);
        }
    }

    /// Whether members choose another write region by themselves.
    pub(super) fn has_successors(&self) -> bool {
        self.settings.promotes && self.ledger.members().full().count() >= 3
    }

    /// Whether what it has is in order, and more can be kept.
    fn is_able(&self) -> bool {
        self.mending.is_none() && !self.is_unfit
    }

    /// Members have promised an epoch in which nobody writes: a newer one brings them back.
    pub(super) fn renew(&mut self, now: Millis) {
        let needed = self.ledger.members().majority();
        self.campaign(now, Cause::HandOver, needed, EpochStart::default(), None);
    }

    pub(super) fn on_take_over(
        &mut self,
        now: Millis,
        from: RegionId,
        epoch: Epoch,
        position: (Epoch, Sequence),
    ) {
        let is_new = epoch > self.current && epoch >= self.saved.promised;
        let is_candidate = matches!(&self.role, Role::Candidate(c) if c.epoch >= epoch);
        let is_ours = epoch.write_region() == Some(self.me);
        let is_able = self.is_able() && self.ledger.members().is_full(self.me);
        // A crash may have taken what it had when it was chosen; it asks for that first.
        let has_all = self.ledger.position() >= position && self.kept == self.ledger.last();
        if is_new && is_ours && !is_candidate && is_able && has_all {
            let needed = self.ledger.members().majority();
            let start = EpochStart::default();
            self.campaign(now, Cause::HandOver, needed, start, Some((from, epoch)));
        }
    }

    fn campaign(
        &mut self,
        now: Millis,
        cause: Cause,
        needed: usize,
        start: EpochStart,
        vote: Option<(RegionId, Epoch)>,
    ) {
        let is_sounding = cause == Cause::Silence;
        let newest = self.saved.promised.max(self.current).max(self.seen);
        let next = newest.next(self.me);
        let epoch = vote.map_or(next, |(_, epoch)| epoch);
        if !is_sounding {
            self.promise(epoch);
        }
        let mut granted: BTreeSet<RegionId> = [self.me].into();
        granted.extend(vote.map(|(from, _)| from));
        self.role = Role::Candidate(Candidate {
            epoch,
            cause,
            is_sounding,
            granted,
            needed,
            since: now,
            start,
        });
        self.canvass();
        self.review_votes(now);
    }

    fn canvass(&mut self) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        let canvass = Canvass {
            epoch: candidate.epoch,
            position: self.ledger.position(),
            cause: candidate.cause,
            is_sounding: candidate.is_sounding,
        };
        let before = self.electorates(candidate);
        let before = before.iter().flat_map(|before| before.members.full());
        let electors: BTreeSet<RegionId> = self.ledger.members().full().chain(before).collect();
        for region in electors.difference(&candidate.granted.clone()).copied() {
            self.send(region, Message::Canvass(canvass));
        }
    }

    pub(super) fn tick_candidate(&mut self, now: Millis) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        // An operator's word holds until it is done; others try again after another silence.
        let is_over = now.since(candidate.since) >= self.settings.silence_ms / 2;
        if is_over && candidate.cause != Cause::Forced {
            // That it failed does not mean that the write region is there: others have its vote.
            self.tried = now;
            self.role = Role::Follower;
        } else {
            self.canvass();
        }
    }

    pub(super) fn on_canvass(&mut self, now: Millis, from: RegionId, canvass: Canvass) {
        let verdict = self.ballot(now, from, &canvass);
        let is_sounding = canvass.is_sounding;
        if verdict == Ballot::Granted && !is_sounding && canvass.epoch > self.saved.promised {
            self.promise(canvass.epoch);
            self.role = Role::Follower;
            self.handed = None;
            self.heard = now;
        }
        let epoch = canvass.epoch;
        self.send(
            from,
            Message::Vote {
                epoch,
                is_sounding,
                verdict,
            },
        );
    }

    fn ballot(&self, now: Millis, from: RegionId, canvass: &Canvass) -> Ballot {
        let is_heard = now.since(self.heard) < self.settings.silence_ms || self.is_write_region();
        let is_again = canvass.epoch == self.saved.promised
            && canvass.epoch > self.current
            && canvass.epoch.write_region() == Some(from);
        // Whoever has left may be needed by those who do not know that this is settled. Who has heard of nothing may
        // have forgotten a promise.
        let is_entitled = self.ledger.last() > Sequence::ZERO && self.is_elector(from);
        if !is_entitled || !self.is_able() {
            Ballot::NotEntitled
        } else if is_again {
            Ballot::Granted
        } else if canvass.epoch <= self.saved.promised {
            Ballot::Promised(self.saved.promised)
        } else if canvass.position < self.ledger.position() {
            Ballot::Behind
        } else if canvass.cause == Cause::Silence && is_heard {
            Ballot::WriterAlive
        } else {
            Ballot::Granted
        }
    }

    /// Whether a region is a member, or was one before a change that may never be committed.
    pub(super) fn is_elector(&self, region: RegionId) -> bool {
        let before = self.ledger.unsettled(self.commit, self.settings.level);
        self.ledger.members().is_full(region)
            || before.iter().any(|before| before.members.is_full(region))
    }

    pub(super) fn on_vote(
        &mut self,
        now: Millis,
        from: RegionId,
        epoch: Epoch,
        is_sounding: bool,
        verdict: Ballot,
    ) {
        let Role::Candidate(candidate) = &mut self.role else {
            return;
        };
        if candidate.epoch != epoch || candidate.is_sounding != is_sounding {
            return;
        }
        if let Ballot::Promised(promised) = verdict {
            self.seen = self.seen.max(promised);
        }
        match verdict {
            Ballot::Granted => {
                candidate.granted.insert(from);
                self.review_votes(now);
            }
            Ballot::Promised(_) if candidate.cause == Cause::Forced => {
                let (needed, start) = (candidate.needed, candidate.start.clone());
                self.campaign(now, Cause::Forced, needed, start, None);
            }
            Ballot::Promised(_) | Ballot::Behind | Ballot::WriterAlive | Ballot::NotEntitled => {}
        }
    }

    fn review_votes(&mut self, now: Millis) {
        let Role::Candidate(candidate) = &self.role else {
            return;
        };
        let votes = |members: &Membership| {
            let granted = members
                .full()
                .filter(|region| candidate.granted.contains(region));
            granted.count()
        };
        let before = self.electorates(candidate);
        if votes(self.ledger.members()) < candidate.needed
            || before
                .iter()
                .any(|before| votes(before.members) < before.needed)
        {
            return;
        }
        if !self.ledger.members().is_full(self.me) {
            // It has heard meanwhile that it is none any more.
            self.role = Role::Follower;
            return;
        }
        let Role::Candidate(candidate) = &mut self.role else {
            return;
        };
        if candidate.is_sounding {
            candidate.is_sounding = false;
            // Far away regions need as long again.
            candidate.since = now;
            candidate.granted = [self.me].into();
            let epoch = candidate.epoch;
            self.promise(epoch);
            self.canvass();
        } else {
            let (epoch, start) = (candidate.epoch, candidate.start.clone());
            self.begin_epoch(now, epoch, start);
        }
    }

    /// Who could have gone on without the changes that this candidate knows of and that may not have been
    /// committed: as many of each must vote for it. Of two, either is enough for an operator; whoever asks for
    /// fewer votes than a majority must ask all of them.
    fn electorates(&self, candidate: &Candidate) -> Vec<Electorate<'_>> {
        let level = self.settings.level;
        if !level.is_held() || candidate.start.is_lossy {
            return Vec::new();
        }
        let mut before = self.ledger.unsettled(self.commit, level);
        if candidate.cause == Cause::Forced {
            for electorate in &mut before {
                electorate.needed = electorate.needed.min(electorate.members.witnesses());
            }
        } else {
            before.retain(|electorate| !electorate.is_met);
        }
        before
    }

    /// The region that takes over may not have heard it.
    pub(super) fn resend_hand_over(&mut self, now: Millis) {
        if let Some((to, epoch, sent)) = self.handed
            && now.since(sent) >= self.settings.retry_ms
        {
            self.handed = Some((to, epoch, now));
            let position = self.ledger.position();
            self.send(to, Message::TakeOver { epoch, position });
        }
    }
}
