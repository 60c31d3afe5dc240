//! Being the write region: numbering records, counting who has them, knowing that one still is it.
//!
//! Beats come in rounds. When a majority has echoed a round, nobody else can have begun an epoch
//! before that round was sent; what was committed then is what a strong read must see.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::{Replica, Role};
use crate::ledger::Ledger;
use crate::write_gate::{majority_kept, may_begin, settled};
use crate::{
    Beat, Body, Effect, Epoch, EpochStart, Follows, Level, Membership, Message, Millis, Place,
    Progress, RegionId, Sequence, Settings, StreamId, StreamRecord, WriteRefusal,
};

/// Times of writing that are remembered for lags; beyond, lags are told too small, never too late
/// for the bound: it stops writes long before.
const WRITTEN_MAX: usize = 1 << 20;
/// Strong reads that wait for a round. While no majority answers, whoever asked first has long given up.
pub(super) const ASKING_MAX: usize = 1 << 16;
/// Rounds that were not echoed. Whoever echoes a round was there in all before it.
const ROUNDS_MAX: usize = 1 << 10;

#[derive(Debug)]
pub(super) struct Writer {
    /// What is committed is known when this record is: it is the last that could have been when
    /// this region began to write, or came up as the write region.
    floor: Sequence,
    others: BTreeMap<RegionId, Other>,
    round: u64,
    /// Rounds that no majority has echoed yet, with the times they began.
    rounds: VecDeque<(u64, Millis)>,
    confirmed: Option<Millis>,
    beaten: Option<Millis>,
    /// Strong reads by the round that must be echoed for them.
    asking: VecDeque<(RegionId, u64, u64)>,
    hand_over: Option<RegionId>,
    /// Since when members have promised a newer epoch that nobody writes in.
    outbid: Option<Millis>,
    written: VecDeque<Written>,
    bytes: u64,
}

#[derive(Debug)]
struct Other {
    kept: Option<Sequence>,
    applied: Option<Sequence>,
    heard: Millis,
    echoed: u64,
    in_read_quorum: bool,
    is_full: bool,
}

#[derive(Debug, Clone, Copy)]
struct Written {
    sequence: Sequence,
    at: Millis,
    /// Bytes of the stream up to and with this record, since this region began to write.
    bytes: u64,
}

/// How far a region is behind the write region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    pub records: u64,
    pub bytes: u64,
    pub millis: u64,
}

/// Why the write region cannot be handed over as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandOverError {
    #[error("this is not the write region")]
    NotTheWriteRegion,
    #[error("region {0} is not a member in full standing")]
    NotAMember(RegionId),
}

impl Writer {
    pub(super) fn new(replica: &Replica, now: Millis) -> Writer {
        let round = replica.saved.incarnation << 32;
        let mut writer = Writer {
            floor: replica.ledger.last(),
            others: BTreeMap::new(),
            round,
            rounds: VecDeque::new(),
            confirmed: None,
            beaten: None,
            asking: VecDeque::new(),
            hand_over: None,
            outbid: None,
            written: VecDeque::new(),
            bytes: 0,
        };
        writer.set_members(now, replica.me, replica.ledger.members());
        writer
    }

    /// Regions that are no members any more are kept for as long as they may answer reads.
    pub(super) fn set_members(&mut self, now: Millis, me: RegionId, members: &Membership) {
        for (region, other) in &mut self.others {
            other.is_full = members.is_full(*region);
            other.in_read_quorum &= other.is_full;
        }
        let known = members.all().chain(members.former.iter().copied());
        for region in known.filter(|region| *region != me) {
            let is_full = members.is_full(region);
            self.others.entry(region).or_insert(Other {
                kept: None,
                applied: None,
                heard: now,
                echoed: 0,
                in_read_quorum: is_full,
                is_full,
            });
        }
    }

    /// A region says how far it is. Only what is part of this epoch's history counts.
    pub(super) fn note(
        &mut self,
        now: Millis,
        from: RegionId,
        place: Place,
        ledger: &Ledger,
        epoch: Epoch,
    ) -> bool {
        if place.promised > epoch {
            return false;
        }
        let Some(other) = self.others.get_mut(&from) else {
            return false;
        };
        other.heard = now;
        if place.kept > ledger.last() || ledger.epoch_at(place.kept) != place.kept_epoch {
            return false;
        }
        other.kept = other.kept.max(Some(place.kept));
        other.applied = other.applied.max(Some(place.applied.min(place.kept)));
        true
    }

