//! Being the write region: numbering records, and counting followers' positions. Rounds of
//! heartbeats confirm that it still is the write region (`rounds`).

pub(super) mod rounds;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::{Replica, Role};
use crate::log_summary::LogSummary;
use crate::write_gate::{acknowledge_limit, majority_durable, may_begin};
use crate::{
    Consistency, Epoch, EpochStart, FollowerState, Membership, Millis, RecordBody, RegionId,
    ReplicaEffect, ReplicaMessage, ReplicaPosition, ReplicaSettings, Sequence, StreamId,
    StreamRecord, VersionVector, WriteRefusal,
};

/// At most this many write times are stored for lags. Beyond it a lag is reported too small; the
/// staleness bound is not affected, because it stops writes long before.
const WRITTEN_MAX: usize = 1 << 20;
#[derive(Debug)]
pub(super) struct Writer {
    /// This region knows the commit index once this record is committed: no record after it could
    /// have been committed before this region began to write, or restarted as the write region.
    floor: Sequence,
    others: BTreeMap<RegionId, FollowerProgress>,
    round: u64,
    /// Rounds that no majority has answered yet, with the times at which they were sent.
    rounds: VecDeque<(u64, Millis)>,
    confirmed: Option<Millis>,
    heartbeat_sent: Option<Millis>,
    /// Strong reads, each with the round that a majority must answer first.
    waiting_reads: VecDeque<(RegionId, u64, u64)>,
    hand_over: Option<RegionId>,
    /// Since when members have promised a newer epoch in which no region writes.
    newer_promise_since: Option<Millis>,
    written: VecDeque<WriteTime>,
    bytes: u64,
}

#[derive(Debug)]
struct FollowerProgress {
    durable: Option<Sequence>,
    applied: Option<Sequence>,
    heard_at: Millis,
    answered_round: u64,
    in_read_quorum: bool,
    is_voter: bool,
}

#[derive(Debug, Clone, Copy)]
struct WriteTime {
    sequence: Sequence,
    at: Millis,
    /// Bytes of the stream up to and with this record, since this region became the write region.
    bytes: u64,
}

/// How far a region is behind the write region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    pub records: u64,
    pub bytes: u64,
    pub millis: u64,
}

/// Why a hand-over is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandOverError {
    #[error("this is not the write region")]
    NotTheWriteRegion,
    #[error("region {0} is not a member in full standing")]
    NotAMember(RegionId),
}

impl Writer {
    pub(super) fn new(replica: &Replica, now: Millis) -> Writer {
        // Rounds begin above those of every earlier incarnation, so a late answer to a round of an
        // earlier incarnation confirms none of this one.
        let round = replica.hard_state.incarnation << 32;
        let mut writer = Writer {
            floor: replica.log_summary.last(),
            others: BTreeMap::new(),
            round,
            rounds: VecDeque::new(),
            confirmed: None,
            heartbeat_sent: None,
            waiting_reads: VecDeque::new(),
            hand_over: None,
            newer_promise_since: None,
            written: VecDeque::new(),
            bytes: 0,
        };
        writer.set_members(now, replica.me, replica.log_summary.members());
        writer
    }

    /// Removed regions stay in the table for as long as they may answer reads.
    pub(super) fn set_members(&mut self, now: Millis, me: RegionId, members: &Membership) {
        for (region, other) in &mut self.others {
            other.is_voter = members.is_voter(*region);
            other.in_read_quorum &= other.is_voter;
        }
        let known = members.all().chain(members.former.iter().copied());
        for region in known.filter(|region| *region != me) {
            let is_voter = members.is_voter(region);
            self.others.entry(region).or_insert(FollowerProgress {
                durable: None,
                applied: None,
                heard_at: now,
                answered_round: 0,
                in_read_quorum: is_voter,
                is_voter,
            });
        }
    }

