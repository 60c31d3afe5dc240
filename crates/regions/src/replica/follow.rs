//! Following the write region: asking for records, taking them, finding out that the own history is
//! another one, and being copied when the log does not reach back far enough.

use super::{Replica, Role};
use crate::puller::overlap;
use crate::{
    Beat, Effect, Epoch, Head, Level, Message, Millis, Page, PageHead, Pull, Puller, Refused,
    RegionId, Rejoin, Sequence, StreamRecord,
};

/// Times of completeness that wait for their records; older ones are worth less than newer ones.
const FRESHNESS_MAX: usize = 64;

impl Replica {
    pub(super) fn on_beat(&mut self, now: Millis, from: RegionId, beat: Beat) {
        if beat.epoch < self.current {
            // Whoever still writes in an old epoch learns of the new one.
            let beat = Beat {
                epoch: self.current,
                round: 0,
                commit: Sequence::ZERO,
                held: Sequence::ZERO,
            };
            return self.send(from, Message::Beat(beat));
        }
        if !self.follows(now, beat.epoch) {
            // The promise tells the write region why it is not followed.
            let place = self.place();
            return self.send(from, Message::Echo { round: 0, place });
        }
        if self.current.write_region() == Some(from) && beat.round > 0 {
            self.heard = now;
            self.learn_commit(beat.commit);
            self.held = beat.held;
            if self.mending.is_none() {
                let place = self.place();
                let round = beat.round;
                self.send(from, Message::Echo { round, place });
            }
        }
        self.pull(now);
    }

    /// Takes note of an epoch that somebody writes in or follows. False if it is not the one to
    /// follow: an older one, or one below the promise, or the own.
    fn follows(&mut self, now: Millis, epoch: Epoch) -> bool {
        if epoch < self.saved.promised || epoch < self.current {
            return false;
        }
        if epoch > self.current {
            self.promise(epoch);
            self.current = epoch;
            self.role = Role::Follower;
            self.heard = now;
            self.puller = Puller::default();
            self.handed = None;
            self.mending = None;
            self.snapshot_asked = None;
            self.freshness.clear();
            self.verified = Sequence::ZERO;
            if self.settings.level != Level::Strong {
                // Below strong it can be lost with its write region.
                self.commit = self.commit.min(self.applied);
                self.commit_heard = self.commit;
            }
        }
        !matches!(self.role, Role::Writer(_))
    }

    /// What is committed in the history of the write region is so here only where the own history
    /// is known to be the same.
    pub(super) fn learn_commit(&mut self, commit: Sequence) {
        self.commit_heard = self.commit_heard.max(commit);
        self.commit = self.commit.max(self.commit_heard.min(self.verified));
    }

    pub(super) fn tick_follower(&mut self, now: Millis) {
        self.resend_hand_over(now);
        self.pull(now);
        self.consider_promotion(now);
    }

    /// At strong, writes wait to hear that records are kept here; when no question says it, this does.
    pub(super) fn tell_kept(&mut self) {
        let writer = self.current.write_region();
        let writer = writer.filter(|writer| *writer != self.me);
        if let Some(writer) = writer
            && self.settings.level == Level::Strong
            && self.mending.is_none()
        {
            let place = self.place();
            self.send(writer, Message::Echo { round: 0, place });
        }
    }

    /// Asks for what comes next, unless a question is under way. True if it does.
    pub(super) fn pull(&mut self, now: Millis) -> bool {
        if matches!(self.role, Role::Writer(_)) || self.saved.promised > self.current {
            return false;
        }
        let Some(source) = self.source(now) else {
            return false;
        };
        let retry_ms = self.settings.retry_ms;
        let is_due = |asked: &Millis| now.since(*asked) >= retry_ms;
        if let Some(rejoin) = self.mending {
            if rejoin.rewinds && self.snapshot_asked.as_ref().is_none_or(is_due) {
                self.turn = self.turn.wrapping_add(1);
                self.fetch_snapshot(now, source);
            }
            return false;
        }
        if self.snapshot_asked.is_some_and(|asked| !is_due(&asked)) {
            return false;
        }
        // It may be needed no more: records are taken again, and whoever answers says if it is.
        self.snapshot_asked = None;
        // The log may be ahead of its durable part by one window.
        let ahead = self.ledger.last() > self.kept;
        let asks = !ahead && self.puller.ask(now, self.settings.retry_ms);
        if asks {
            self.turn = self.turn.wrapping_add(1);
            let after = self.ledger.last();
            let pull = Pull {
                place: self.place(),
                after,
                after_epoch: self.ledger.epoch_at(after),
                asked: now,
                bytes_max: self.settings.page_bytes_max,
            };
            self.send(source, Message::Pull(pull));
        }
        asks
    }

    /// The write region, or when it is silent or does not hear this region some member, in turn.
    fn source(&self, now: Millis) -> Option<RegionId> {
        let writer = self
            .current
            .write_region()
            .filter(|region| *region != self.me)?;
        let is_heard = now.since(self.heard) < self.settings.unresponsive_ms;
        if is_heard && !self.puller.is_in_vain() {
            return Some(writer);
        }
        let members = self.ledger.members();
        let others: Vec<RegionId> = members.full().filter(|region| *region != self.me).collect();
        let index = self.turn.checked_rem(others.len());
        let relay = index.and_then(|index| others.get(index).copied());
        relay.or(Some(writer))
    }

