//! Answering pulls. Every region answers that knows its own log to be part of the write region's.

use super::{Replica, Role};
use crate::{
    Millis, Pull, PullRefusal, RecordPageHeader, RegionId, ReplicaEffect, ReplicaMessage, Sequence,
};

impl Replica {
    pub(super) fn on_pull(&mut self, now: Millis, from: RegionId, pull: Pull) {
        self.highest_promise = self.highest_promise.max(pull.position.promised);
        if self.is_write_region() {
            self.record_position(now, from, pull.position);
            self.advance_commit(now);
        }
        // A log without the first record of the epoch may have a diverged suffix that is not found
        // yet.
        if self.log_summary.epoch_at(self.durable) != self.current || self.log_repair.is_some() {
            return;
        }
        let epoch = self.current;
        let refused = || PullRefusal {
            epoch,
            lineage: self.log_summary.lineage().upto(self.durable),
            last: self.durable,
            asked: pull.asked,
        };
        if pull.after < self.log_summary.base() {
            let refused = refused();
            return self.send(from, ReplicaMessage::Trimmed(refused));
        }
        if self.log_summary.epoch_at(pull.after) != pull.after_epoch {
            let refused = refused();
            return self.send(from, ReplicaMessage::Diverged(refused));
        }
        let head = self.page_head(now, pull.after, pull.asked);
        self.effects.push(ReplicaEffect::SendPage {
            to: from,
            head,
            bytes_max: pull.bytes_max,
        });
    }

    /// The header of a page for a follower that received everything up to `after` and has not
    /// pulled again: new records need not wait for its next pull. The follower accepts the page
    /// only if it continues the follower's log. `asked` is the time of the last answered pull. None
    /// if this region does not write.
    pub fn unasked_header(
        &self,
        now: Millis,
        after: Sequence,
        asked: Millis,
    ) -> Option<RecordPageHeader> {
        let is_sure =
            self.is_write_region() && self.log_summary.epoch_at(self.durable) == self.current;
        let is_there = self.log_summary.base() <= after && after <= self.durable;
        (is_sure && is_there).then(|| self.page_head(now, after, asked))
    }

    fn page_head(&self, now: Millis, after: Sequence, asked: Millis) -> RecordPageHeader {
        let (last, confirmed_age_ms) = match &self.role {
            Role::Writer(_) => (
                Some(self.log_summary.last()),
                self.confirmed(now).map(|time| now.since(time)),
            ),
            Role::Follower | Role::Candidate(_) => (None, None),
        };
        RecordPageHeader {
            epoch: self.current,
            after,
            after_epoch: self.log_summary.epoch_at(after),
            commit: self.commit,
            stable_prefix: self.stable_prefix,
            last,
            confirmed_age_ms,
            asked,
        }
    }
}