    /// Records the position of a follower. Only a position within this epoch's history counts.
    pub(super) fn record_position(
        &mut self,
        now: Millis,
        from: RegionId,
        position: ReplicaPosition,
        log_summary: &LogSummary,
        epoch: Epoch,
    ) -> bool {
        if position.promised > epoch {
            return false;
        }
        let Some(other) = self.others.get_mut(&from) else {
            return false;
        };
        other.heard_at = now;
        if position.durable > log_summary.last()
            || log_summary.epoch_at(position.durable) != position.durable_epoch
        {
            return false;
        }
        other.durable = other.durable.max(Some(position.durable));
        other.applied = other
            .applied
            .max(Some(position.applied.min(position.durable)));
        true
    }

    /// Whether the commit index covers every write that any region ever acknowledged.
    fn knows_commit(&self, commit: Sequence, log_summary: &LogSummary, current: Epoch) -> bool {
        log_summary.epoch_at(commit) == current && commit >= self.floor
    }

    fn follower_states(&self, now: Millis, level: Consistency) -> Vec<FollowerState> {
        let counts = |other: &&FollowerProgress| match level {
            Consistency::Bounded(bound) => {
                other.is_voter || now.since(other.heard_at) < bound.millis
            }
            _ => other.is_voter,
        };
        let follows = |other: &FollowerProgress| FollowerState {
            durable: other.durable,
            applied: other.applied,
            oldest_missing: self.oldest_after(other.applied.unwrap_or_default()),
            in_read_quorum: other.in_read_quorum,
            is_voter: other.is_voter,
        };
        self.others.values().filter(counts).map(follows).collect()
    }

    fn oldest_after(&self, sequence: Sequence) -> Option<Millis> {
        let index = self
            .written
            .partition_point(|written| written.sequence <= sequence);
        self.written.get(index).map(|written| written.at)
    }

    /// Drops write times that no follower's lag needs any more.
    fn forget_written(&mut self) {
        let slowest = self.others.values().filter_map(|other| other.applied).min();
        while let Some(first) = self.written.front()
            && (self.written.len() > WRITTEN_MAX || Some(first.sequence) <= slowest)
            && self.written.len() > 1
        {
            self.written.pop_front();
        }
    }

    /// Updates the read quorum, for which strong writes wait: a silent region leaves it if a
    /// majority remains, and returns when it has every committed record.
    fn review_read_quorum(&mut self, now: Millis, commit: Sequence, majority: usize, silent: u64) {
        let inside = self.others.values().filter(|other| other.in_read_quorum);
        let mut size = 1 + inside.count();
        for other in self.others.values_mut().filter(|other| other.is_voter) {
            let is_silent = now.since(other.heard_at) >= silent;
            if other.in_read_quorum && is_silent && size > majority {
                other.in_read_quorum = false;
                size -= 1;
            } else if !other.in_read_quorum && !is_silent && other.durable >= Some(commit) {
                other.in_read_quorum = true;
                size += 1;
            }
        }
    }
}

impl Replica {
    /// Gives a transaction its sequence in the stream. The driver appends the record to the log,
    /// and acknowledges the write when [`Replica::acknowledge_limit`] has reached it and the state
    /// has applied it.
    pub fn write(&mut self, now: Millis, data: Bytes) -> Result<StreamRecord, WriteRefusal> {
        self.may_write(now)?;
        Ok(self.originate(now, RecordBody::Data(data)))
    }

    /// [`Replica::write`] without the staleness bound: the account's own records must not wait for
    /// slow regions.
    pub fn write_unbounded(
        &mut self,
        now: Millis,
        data: Bytes,
    ) -> Result<StreamRecord, WriteRefusal> {
        match self.may_write(now) {
            Err(refusal @ (WriteRefusal::NotTheWriteRegion | WriteRefusal::HandingOver)) => {
                Err(refusal)
            }
            _ => Ok(self.originate(now, RecordBody::Data(data))),
        }
    }

