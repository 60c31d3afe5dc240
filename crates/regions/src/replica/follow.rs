//! Following the write region: pulling records, taking pages, finding a diverged suffix, and
//! fetching a snapshot when the write region's log is trimmed beyond this region's last record.

use super::{Replica, Role};
use crate::puller::overlap;
use crate::{
    Consistency, Epoch, Heartbeat, LogRepair, Millis, Pull, PullRefusal, Puller, RecordPage,
    RecordPageHeader, RegionId, ReplicaEffect, ReplicaMessage, Sequence, SnapshotMetadata,
    StreamRecord,
};

/// At most this many freshness times wait for their records; the oldest is dropped, because a newer
/// time proves more.
const FRESHNESS_MAX: usize = 64;

impl Replica {
    pub(super) fn on_heartbeat(&mut self, now: Millis, from: RegionId, beat: Heartbeat) {
        if beat.epoch < self.current {
            // A region that still writes in an older epoch receives the newer epoch.
            let beat = Heartbeat {
                epoch: self.current,
                round: 0,
                commit: Sequence::ZERO,
                stable_prefix: Sequence::ZERO,
            };
            return self.send(from, ReplicaMessage::Heartbeat(beat));
        }
        if !self.adopt_epoch(now, beat.epoch) {
            // The promise in the response tells the write region that this region follows another
            // epoch.
            let position = self.own_position();
            return self.send(from, ReplicaMessage::AppendResponse { round: 0, position });
        }
        if self.current.write_region() == Some(from) && beat.round > 0 {
            self.writer_heard_at = now;
            self.learn_commit(beat.commit);
            self.stable_prefix = beat.stable_prefix;
            // A region in log repair does not answer: its durable position may lie in the diverged
            // suffix.
            if self.log_repair.is_none() {
                let position = self.own_position();
                let round = beat.round;
                self.send(from, ReplicaMessage::AppendResponse { round, position });
            }
        }
        self.pull(now);
    }

    /// Follows an epoch in which another region writes. False if this region must not follow it:
    /// the epoch is older than the current one or the promised one, or this region is its writer.
    fn adopt_epoch(&mut self, now: Millis, epoch: Epoch) -> bool {
        if epoch < self.hard_state.promised || epoch < self.current {
            return false;
        }
        if epoch > self.current {
            // The promise is saved before anything of the new epoch is appended or answered.
            self.promise(epoch);
            self.current = epoch;
            self.role = Role::Follower;
            self.writer_heard_at = now;
            self.puller = Puller::default();
            self.handed_over = None;
            self.log_repair = None;
            self.snapshot_requested_at = None;
            self.freshness.clear();
            self.verified = Sequence::ZERO;
            if self.settings.level != Consistency::Strong {
                // Below strong a promotion may lose a record that the old write region counted as
                // committed.
                self.commit = self.commit.min(self.applied);
                self.announced_commit = self.commit;
            }
        }
        !matches!(self.role, Role::Writer(_))
    }

    /// A committed record of the write region is committed in this log only up to the verified
    /// record: beyond it this log may have another record at the same sequence.
    pub(super) fn learn_commit(&mut self, commit: Sequence) {
        self.announced_commit = self.announced_commit.max(commit);
        self.commit = self.commit.max(self.announced_commit.min(self.verified));
    }

    pub(super) fn tick_follower(&mut self, now: Millis) {
        self.resend_hand_over(now);
        self.pull(now);
        self.consider_promotion(now);
    }

    /// At strong, writes wait for the durable position of this region. When no pull carries it,
    /// this response does.
    pub(super) fn report_durable(&mut self) {
        let writer = self.current.write_region();
        let writer = writer.filter(|writer| *writer != self.me);
        if let Some(writer) = writer
            && self.settings.level == Consistency::Strong
            && self.log_repair.is_none()
        {
            let position = self.own_position();
            self.send(
                writer,
                ReplicaMessage::AppendResponse { round: 0, position },
            );
        }
    }

    /// Tells the write region which records the state has applied, when a write waits for that.
    pub fn report_applied(&mut self) {
        self.report_durable();
    }

