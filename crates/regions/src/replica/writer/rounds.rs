//! Confirming the leadership.
//!
//! Heartbeats come in rounds. When a majority has answered a round, no other region had begun an
//! epoch when that round was sent; a strong read must see what was committed at that time.

use std::collections::BTreeSet;

use super::Writer;
use crate::replica::{Replica, Role};
use crate::{Heartbeat, Membership, Millis, RegionId, ReplicaMessage, ReplicaPosition};

/// At most this many strong reads wait for a round. While no majority answers, the oldest reads
/// have timed out at their clients.
pub(in crate::replica) const WAITING_READS_MAX: usize = 1 << 16;
/// At most this many unanswered rounds are stored. A region that answers a round counts for every
/// earlier round too.
const ROUNDS_MAX: usize = 1 << 10;

impl Writer {
    /// The newest round that `needed` of these members have answered.
    fn answered_by_quorum(&self, me: RegionId, members: &Membership, needed: usize) -> u64 {
        let echoed = |region: RegionId| match self.others.get(&region) {
            _ if region == me => self.round,
            Some(other) => other.answered_round,
            None => 0,
        };
        let mut echoed: Vec<u64> = members.voters().map(echoed).collect();
        echoed.sort_unstable_by(|left, right| right.cmp(left));
        match needed.checked_sub(1) {
            Some(index) => echoed.get(index).copied().unwrap_or(0),
            None => self.round,
        }
    }
}

impl Replica {
    /// The time at which a majority last confirmed that this is the write region.
    pub(in crate::replica) fn confirmed(&self, now: Millis) -> Option<Millis> {
        let Role::Writer(writer) = &self.role else {
            return None;
        };
        let are_enough = |(members, needed): &(&Membership, usize)| {
            usize::from(members.is_voter(self.me)) >= *needed
        };
        let is_alone = self.electorates_now().iter().all(are_enough);
        if is_alone {
            Some(now)
        } else {
            writer.confirmed
        }
    }

    /// Starts a round of heartbeats.
    pub(in crate::replica) fn send_heartbeats(&mut self, now: Millis) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        writer.round += 1;
        writer.heartbeat_sent = Some(now);
        writer.rounds.push_back((writer.round, now));
        while writer.rounds.len() > ROUNDS_MAX {
            writer.rounds.pop_front();
        }
        let beat = Heartbeat {
            epoch: self.current,
            round: writer.round,
            commit: self.commit,
            stable_prefix: self.stable_prefix,
        };
        let mut others: BTreeSet<RegionId> = self.log_summary.members().all().collect();
        for before in self
            .log_summary
            .uncommitted_electorates(self.commit, self.settings.level)
        {
            // A removal may need the removed regions' answers, so they still receive heartbeats.
            others.extend(before.members.voters());
        }
        others.remove(&self.me);
        for region in others {
            self.send(region, ReplicaMessage::Heartbeat(beat));
        }
        // A region alone is its own majority: its round is confirmed without any answer.
        self.review_rounds(now);
    }

    pub(in crate::replica) fn on_append_response(
        &mut self,
        now: Millis,
        from: RegionId,
        round: u64,
        position: ReplicaPosition,
    ) {
        self.record_position(now, from, position);
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        if position.promised == self.current
            && round <= writer.round
            && let Some(other) = writer.others.get_mut(&from)
        {
            other.answered_round = other.answered_round.max(round);
        }
        self.review_rounds(now);
        self.advance_commit(now);
    }

    /// The member sets of which `needed` regions must have promised no other epoch, for this region
    /// to know that no other region writes: the current members, and the members before each change
    /// that is not committed yet.
    fn electorates_now(&self) -> Vec<(&Membership, usize)> {
        let members = self.log_summary.members();
        let mut electorates = vec![(members, members.majority())];
        if self.settings.level.needs_quorum() {
            let before = self
                .log_summary
                .uncommitted_electorates(self.commit, self.settings.level);
            let before = before.iter().filter(|before| !before.always_overlaps);
            electorates.extend(before.map(|before| (before.members, before.needed)));
        }
        electorates
    }

    /// Answers the reads whose round a majority has answered.
    pub(super) fn review_rounds(&mut self, now: Millis) {
        let electorates = self.electorates_now();
        let Role::Writer(writer) = &self.role else {
            return;
        };
        let echoed = electorates
            .iter()
            .map(|(members, needed)| writer.answered_by_quorum(self.me, members, *needed));
        let echoed = echoed.min().unwrap_or(0);
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        while let Some((_, began)) = writer.rounds.front().filter(|(round, _)| *round <= echoed) {
            writer.confirmed = Some(*began);
            writer.rounds.pop_front();
        }
        // A confirmed leadership is not enough for reads. Until a record of this epoch is
        // committed, the commit index may lag behind writes that an earlier write region
        // acknowledged.
        if !writer.knows_commit(self.commit, &self.log_summary, self.current) {
            return;
        }
        let ready = |(_, _, round): &(RegionId, u64, u64)| *round <= echoed;
        let count = writer.waiting_reads.partition_point(ready);
        let answered: Vec<_> = writer.waiting_reads.drain(..count).collect();
        let is_waiting = !writer.waiting_reads.is_empty();
        let is_under_way = !writer.rounds.is_empty();
        for (region, read, _) in answered {
            self.answer_read_index(region, read);
        }
        // Reads that arrived during the last round share one new round.
        if is_waiting && !is_under_way {
            self.send_heartbeats(now);
        }
    }

    /// Whether this region and the sender of a position form a quorum, which proves that no other
    /// epoch had begun when the sender reported its position.
    pub(in crate::replica) fn is_majority_with(
        &self,
        from: RegionId,
        position: ReplicaPosition,
    ) -> bool {
        let Role::Writer(writer) = &self.role else {
            return false;
        };
        let are_enough = |(members, needed): &(&Membership, usize)| {
            let both = [self.me, from];
            both.iter().filter(|one| members.is_voter(**one)).count() >= *needed
        };
        position.promised == self.current
            && writer.knows_commit(self.commit, &self.log_summary, self.current)
            && self.electorates_now().iter().all(are_enough)
    }

    /// Queues a strong read until a majority answers a round that begins now or later.
    pub(in crate::replica) fn queue_strong_read(&mut self, now: Millis, from: RegionId, read: u64) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        writer
            .waiting_reads
            .push_back((from, read, writer.round + 1));
        while writer.waiting_reads.len() > WAITING_READS_MAX {
            writer.waiting_reads.pop_front();
        }
        if writer.rounds.is_empty() {
            self.send_heartbeats(now);
        }
    }
}