    /// Whether a write could begin now.
    pub fn may_write(&self, now: Millis) -> Result<(), WriteRefusal> {
        self.may_write_many(now, 1)
    }

    /// Whether `count` writes could begin now, together.
    pub fn may_write_many(&self, now: Millis, count: u64) -> Result<(), WriteRefusal> {
        let Role::Writer(writer) = &self.role else {
            return Err(WriteRefusal::NotTheWriteRegion);
        };
        if writer.hand_over.is_some() {
            return Err(WriteRefusal::HandingOver);
        }
        let level @ Consistency::Bounded(_) = self.settings.level else {
            return Ok(());
        };
        let last = Sequence(self.log_summary.last().0 + count.saturating_sub(1));
        may_begin(level, now, last, &writer.follower_states(now, level))
    }

    /// The last record up to which writes of this epoch may be acknowledged; zero if this is not
    /// the write region, which then acknowledges nothing.
    pub fn acknowledge_limit(&self, now: Millis) -> Sequence {
        let Role::Writer(writer) = &self.role else {
            return Sequence::ZERO;
        };
        let level = self.settings.level;
        acknowledge_limit(
            level,
            self.durable,
            self.commit,
            &writer.follower_states(now, level),
        )
    }

    /// Stops writes and lets another region take over as soon as it has every record.
    pub fn hand_over(&mut self, now: Millis, to: RegionId) -> Result<(), HandOverError> {
        let Role::Writer(writer) = &mut self.role else {
            return Err(HandOverError::NotTheWriteRegion);
        };
        if !self.log_summary.members().is_voter(to) {
            return Err(HandOverError::NotAMember(to));
        }
        if to != self.me {
            writer.hand_over = Some(to);
            self.complete_hand_over(now);
        }
        Ok(())
    }

    /// Cancels a hand-over. False if the other region has received the hand-over already.
    pub fn cancel_hand_over(&mut self) -> bool {
        let Role::Writer(writer) = &mut self.role else {
            return false;
        };
        writer.hand_over = None;
        true
    }

    /// The lag of every other region, as the write region knows it.
    pub fn lags(&self, now: Millis) -> Vec<(RegionId, Lag)> {
        let Role::Writer(writer) = &self.role else {
            return Vec::new();
        };
        let lag = |(region, other): (&RegionId, &FollowerProgress)| {
            let applied = other.applied.unwrap_or_default();
            let index = writer
                .written
                .partition_point(|written| written.sequence <= applied);
            let before = index
                .checked_sub(1)
                .and_then(|index| writer.written.get(index));
            let missing = writer.written.get(index);
            let lag = Lag {
                records: self.log_summary.last().beyond(applied),
                bytes: missing.map_or(0, |_| writer.bytes - before.map_or(0, |row| row.bytes)),
                millis: missing.map_or(0, |row| now.since(row.at)),
            };
            (*region, lag)
        };
        writer.others.iter().map(lag).collect()
    }

    /// Whether every voter that sends heartbeat responses has applied a record. Also true when this
    /// is not the write region any more, because followers then report to another region and a
    /// caller would wait in vain.
    pub fn is_applied_everywhere(&self, now: Millis, sequence: Sequence) -> bool {
        let Role::Writer(writer) = &self.role else {
            return true;
        };
        let is_heard =
            |other: &&FollowerProgress| now.since(other.heard_at) < self.settings.unresponsive_ms;
        let mut heard_from = writer
            .others
            .values()
            .filter(|other| other.is_voter)
            .filter(is_heard);
        heard_from.all(|other| other.applied >= Some(sequence))
    }

    /// The lag of this region as records and milliseconds; none if it never was fresh.
    pub fn own_lag(&self, now: Millis) -> Option<(u64, u64)> {
        let records = self.known_last.beyond(self.applied);
        self.fresh(now).map(|fresh| (records, now.since(fresh)))
    }