    /// Sends a pull for the next records, unless one is in flight. True if a pull was sent.
    pub(super) fn pull(&mut self, now: Millis) -> bool {
        // After a promise to a newer epoch this region takes no records from the older one.
        if matches!(self.role, Role::Writer(_)) || self.hard_state.promised > self.current {
            return false;
        }
        let Some(source) = self.source(now) else {
            return false;
        };
        let retry_ms = self.settings.retry_ms;
        let is_due = |asked: &Millis| now.since(*asked) >= retry_ms;
        if let Some(repair) = self.log_repair {
            if repair.rewinds && self.snapshot_requested_at.as_ref().is_none_or(is_due) {
                self.attempts = self.attempts.wrapping_add(1);
                self.fetch_snapshot(now, source);
            }
            return false;
        }
        if self
            .snapshot_requested_at
            .is_some_and(|asked| !is_due(&asked))
        {
            return false;
        }
        // The snapshot may no longer be needed. The region pulls again, and the answer to that pull
        // says whether the answering region's log still reaches back to this region's last record.
        self.snapshot_requested_at = None;
        // The next pull waits until the last page is durable, so the log is ahead by at most one
        // page.
        let ahead = self.log_summary.last() > self.durable;
        let asks = !ahead && self.puller.ask(now, self.settings.retry_ms);
        if asks {
            self.attempts = self.attempts.wrapping_add(1);
            let after = self.log_summary.last();
            let pull = Pull {
                position: self.own_position(),
                after,
                after_epoch: self.log_summary.epoch_at(after),
                asked: now,
                bytes_max: self.settings.page_bytes_max,
            };
            self.send(source, ReplicaMessage::Pull(pull));
        }
        asks
    }

    /// The source of records: the write region, or the members in turn if the write region is
    /// silent or answers no pull.
    fn source(&self, now: Millis) -> Option<RegionId> {
        let writer = self
            .current
            .write_region()
            .filter(|region| *region != self.me)?;
        let is_heard = now.since(self.writer_heard_at) < self.settings.unresponsive_ms;
        if is_heard && !self.puller.is_source_unresponsive() {
            return Some(writer);
        }
        let members = self.log_summary.members();
        let others: Vec<RegionId> = members
            .voters()
            .filter(|region| *region != self.me)
            .collect();
        let index = self.attempts.checked_rem(others.len());
        let relay = index.and_then(|index| others.get(index).copied());
        relay.or(Some(writer))
    }

    pub(super) fn on_page(&mut self, now: Millis, from: RegionId, page: RecordPage) {
        self.answered_by(from);
        if !self.adopt_epoch(now, page.head.epoch) {
            return;
        }
        let is_expected = self.puller.is_in_flight(page.head.asked);
        self.puller.answered(page.head.asked);
        if self.log_repair.is_some() || self.snapshot_requested_at.is_some() {
            return;
        }
        if let Some(last) = page.head.last {
            self.writer_heard_at = now;
            self.known_last = last;
            self.stable_prefix = page.head.stable_prefix;
            if let Some(age) = page.head.confirmed_age_ms.filter(|_| is_expected) {
                self.freshness.push_back((last, page.head.asked.minus(age)));
                if self.freshness.len() > FRESHNESS_MAX {
                    self.freshness.pop_front();
                }
                self.applied(self.applied);
            }
        }
        let RecordPageHeader {
            after,
            after_epoch,
            commit,
            ..
        } = page.head;
        if after_epoch != self.log_summary.epoch_at(after) {
            return;
        }
        let Some(already_present) = overlap(after, self.log_summary.last()) else {
            return;
        };
        // The answering region has the same history up to the first record of the page. The records
        // of the page that this log has already may still differ from it, so their epochs are
        // compared.
        let is_same =
            |record: &StreamRecord| self.log_summary.epoch_at(record.sequence) == record.epoch;
        if !page.records.iter().take(already_present).all(is_same) {
            return;
        }
        let end = page.records.last().map_or(after, |record| record.sequence);
        // A record is verified before it is durable. The commit index that follows from it waits
        // for the durable log in [`Replica::apply_limit`].
        self.verified = self.verified.max(end);
        let records: Vec<_> = page.records.into_iter().skip(already_present).collect();
        for record in &records {
            self.log_summary.append(record);
        }
        let commit_before = self.commit;
        self.learn_commit(commit);
        if !records.is_empty() {
            self.effects.push(ReplicaEffect::Append(records));
        } else if self.commit > commit_before {
            // The page carried a new commit index but no records, so another pull is due.
            self.pull(now);
        }
    }