    /// Whether everything that was ever acknowledged is known to be committed.
    fn knows_commit(&self, commit: Sequence, ledger: &Ledger, current: Epoch) -> bool {
        ledger.epoch_at(commit) == current && commit >= self.floor
    }

    fn follows(&self, now: Millis, level: Level) -> Vec<Follows> {
        let counts = |other: &&Other| match level {
            Level::Bounded(bound) => other.is_full || now.since(other.heard) < bound.millis,
            _ => other.is_full,
        };
        let follows = |other: &Other| Follows {
            kept: other.kept,
            applied: other.applied,
            oldest_missing: self.oldest_after(other.applied.unwrap_or_default()),
            in_read_quorum: other.in_read_quorum,
            is_full: other.is_full,
        };
        self.others.values().filter(counts).map(follows).collect()
    }

    fn oldest_after(&self, sequence: Sequence) -> Option<Millis> {
        let index = self
            .written
            .partition_point(|written| written.sequence <= sequence);
        self.written.get(index).map(|written| written.at)
    }

    /// Lets go of times that no region needs any more.
    fn forget_written(&mut self) {
        let slowest = self.others.values().filter_map(|other| other.applied).min();
        while let Some(first) = self.written.front()
            && (self.written.len() > WRITTEN_MAX || Some(first.sequence) <= slowest)
            && self.written.len() > 1
        {
            self.written.pop_front();
        }
    }

    /// The newest round that so many of these members have echoed.
    fn echoed_by(&self, me: RegionId, members: &Membership, needed: usize) -> u64 {
        let echoed = |region: RegionId| match self.others.get(&region) {
            _ if region == me => self.round,
            Some(other) => other.echoed,
            None => 0,
        };
        let mut echoed: Vec<u64> = members.full().map(echoed).collect();
        echoed.sort_unstable_by(|left, right| right.cmp(left));
        match needed.checked_sub(1) {
            Some(index) => echoed.get(index).copied().unwrap_or(0),
            None => self.round,
        }
    }

    /// Who is waited for by strong writes: regions leave when they are silent and a majority is
    /// left, and come back when they have what is committed.
    fn review_read_quorum(&mut self, now: Millis, commit: Sequence, majority: usize, silent: u64) {
        let inside = self.others.values().filter(|other| other.in_read_quorum);
        let mut size = 1 + inside.count();
        for other in self.others.values_mut().filter(|other| other.is_full) {
            let is_silent = now.since(other.heard) >= silent;
            if other.in_read_quorum && is_silent && size > majority {
                other.in_read_quorum = false;
                size -= 1;
            } else if !other.in_read_quorum && !is_silent && other.kept >= Some(commit) {
                other.in_read_quorum = true;
                size += 1;
            }
        }
    }
}

impl Replica {
    /// Gives a transaction its place in the stream. The record is to be appended to the log, and
    /// acknowledged when [`Replica::settled`] has reached it and it is applied.
    pub fn write(&mut self, now: Millis, data: Bytes) -> Result<StreamRecord, WriteRefusal> {
        self.may_write(now)?;
        Ok(self.originate(now, Body::Data(data)))
    }

    /// [`Replica::write`] without the gate of bounded staleness: what the write region originates
    /// for the account itself must not wait for slow regions.
    pub fn write_unbounded(
        &mut self,
        now: Millis,
        data: Bytes,
    ) -> Result<StreamRecord, WriteRefusal> {
        match self.may_write(now) {
            Err(refusal @ (WriteRefusal::NotTheWriteRegion | WriteRefusal::HandingOver)) => {
                Err(refusal)
            }
            _ => Ok(self.originate(now, Body::Data(data))),
        }
    }

    /// Whether a write could begin now.
    pub fn may_write(&self, now: Millis) -> Result<(), WriteRefusal> {
        self.may_write_many(now, 1)
    }

    /// Whether so many writes could begin now, together.
    pub fn may_write_many(&self, now: Millis, count: u64) -> Result<(), WriteRefusal> {
        let Role::Writer(writer) = &self.role else {
            return Err(WriteRefusal::NotTheWriteRegion);
        };
        if writer.hand_over.is_some() {
            return Err(WriteRefusal::HandingOver);
        }
        let level @ Level::Bounded(_) = self.settings.level else {
            return Ok(());
        };
        let last = Sequence(self.ledger.last().0 + count.saturating_sub(1));
        may_begin(level, now, last, &writer.follows(now, level))
    }