    pub(super) fn on_page(&mut self, now: Millis, from: RegionId, page: Page) {
        self.answered_by(from);
        if !self.follows(now, page.head.epoch) {
            return;
        }
        let is_expected = self.puller.is_under_way(page.head.asked);
        self.puller.answered(page.head.asked);
        if self.mending.is_some() || self.snapshot_asked.is_some() {
            return;
        }
        if let Some(last) = page.head.last {
            self.heard = now;
            self.known_last = last;
            self.held = page.head.held;
            if let Some(age) = page.head.confirmed_age_ms.filter(|_| is_expected) {
                self.freshness.push_back((last, page.head.asked.minus(age)));
                if self.freshness.len() > FRESHNESS_MAX {
                    self.freshness.pop_front();
                }
                self.applied(self.applied);
            }
        }
        let PageHead {
            after,
            after_epoch,
            commit,
            ..
        } = page.head;
        if after_epoch != self.ledger.epoch_at(after) {
            return;
        }
        let Some(had) = overlap(after, self.ledger.last()) else {
            return;
        };
        // Whoever answered has the same history up to where the page begins. What was had already
        // of the page may be another one.
        let is_same = |record: &StreamRecord| self.ledger.epoch_at(record.sequence) == record.epoch;
        if !page.records.iter().take(had).all(is_same) {
            return;
        }
        let end = page.records.last().map_or(after, |record| record.sequence);
        self.verified = self.verified.max(end);
        let records: Vec<_> = page.records.into_iter().skip(had).collect();
        for record in &records {
            self.ledger.append(record);
        }
        self.learn_commit(commit);
        if !records.is_empty() {
            self.effects.push(Effect::Append(records));
        }
    }

    /// A question was answered, in one way or another.
    fn answered_by(&mut self, from: RegionId) {
        if self.current.write_region() == Some(from) {
            self.puller.is_heard();
        }
    }

    pub(super) fn on_trimmed(&mut self, now: Millis, from: RegionId, refused: &Refused) {
        if self.find_divergence(now, from, refused) {
            self.fetch_snapshot(now, from);
        }
    }

    fn fetch_snapshot(&mut self, now: Millis, from: RegionId) {
        self.snapshot_asked = Some(now);
        self.effects.push(Effect::FetchSnapshot { from });
    }

    /// Compares the own history with that of a region that is sure of its own. True if there is no
    /// difference but in length. Only the answer to the question under way counts: by an older one
    /// a region would look behind that has caught up since.
    pub(super) fn find_divergence(
        &mut self,
        now: Millis,
        from: RegionId,
        refused: &Refused,
    ) -> bool {
        self.answered_by(from);
        let is_asked = self.puller.is_under_way(refused.asked);
        if !self.follows(now, refused.epoch) || !is_asked || self.mending.is_some() {
            return false;
        }
        self.puller.restart();
        let (own_last, last) = (self.ledger.last(), refused.last);
        let own = self.ledger.lineage();
        let diverged_from = own.common(own_last, &refused.lineage, last);
        // Whoever lags may answer from a history that ends before the own one.
        if diverged_from == own_last || diverged_from == last {
            return diverged_from == own_last;
        }
        let rejoin = Rejoin {
            diverged_from,
            last: own_last,
            rewinds: self.applied > diverged_from,
            is_complete: diverged_from >= self.ledger.base(),
        };
        // Whoever was sounding others out has nothing to offer.
        self.role = Role::Follower;
        self.mending = Some(rejoin);
        self.effects.push(Effect::Rejoin(rejoin));
        self.pull(now);
        false
    }

    /// The log was cut as [`Effect::Rejoin`] asked.
    pub fn cut(&mut self, now: Millis) {
        let Some(rejoin) = self.mending.take_if(|rejoin| !rejoin.rewinds) else {
            return;
        };
        self.ledger.truncate(rejoin.diverged_from);
        self.kept = self.kept.min(rejoin.diverged_from);
        self.commit = self.commit.min(rejoin.diverged_from);
        self.commit_heard = self.commit;
        self.pull(now);
    }

    /// Whether a snapshot may replace state and log: it must not lose what is part of the history,
    /// nor what is not and has not been kept aside.
    pub fn accepts(&self, head: &Head) -> bool {
        let last = self.ledger.last();
        let common = self
            .ledger
            .lineage()
            .common(last, &head.lineage, head.sequence);
        let needed = self.mending.map_or(last, |rejoin| rejoin.diverged_from);
        // A region that lags may itself have another history; at strong no state has.
        let is_sure = self.settings.level == Level::Strong || head.lineage.newest() == self.current;
        let is_following = !self.is_write_region() && self.saved.promised <= self.current;
        is_sure && is_following && common >= needed && head.sequence > self.applied.min(needed)
    }

    /// State and log were replaced by an accepted snapshot.
    pub fn installed(&mut self, now: Millis, head: Head) {
        self.snapshot_asked = None;
        if let Some(rejoin) = self.mending.take() {
            self.fresh = None;
            self.commit = self.commit.min(rejoin.diverged_from);
            self.commit_heard = self.commit;
        }
        self.freshness.clear();
        (self.kept, self.applied) = (head.sequence, head.sequence);
        self.verified = head.sequence;
        if self.settings.level == Level::Strong {
            self.learn_commit(head.sequence);
        }
        self.ledger = crate::ledger::Ledger::new(head.sequence, head);
        self.reads.applied(self.applied, &mut self.effects);
        self.pull(now);
    }
}