    /// Counts an answer of any kind from the write region, so that it stays the source of pulls.
    fn answered_by(&mut self, from: RegionId) {
        if self.current.write_region() == Some(from) {
            self.puller.reset_unanswered();
        }
    }

    pub(super) fn on_trimmed(&mut self, now: Millis, from: RegionId, refused: &PullRefusal) {
        if self.find_divergence(now, from, refused) {
            self.fetch_snapshot(now, from);
        }
    }

    fn fetch_snapshot(&mut self, now: Millis, from: RegionId) {
        self.snapshot_requested_at = Some(now);
        self.effects.push(ReplicaEffect::FetchSnapshot { from });
    }

    /// Compares this region's history with that of the answering region, which is sure of its own.
    /// True if this region's history is a prefix of the other. Only the answer to the pull in
    /// flight counts: by an older answer, a region that has caught up since would look behind.
    pub(super) fn find_divergence(
        &mut self,
        now: Millis,
        from: RegionId,
        refused: &PullRefusal,
    ) -> bool {
        self.answered_by(from);
        let is_asked = self.puller.is_in_flight(refused.asked);
        if !self.adopt_epoch(now, refused.epoch) || !is_asked || self.log_repair.is_some() {
            return false;
        }
        self.puller.restart();
        let (own_last, last) = (self.log_summary.last(), refused.last);
        let own = self.log_summary.lineage();
        let diverged_from = own.common(own_last, &refused.lineage, last);
        // The answering region may lag: its history then ends before this region's, without a
        // divergence.
        if diverged_from == own_last || diverged_from == last {
            return diverged_from == own_last;
        }
        let repair = LogRepair {
            diverged_from,
            last: own_last,
            rewinds: self.applied > diverged_from,
            is_complete: diverged_from >= self.log_summary.base(),
        };
        // A region with a diverged suffix must not win an election, so a candidacy ends here.
        self.role = Role::Follower;
        self.log_repair = Some(repair);
        self.effects.push(ReplicaEffect::RepairLog(repair));
        self.pull(now);
        false
    }

    /// The driver cut the log as [`ReplicaEffect::RepairLog`] requested.
    pub fn cut(&mut self, now: Millis) {
        let Some(repair) = self.log_repair.take_if(|repair| !repair.rewinds) else {
            return;
        };
        self.log_summary.truncate(repair.diverged_from);
        self.durable = self.durable.min(repair.diverged_from);
        self.commit = self.commit.min(repair.diverged_from);
        self.announced_commit = self.commit;
        self.pull(now);
    }

    /// Whether a snapshot may replace state and log: no record of the history may be lost with
    /// them, and no diverged record that is not saved as false progress.
    pub fn accepts(&self, head: &SnapshotMetadata) -> bool {
        let last = self.log_summary.last();
        let common = self
            .log_summary
            .lineage()
            .common(last, &head.lineage, head.sequence);
        let needed = self.log_repair.map_or(last, |repair| repair.diverged_from);
        // A region that lags may have a diverged state itself; at strong a state has only committed
        // records.
        let is_sure =
            self.settings.level == Consistency::Strong || head.lineage.newest() == self.current;
        let is_following = !self.is_write_region() && self.hard_state.promised <= self.current;
        is_sure && is_following && common >= needed && head.sequence > self.applied.min(needed)
    }

    /// An accepted snapshot has replaced state and log.
    pub fn installed(&mut self, now: Millis, head: SnapshotMetadata) {
        self.snapshot_requested_at = None;
        if let Some(repair) = self.log_repair.take() {
            self.fresh = None;
            self.commit = self.commit.min(repair.diverged_from);
            self.announced_commit = self.commit;
        }
        self.freshness.clear();
        (self.durable, self.applied) = (head.sequence, head.sequence);
        // An accepted snapshot is part of the write region's history, so it verifies everything up
        // to its sequence.
        self.verified = head.sequence;
        if self.settings.level == Consistency::Strong {
            self.learn_commit(head.sequence);
        }
        self.log_summary = crate::log_summary::LogSummary::new(head.sequence, head);
        self.reads.applied(self.applied, &mut self.effects);
        self.pull(now);
    }
}