    /// Up to which record writes of this epoch may be acknowledged. Nothing may be acknowledged
    /// when this is not the write region.
    pub fn settled(&self, now: Millis) -> Sequence {
        let Role::Writer(writer) = &self.role else {
            return Sequence::ZERO;
        };
        let level = self.settings.level;
        settled(level, self.kept, self.commit, &writer.follows(now, level))
    }

    /// Stops writes and lets another region write as soon as it has everything.
    pub fn hand_over(&mut self, now: Millis, to: RegionId) -> Result<(), HandOverError> {
        let Role::Writer(writer) = &mut self.role else {
            return Err(HandOverError::NotTheWriteRegion);
        };
        if !self.ledger.members().is_full(to) {
            return Err(HandOverError::NotAMember(to));
        }
        if to != self.me {
            writer.hand_over = Some(to);
            self.complete_hand_over(now);
        }
        Ok(())
    }

    /// Writes go on here after all. False if the other region has been told already.
    pub fn keep_writing(&mut self) -> bool {
        let Role::Writer(writer) = &mut self.role else {
            return false;
        };
        writer.hand_over = None;
        true
    }

    /// How far the other regions are behind, as the write region knows it.
    pub fn lags(&self, now: Millis) -> Vec<(RegionId, Lag)> {
        let Role::Writer(writer) = &self.role else {
            return Vec::new();
        };
        let lag = |(region, other): (&RegionId, &Other)| {
            let applied = other.applied.unwrap_or_default();
            let index = writer
                .written
                .partition_point(|written| written.sequence <= applied);
            let before = index
                .checked_sub(1)
                .and_then(|index| writer.written.get(index));
            let missing = writer.written.get(index);
            let lag = Lag {
                records: self.ledger.last().beyond(applied),
                bytes: missing.map_or(0, |_| writer.bytes - before.map_or(0, |row| row.bytes)),
                millis: missing.map_or(0, |row| now.since(row.at)),
            };
            (*region, lag)
        };
        writer.others.iter().map(lag).collect()
    }

    /// How far this region is behind, as it knows itself; none if it never heard.
    pub fn own_lag(&self, now: Millis) -> Option<(u64, u64)> {
        let records = self.known_last.beyond(self.applied);
        self.fresh(now).map(|fresh| (records, now.since(fresh)))
    }

    /// As of when a majority agreed that this is the write region.
    pub(super) fn confirmed(&self, now: Millis) -> Option<Millis> {
        let Role::Writer(writer) = &self.role else {
            return None;
        };
        let are_enough = |(members, needed): &(&Membership, usize)| {
            usize::from(members.is_full(self.me)) >= *needed
        };
        let is_alone = self.electorates_now().iter().all(are_enough);
        if is_alone {
            Some(now)
        } else {
            writer.confirmed
        }
    }

    /// As of when what readers see here is complete. A new write region answers for its epoch when that has begun in
    /// its state as well: with a disk that fails in this moment it never does.
    pub(super) fn fresh(&self, now: Millis) -> Option<Millis> {
        match &self.role {
            Role::Writer(_) if self.ledger.epoch_at(self.applied) == self.current => {
                self.confirmed(now)
            }
            Role::Writer(_) | Role::Follower | Role::Candidate(_) => self.fresh,
        }
    }

    pub(super) fn begin_epoch(&mut self, now: Millis, epoch: Epoch, start: EpochStart) {
        self.current = epoch;
        self.commit = self.commit.min(self.ledger.last());
        self.role = Role::Writer(Writer::new(self, now));
        let record = self.originate(now, Body::EpochStart(start));
        self.effects.push(Effect::Append(vec![record]));
        self.tick_writer(now);
    }

    pub(super) fn originate(&mut self, now: Millis, body: Body) -> StreamRecord {
        let record = StreamRecord {
            stream: StreamId::Account,
            origin: self.me,
            epoch: self.current,
            sequence: self.ledger.last().next(),
            deps: Progress::default(),
            body,
        };
        self.ledger.append(&record);
        self.known_last = record.sequence;
        if let Role::Writer(writer) = &mut self.role {
            writer.bytes += record.bytes();
            writer.written.push_back(Written {
                sequence: record.sequence,
                at: now,
                bytes: writer.bytes,
            });
            if record.members().is_some() {
                writer.set_members(now, self.me, self.ledger.members());
            }
        }
        record
    }

