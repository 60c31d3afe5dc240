//! Answering regions that ask for records. Any region answers that is sure of its history.

use super::{Replica, Role};
use crate::{Effect, Message, Millis, PageHead, Pull, Refused, RegionId};

impl Replica {
    pub(super) fn on_pull(&mut self, now: Millis, from: RegionId, pull: Pull) {
        self.seen = self.seen.max(pull.place.promised);
        if let Role::Writer(writer) = &mut self.role {
            writer.note(now, from, pull.place, &self.ledger, self.current);
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
        let (last, confirmed_age_ms) = match &self.role {
            Role::Writer(writer) => (
                Some(self.ledger.last()),
                writer.confirmed(now).map(|time| now.since(time)),
            ),
            Role::Follower | Role::Candidate(_) => (None, None),
        };
        let head = PageHead {
            epoch,
            after: pull.after,
            after_epoch: pull.after_epoch,
            commit: self.commit,
            held: self.held,
            last,
            confirmed_age_ms,
            asked: pull.asked,
        };
        self.effects.push(Effect::SendPage {
            to: from,
            head,
            bytes_max: pull.bytes_max,
        });
    }
}