    /// The time as of which the state is complete. A new write region counts itself as fresh only
    /// after its state has applied the first record of its epoch: with a disk that fails before
    /// that, it never counts.
    pub(super) fn fresh(&self, now: Millis) -> Option<Millis> {
        match &self.role {
            Role::Writer(_) if self.log_summary.epoch_at(self.applied) == self.current => {
                self.confirmed(now)
            }
            Role::Writer(_) | Role::Follower | Role::Candidate(_) => self.fresh,
        }
    }

    pub(super) fn begin_epoch(&mut self, now: Millis, epoch: Epoch, start: EpochStart) {
        self.current = epoch;
        // The floor of the new writer is the last record before its epoch, so the writer is created
        // before the first record is appended.
        self.commit = self.commit.min(self.log_summary.last());
        self.role = Role::Writer(Writer::new(self, now));
        let record = self.originate(now, RecordBody::EpochStart(start));
        self.effects.push(ReplicaEffect::Append(vec![record]));
        self.tick_writer(now);
    }

    pub(super) fn originate(&mut self, now: Millis, body: RecordBody) -> StreamRecord {
        let record = StreamRecord {
            stream: StreamId::Account,
            origin: self.me,
            epoch: self.current,
            sequence: self.log_summary.last().next(),
            deps: VersionVector::default(),
            body,
        };
        self.log_summary.append(&record);
        self.known_last = record.sequence;
        if let Role::Writer(writer) = &mut self.role {
            writer.bytes += record.bytes();
            writer.written.push_back(WriteTime {
                sequence: record.sequence,
                at: now,
                bytes: writer.bytes,
            });
            if record.members().is_some() {
                writer.set_members(now, self.me, self.log_summary.members());
            }
        }
        record
    }