    pub(super) fn tick_writer(&mut self, now: Millis) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        let Settings {
            beat_ms,
            silence_ms,
            unresponsive_ms,
            ..
        } = self.settings;
        let majority = self.ledger.members().majority();
        writer.review_read_quorum(now, self.commit, majority, unresponsive_ms);
        if writer
            .outbid
            .is_some_and(|since| now.since(since) >= silence_ms)
        {
            return self.renew(now);
        }
        if writer
            .beaten
            .is_none_or(|beaten| now.since(beaten) >= beat_ms)
        {
            self.beat(now);
        }
        self.advance_commit(now);
        self.forget_former(now);
    }

    /// Regions that left are over when they cannot be answering reads under the bound any more.
    fn forget_former(&mut self, now: Millis) {
        let (Role::Writer(writer), Level::Bounded(bound)) = (&self.role, self.settings.level)
        else {
            return;
        };
        let members = self.ledger.members();
        let is_over = |region: &RegionId| {
            let other = writer.others.get(region);
            other.is_none_or(|other| now.since(other.heard) >= bound.millis)
        };
        if members.former.iter().any(is_over) && self.can_change_members() {
            let mut members = members.clone();
            members.former.retain(|region| !is_over(region));
            let record = self.originate(now, Body::Members(members));
            self.effects.push(Effect::Append(vec![record]));
        }
    }

    /// A region says how far it is, and what it has promised.
    ///
    /// The promise of one that is leaving counts as long as its going may need it: nothing would be
    /// committed if it followed nobody.
    pub(super) fn note(&mut self, now: Millis, from: RegionId, place: Place) {
        let counts = self.ledger.members().get(from).is_some() || self.is_elector(from);
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        self.seen = self.seen.max(place.promised);
        if place.promised > self.current && counts {
            writer.outbid.get_or_insert(now);
        }
        writer.note(now, from, place, &self.ledger, self.current);
    }

    /// Starts a round.
    pub(super) fn beat(&mut self, now: Millis) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        writer.round += 1;
        writer.beaten = Some(now);
        writer.rounds.push_back((writer.round, now));
        while writer.rounds.len() > ROUNDS_MAX {
            writer.rounds.pop_front();
        }
        let beat = Beat {
            epoch: self.current,
            round: writer.round,
            commit: self.commit,
            held: self.held,
        };
        let mut others: BTreeSet<RegionId> = self.ledger.members().all().collect();
        for before in self.ledger.unsettled(self.commit, self.settings.level) {
            // Those that leave may be needed, and able, to hear of it.
            others.extend(before.members.full());
        }
        others.remove(&self.me);
        for region in others {
            self.send(region, Message::Beat(beat));
        }
        self.review_rounds(now);
    }

    pub(super) fn on_echo(&mut self, now: Millis, from: RegionId, round: u64, place: Place) {
        self.note(now, from, place);
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        if place.promised == self.current
            && round <= writer.round
            && let Some(other) = writer.others.get_mut(&from)
        {
            other.echoed = other.echoed.max(round);
        }
        self.review_rounds(now);
        self.advance_commit(now);
    }

    /// Those of whom so many must not have voted for anybody else, for this region to know that nobody
    /// else writes: the members, and those who were before changes that are not committed yet.
    fn electorates_now(&self) -> Vec<(&Membership, usize)> {
        let members = self.ledger.members();
        let mut electorates = vec![(members, members.majority())];
        if self.settings.level.is_held() {
            let before = self.ledger.unsettled(self.commit, self.settings.level);
            let before = before.iter().filter(|before| !before.is_met);
            electorates.extend(before.map(|before| (before.members, before.needed)));
        }
        electorates
    }

    /// Answers reads whose round a majority has echoed.
    fn review_rounds(&mut self, now: Millis) {
        let electorates = self.electorates_now();
        let Role::Writer(writer) = &self.role else {
            return;
        };
        let echoed = electorates
            .iter()
            .map(|(members, needed)| writer.echoed_by(self.me, members, *needed));
        let echoed = echoed.min().unwrap_or(0);
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        while let Some((_, began)) = writer.rounds.front().filter(|(round, _)| *round <= echoed) {
            writer.confirmed = Some(*began);
            writer.rounds.pop_front();
        }
        if !writer.knows_commit(self.commit, &self.ledger, self.current) {
            return;
        }
        let ready = |(_, _, round): &(RegionId, u64, u64)| *round <= echoed;
        let count = writer.asking.partition_point(ready);
        let answered: Vec<_> = writer.asking.drain(..count).collect();
        let is_waiting = !writer.asking.is_empty();
        let is_under_way = !writer.rounds.is_empty();
        for (region, read, _) in answered {
            self.answer_confirm(region, read);
        }
        // Reads that came meanwhile share the next round.
        if is_waiting && !is_under_way {
            self.beat(now);
        }
    }

    /// Whether this region and another one at a place are enough to know that nobody had begun an epoch when
    /// the place was told.
    pub(super) fn is_majority_with(&self, from: RegionId, place: Place) -> bool {
        let Role::Writer(writer) = &self.role else {
            return false;
        };
        let are_enough = |(members, needed): &(&Membership, usize)| {
            let both = [self.me, from];
            both.iter().filter(|one| members.is_full(**one)).count() >= *needed
        };
        place.promised == self.current
            && writer.knows_commit(self.commit, &self.ledger, self.current)
            && self.electorates_now().iter().all(are_enough)
    }

    /// Remembers a strong read until a round that begins now or later is echoed.
    pub(super) fn ask_majority(&mut self, now: Millis, from: RegionId, read: u64) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        writer.asking.push_back((from, read, writer.round + 1));
        while writer.asking.len() > ASKING_MAX {
            writer.asking.pop_front();
        }
        if writer.rounds.is_empty() {
            self.beat(now);
        }
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

    pub(super) fn kept_by(&self, region: RegionId) -> Option<Sequence> {
        match &self.role {
            Role::Writer(writer) => writer.others.get(&region).and_then(|other| other.kept),
            Role::Follower | Role::Candidate(_) => None,
        }
    }

    pub(super) fn advance_commit(&mut self, now: Millis) {
        let Role::Writer(writer) = &mut self.role else {
            return;
        };
        let members = self.ledger.members();
        let follows = writer.follows(now, Level::Session);
        let kept = majority_kept(self.kept, &follows, members.majority());
        let kept_by = |region: RegionId| match writer.others.get(&region) {
            Some(other) => other.kept.unwrap_or_default(),
            None if region == self.me => self.kept,
            None => Sequence::ZERO,
        };
        let kept_by_some = |members: &Membership, needed: usize| {
            let mut kept: Vec<Sequence> = members.full().map(kept_by).collect();
            kept.sort_unstable_by(|left, right| right.cmp(left));
            let index = needed.checked_sub(1);
            index.map(|index| kept.get(index).copied().unwrap_or_default())
        };
        // A record of an older epoch is not sure to stay where it is kept, so a change by one takes the
        // first record of this epoch.
        let first = self.ledger.lineage().first_of(self.current);
        let first = first.unwrap_or_default();
        let before = self.ledger.unsettled(self.commit, self.settings.level);
        let waits = before.iter().rev().find(|before| {
            let kept = kept_by_some(before.members, before.needed);
            kept.is_some_and(|kept| kept < before.record.max(first))
        });
        let kept = waits.map_or(kept, |before| {
            // Until then only the members before can commit what came before.
            let settled = kept_by_some(before.members, before.members.majority());
            let settled = settled.unwrap_or_default();
            settled.min(Sequence(before.record.0 - 1))
        });
        let commit = self.commit;
        if self.ledger.epoch_at(kept) == self.current {
            self.commit = self.commit.max(kept);
        }
        let slowest = follows
            .iter()
            .filter(|other| other.is_full)
            .map(|other| other.kept);
        let slowest = slowest.min().unwrap_or(Some(self.kept)).unwrap_or_default();
        self.held = self.held.max(slowest.min(self.kept));
        writer.forget_written();
        self.complete_hand_over(now);
        if self.commit > commit {
            self.review_rounds(now);
        }
    }

    /// When the other region has everything: promises it the next epoch and writes no more.
    fn complete_hand_over(&mut self, now: Millis) {
        let Role::Writer(writer) = &self.role else {
            return;
        };
        let Some(to) = writer.hand_over else {
            return;
        };
        let kept = writer.others.get(&to).and_then(|other| other.kept);
        let is_full = self.ledger.members().is_full(to);
        if is_full && kept == Some(self.ledger.last()) && self.kept == self.ledger.last() {
            let epoch = self.saved.promised.max(self.current).next(to);
            self.promise(epoch);
            self.role = Role::Follower;
            self.heard = now;
            self.handed = Some((to, epoch, now));
            let position = self.ledger.position();
            self.send(to, Message::TakeOver { epoch, position });
        }
    }
}
