//! Following the write region: asking for records, taking them, finding out that the own history is
//! another one, and being copied when the log does not reach back far enough.

use super::{Replica, Role};
use crate::puller::overlap;
use crate::{
    Beat, Effect, Epoch, Head, Level, Lineage, Message, Millis, Page, Pull, Puller, RegionId,
    Rejoin, Sequence,
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
            if self.settings.level != Level::Strong {
                // Below strong it can be lost with its write region.
                self.commit = self.commit.min(self.applied);
            }
        }
        !matches!(self.role, Role::Writer(_))
    }

    pub(super) fn learn_commit(&mut self, commit: Sequence) {
        self.commit = self.commit.max(commit);
    }

    pub(super) fn tick_follower(&mut self, now: Millis) {
        self.resend_hand_over(now);
        self.pull(now);
        self.consider_promotion(now);
    }

    /// Asks for what comes next, unless a question is under way.
    pub(super) fn pull(&mut self, now: Millis) {
        if matches!(self.role, Role::Writer(_)) || self.saved.promised > self.current {
            return;
        }
        let Some(source) = self.source(now) else {
            return;
        };
        if self.snapshot_asked.is_some() || self.mending.is_some() {
            let retry_ms = self.settings.retry_ms;
            let is_due = self
                .snapshot_asked
                .is_none_or(|asked| now.since(asked) >= retry_ms);
            if is_due && self.mending.is_none_or(|rejoin| rejoin.rewinds) {
                self.snapshot_asked = Some(now);
                self.effects.push(Effect::FetchSnapshot { from: source });
            }
            return;
        }
        // The log may be ahead of its durable part by one window.
        let ahead = self.ledger.last() > self.kept;
        if !ahead && self.puller.ask(now, self.settings.retry_ms) {
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
    }

    /// The write region, or when it is silent some other member, in turn.
    fn source(&mut self, now: Millis) -> Option<RegionId> {
        let writer = self
            .current
            .write_region()
            .filter(|region| *region != self.me)?;
        if now.since(self.heard) < self.settings.unresponsive_ms {
            return Some(writer);
        }
        let members = self.ledger.members();
        let others: Vec<RegionId> = members.full().filter(|region| *region != self.me).collect();
        self.relay = self.relay.wrapping_add(1);
        let index = self.relay.checked_rem(others.len());
        let relay = index.and_then(|index| others.get(index).copied());
        relay.or(Some(writer))
    }

    pub(super) fn on_page(&mut self, now: Millis, page: Page) {
        if !self.follows(now, page.head.epoch) {
            return;
        }
        let is_expected = self.puller.is_under_way(page.head.asked);
        self.puller.answered(page.head.asked);
        if self.mending.is_some() || self.snapshot_asked.is_some() {
            return;
        }
        self.learn_commit(page.head.commit);
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
        if page.head.after_epoch != self.ledger.epoch_at(page.head.after) {
            return;
        }
        let Some(had) = overlap(page.head.after, self.ledger.last()) else {
            return;
        };
        let records: Vec<_> = page.records.into_iter().skip(had).collect();
        if records.is_empty() {
            return;
        }
        for record in &records {
            self.ledger.append(record);
        }
        self.effects.push(Effect::Append(records));
    }

    pub(super) fn on_trimmed(
        &mut self,
        now: Millis,
        epoch: Epoch,
        lineage: &Lineage,
        last: Sequence,
    ) {
        if self.find_divergence(now, epoch, lineage, last) {
            self.snapshot_asked = Some(now.minus(self.settings.retry_ms));
            self.pull(now);
        }
    }

    /// Compares the own history with that of a region that is sure of its own. True if there is no
    /// difference but in length.
    pub(super) fn find_divergence(
        &mut self,
        now: Millis,
        epoch: Epoch,
        lineage: &Lineage,
        last: Sequence,
    ) -> bool {
        if !self.follows(now, epoch) || self.mending.is_some() || self.snapshot_asked.is_some() {
            return false;
        }
        self.puller.restart();
        let own_last = self.ledger.last();
        let diverged_from = self.ledger.lineage().common(own_last, lineage, last);
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
        self.pull(now);
    }

    /// Whether a snapshot may replace state and log: it must not lose what is part of the history.
    pub fn accepts(&self, head: &Head) -> bool {
        let Some(_) = self.snapshot_asked else {
            return false;
        };
        let needed = self
            .mending
            .map_or(self.ledger.last(), |rejoin| rejoin.diverged_from);
        // A region that lags may itself have another history; at strong no state has.
        let is_sure = self.settings.level == Level::Strong || head.lineage.newest() == self.current;
        is_sure && head.sequence >= needed
    }

    /// State and log were replaced by an accepted snapshot.
    pub fn installed(&mut self, now: Millis, head: Head) {
        self.snapshot_asked = None;
        if self.mending.take().is_some() {
            self.fresh = None;
        }
        self.freshness.clear();
        (self.kept, self.applied) = (head.sequence, head.sequence);
        if self.settings.level == Level::Strong {
            self.commit = self.commit.max(head.sequence);
        }
        self.ledger = crate::ledger::Ledger::new(head);
        self.reads.applied(self.applied, &mut self.effects);
        self.pull(now);
    }
}
