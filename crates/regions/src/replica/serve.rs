//! Answering regions that ask for records. Any region answers that is sure of its history.

use super::{Replica, Role};
use crate::{Effect, Message, Millis, PageHead, Pull, Refused, RegionId, Sequence};

impl Replica {
    pub(super) fn on_pull(&mut self, now: Millis, from: RegionId, pull: Pull) {
        self.seen = self.seen.max(pull.place.promised);
        if self.is_write_region() {
            self.note(now, from, pull.place);
            self.advance_commit(now);
        }
        // Whoever lacks the first record of the epoch may have another history without knowing.
        if self.ledger.epoch_at(self.kept) != self.current || self.mending.is_some() {
            return;
        }
        let epoch = self.current;
        let refused = || Refused {
            epoch,
            lineage: self.ledger.lineage().upto(self.kept),
            last: self.kept,
            asked: pull.asked,
        };
        if pull.after < self.ledger.base() {
            let refused = refused();
            return self.send(from, Message::Trimmed(refused));
        }
        if self.ledger.epoch_at(pull.after) != pull.after_epoch {
            let refused = refused();
            return self.send(from, Message::Diverged(refused));
        }
        let head = self.page_head(now, pull.after, pull.asked);
        self.effects.push(Effect::SendPage {
            to: from,
            head,
            bytes_max: pull.bytes_max,
        });
    }

    /// The head of a page for a region that was sent everything up to a record and has not asked for more:
    /// records need not wait for its next question. It takes them only if they continue what it has. `asked`
    /// is that of the question that was answered last. None if this region does not write.
    pub fn continuation(&self, now: Millis, after: Sequence, asked: Millis) -> Option<PageHead> {
        let is_sure = self.is_write_region() && self.ledger.epoch_at(self.kept) == self.current;
        let is_there = self.ledger.base() <= after && after <= self.kept;
        (is_sure && is_there).then(|| self.page_head(now, after, asked))
    }

    fn page_head(&self, now: Millis, after: Sequence, asked: Millis) -> PageHead {
        let (last, confirmed_age_ms) = match &self.role {
            Role::Writer(_) => (
                Some(self.ledger.last()),
                self.confirmed(now).map(|time| now.since(time)),
            ),
            Role::Follower | Role::Candidate(_) => (None, None),
        };
        PageHead {
            epoch: self.current,
            after,
            after_epoch: self.ledger.epoch_at(after),
            commit: self.commit,
            held: self.held,
            last,
            confirmed_age_ms,
            asked,
        }
    }
}