    pub(super) fn tick_writer(&mut self, now: Millis) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        let ReplicaSettings {
            heartbeat_ms: beat_ms,
            silence_ms,
            unresponsive_ms,
            ..
        } = self.settings;
        let majority = self.log_summary.members().majority();
        writer.review_read_quorum(now, self.commit, majority, unresponsive_ms);
        if writer
            .newer_promise_since
            .is_some_and(|since| now.since(since) >= silence_ms)
        {
            return self.start_newer_epoch(now);
        }
        if writer
            .heartbeat_sent
            .is_none_or(|beaten| now.since(beaten) >= beat_ms)
        {
            self.send_heartbeats(now);
        }
        self.advance_commit(now);
        self.forget_former(now);
    }

    /// Drops removed regions from the member list once they cannot answer reads under the bound any
    /// more.
    fn forget_former(&mut self, now: Millis) {
        let (Role::Writer(writer), Consistency::Bounded(bound)) = (&self.role, self.settings.level)
        else {
            return;
        };
        let members = self.log_summary.members();
        let is_over = |region: &RegionId| {
            let other = writer.others.get(region);
            other.is_none_or(|other| now.since(other.heard_at) >= bound.millis)
        };
        if members.former.iter().any(is_over) && self.can_change_members() {
            let mut members = members.clone();
            members.former.retain(|region| !is_over(region));
            let record = self.originate(now, RecordBody::Members(members));
            self.effects.push(ReplicaEffect::Append(vec![record]));
        }
    }

    /// Records the position and the promise of a region.
    ///
    /// The promise of a region that is being removed counts while the removal may need its vote: if
    /// that region followed no write region, the removal would never be committed.
    pub(super) fn record_position(
        &mut self,
        now: Millis,
        from: RegionId,
        position: ReplicaPosition,
    ) {
        let counts = self.log_summary.members().get(from).is_some() || self.is_elector(from);
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        self.highest_promise = self.highest_promise.max(position.promised);
        if position.promised > self.current && counts {
            writer.newer_promise_since.get_or_insert(now);
        }
        writer.record_position(now, from, position, &self.log_summary, self.current);
    }

    pub(super) fn in_read_quorum(&self, region: RegionId) -> bool {
        match &self.role {
            Role::Writer(writer) => {
                region == self.me || writer.others.get(&region).is_some_and(|o| o.in_read_quorum)
            }
            Role::Follower | Role::Candidate(_) => false,
        }
    }

    pub(super) fn is_handing_over(&self) -> bool {
        matches!(&self.role, Role::Writer(writer) if writer.hand_over.is_some())
    }

    pub(super) fn durable_at(&self, region: RegionId) -> Option<Sequence> {
        match &self.role {
            Role::Writer(writer) => writer.others.get(&region).and_then(|other| other.durable),
            Role::Follower | Role::Candidate(_) => None,
        }
    }

    pub(super) fn advance_commit(&mut self, now: Millis) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        let members = self.log_summary.members();
        let follows = writer.follower_states(now, Consistency::Session);
        let durable = majority_durable(self.durable, &follows, members.majority());
        let durable_in = |region: RegionId| match writer.others.get(&region) {
            Some(other) => other.durable.unwrap_or_default(),
            None if region == self.me => self.durable,
            None => Sequence::ZERO,
        };
        let durable_in_quorum = |members: &Membership, needed: usize| {
            let mut durable: Vec<Sequence> = members.voters().map(durable_in).collect();
            durable.sort_unstable_by(|left, right| right.cmp(left));
            let index = needed.checked_sub(1);
            index.map(|index| durable.get(index).copied().unwrap_or_default())
        };
        // A record of an older epoch may still be cut although a quorum has it. So a change by such
        // a record waits for the first record of this epoch instead.
        let first = self.log_summary.lineage().first_of(self.current);
        let first = first.unwrap_or_default();
        let before = self
            .log_summary
            .uncommitted_electorates(self.commit, self.settings.level);
        let waits = before.iter().rev().find(|before| {
            let durable = durable_in_quorum(before.members, before.needed);
            durable.is_some_and(|durable| durable < before.record.max(first))
        });
        let durable = waits.map_or(durable, |before| {
            // Until the change is committed, only a majority of the old members commits the records
            // before it.
            let settled = durable_in_quorum(before.members, before.members.majority());
            let settled = settled.unwrap_or_default();
            settled.min(Sequence(before.record.0 - 1))
        });
        let commit = self.commit;
        // The majority must have a record of this epoch: counting replicas of an older epoch's
        // record does not prove that a later candidate has it (Raft, section 5.4.2).
        if self.log_summary.epoch_at(durable) == self.current {
            self.commit = self.commit.max(durable);
        }
        let slowest = follows
            .iter()
            .filter(|other| other.is_voter)
            .map(|other| other.durable);
        let slowest = slowest
            .min()
            .unwrap_or(Some(self.durable))
            .unwrap_or_default();
        self.stable_prefix = self.stable_prefix.max(slowest.min(self.durable));
        writer.forget_written();
        self.complete_hand_over(now);
        if self.commit > commit {
            self.review_rounds(now);
        }
    }

    /// Completes a hand-over once the other region has every record: promises that region the next
    /// epoch and stops writing.
    fn complete_hand_over(&mut self, now: Millis) {
        let Role::Writer(writer) = &self.role else {
            return;
        };
        let Some(to) = writer.hand_over else {
            return;
        };
        let durable = writer.others.get(&to).and_then(|other| other.durable);
        let is_voter = self.log_summary.members().is_voter(to);
        if is_voter
            && durable == Some(self.log_summary.last())
            && self.durable == self.log_summary.last()
        {
            let epoch = self.hard_state.promised.max(self.current).next(to);
            // The promise must be durable before the message leaves: after a restart this region
            // would otherwise write in its old epoch while the other region writes in the new one.
            self.promise(epoch);
            self.role = Role::Follower;
            self.writer_heard_at = now;
            self.handed_over = Some((to, epoch, now));
            let position = self.log_summary.position();
            self.send(to, ReplicaMessage::TakeOver { epoch, position });
        }
    }
}
