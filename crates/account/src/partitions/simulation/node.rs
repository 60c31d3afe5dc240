//! A region: the contents of its disk, the state that a crash loses, and the messages it receives.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use orrery_engine::{AccessTable, KeyAccess};
use orrery_regions::{
    HardState, Membership, Millis, MultiWriteReplica, RecordBody, RegionId, Replica, Restart,
    Sequence, SnapshotMetadata, StreamId, StreamRecord, VersionVector,
};

use super::super::{FailoverBoard, PartitionFailover, RangeMove, RegionView};
use super::history::{End, History, Stance, Write};
use super::plan::{Bug, HELD_MS, KEYS, Key, MULTI_WRITE_SETTINGS, Plan, SETTINGS, place};
use crate::codec::encode_move;
use crate::{LinkFrame, PartitionsFrame};

/// Records of each stream, from the first on.
pub(super) type Streams = BTreeMap<StreamId, Vec<StreamRecord>>;

#[derive(Clone)]
pub(super) enum Wire {
    Frame(LinkFrame),
    AskCopy,
    Copy(VersionVector, Streams),
}

/// Messages that leave a region: receiver, message and delay.
pub(super) type Outbox = Vec<(RegionId, Wire, u64)>;

/// Durable at once: a batch has records, their effects and the progress.
#[derive(Default)]
pub(super) struct Disk {
    pub(super) saved: HardState,
    pub(super) account: Vec<StreamRecord>,
    pub(super) progress: VersionVector,
    pub(super) streams: Streams,
}

/// What a crash takes away.
pub(super) struct Life {
    pub(super) replica: Replica,
    pub(super) multi_write: MultiWriteReplica,
    pub(super) failover: PartitionFailover,
    pub(super) board: FailoverBoard,
    /// What the store takes.
    pub(super) table: AccessTable,
    /// Records of the account stream before which others come.
    pub(super) unappended: BTreeMap<Sequence, StreamRecord>,
    pub(super) told: Option<(PartitionsFrame, Millis)>,
}

pub(super) struct Node {
    pub(super) id: RegionId,
    pub(super) plan: Plan,
    pub(super) disk: Disk,
    pub(super) life: Option<Life>,
    /// Whether an operator took the region down: it sends and receives nothing.
    pub(super) is_away: bool,
    pub(super) paused_until: u64,
    /// How far the region's clock is ahead of the world's clock.
    pub(super) skew: u64,
}

impl Node {
    pub(super) fn new(id: RegionId, plan: Plan, skew: u64) -> Node {
        Node {
            id,
            plan,
            disk: Disk::default(),
            life: None,
            is_away: false,
            paused_until: 0,
            skew,
        }
    }

    pub(super) fn clock(&self, now: u64) -> Millis {
        Millis(now + self.skew)
    }

    pub(super) fn own(&self) -> StreamId {
        StreamId::Region(self.id)
    }

    pub(super) fn found(&mut self, now: u64, members: Membership) {
        self.disk.saved.incarnation = 1;
        let replica = Replica::bootstrap(self.id, SETTINGS, self.clock(now), members);
        self.live(now, replica);
    }

    pub(super) fn start(&mut self, now: u64) {
        self.disk.saved.incarnation += 1;
        let restart = Restart {
            hard_state: self.disk.saved,
            begins: Sequence::ZERO,
            base: SnapshotMetadata::default(),
            log: &self.disk.account,
            applied: self.applied().min(self.last()),
        };
        let replica = Replica::new(self.id, SETTINGS, self.clock(now), restart);
        self.live(now, replica);
    }

    fn live(&mut self, now: u64, replica: Replica) {
        let clock = self.clock(now);
        let mut failover = PartitionFailover::new(self.id, clock, self.followed());
        if self.plan.has(Bug::SureAtOnce) {
            failover.be_sure();
        }
        self.life = Some(Life {
            multi_write: self.multi_write(),
            replica,
            failover,
            board: FailoverBoard::default(),
            table: AccessTable::closed(),
            unappended: BTreeMap::new(),
            told: None,
        });
        self.follow_members();
    }

    fn multi_write(&self) -> MultiWriteReplica {
        let progress = self.disk.progress.clone();
        MultiWriteReplica::new(
            self.id,
            MULTI_WRITE_SETTINGS,
            Vec::new(),
            progress,
            VersionVector::default(),
        )
    }

    /// The last record of the account stream that is in the state.
    pub(super) fn applied(&self) -> Sequence {
        self.disk.progress.of(StreamId::Account)
    }

    pub(super) fn last(&self) -> Sequence {
        Sequence(self.disk.account.len() as u64)
    }

    /// The applied records of the account stream's log.
    pub(super) fn followed(&self) -> &[StreamRecord] {
        let applied = usize::try_from(self.applied().0).unwrap();
        &self.disk.account[..applied.min(self.disk.account.len())]
    }

    pub(super) fn follow_members(&mut self) {
        let Some(life) = &mut self.life else {
            return;
        };
        let members = life.replica.metadata().members;
        life.multi_write
            .set_members(members.all().collect(), BTreeMap::new());
    }

    pub(super) fn is_there(&self) -> bool {
        self.life.is_some() && !self.is_away
    }

    pub(super) fn tick(&mut self, now: u64) {
        let clock = self.clock(now);
        let Some(life) = self.life.as_mut().filter(|_| !self.is_away) else {
            return;
        };
        life.replica.tick(clock);
        life.multi_write.tick(clock);
        let decided = life.failover.decide(RegionView {
            now: clock,
            replica: &life.replica,
            multi_write: &life.multi_write,
        });
        let keeps = |decided: &RangeMove| decided.owner.is_none() && self.plan.has(Bug::KeepAway);
        if let Some(range_move) = decided.filter(|decided| !keeps(decided))
            && let Some(sequence) = self.propose(now, &range_move)
            && let Some(life) = &mut self.life
        {
            life.failover.set_pending_move(sequence);
        }
    }

    /// Makes a record of the account stream.
    pub(super) fn propose(&mut self, now: u64, range_move: &RangeMove) -> Option<Sequence> {
        let clock = self.clock(now);
        let life = self.life.as_mut()?;
        let record = life.replica.write(clock, encode_move(range_move)).ok()?;
        let sequence = record.sequence;
        life.unappended.insert(sequence, record);
        Some(sequence)
    }

    pub(super) fn take(
        &mut self,
        now: u64,
        from: RegionId,
        wire: Wire,
        history: &mut History,
    ) -> Outbox {
        let clock = self.clock(now);
        let Some(life) = self.life.as_mut().filter(|_| !self.is_away) else {
            return Vec::new();
        };
        match wire {
            Wire::Frame(LinkFrame::Account(message)) => life.replica.receive(clock, from, message),
            Wire::Frame(LinkFrame::MultiWrite(message)) => {
                life.multi_write.receive(clock, from, message);
            }
            Wire::Frame(LinkFrame::Partitions(frame)) => life.failover.record_report(from, frame),
            Wire::Frame(frame) => unreachable!("nobody sends {frame:?}"),
            Wire::AskCopy => {
                let streams = self.disk.streams.clone();
                let copy = Wire::Copy(self.disk.progress.clone(), streams);
                return vec![(from, copy, HELD_MS)];
            }
            Wire::Copy(progress, streams) => self.install(now, &progress, streams, history),
        }
        Vec::new()
    }

    /// Replaces the state by that of another region, merged with the records that only this region
    /// has.
    fn install(
        &mut self,
        now: u64,
        progress: &VersionVector,
        mut streams: Streams,
        history: &mut History,
    ) {
        let (clock, own) = (self.clock(now), self.own());
        let accepts = |life: &Life| life.multi_write.accepts(progress);
        if !self.life.as_ref().is_some_and(accepts) {
            return;
        }
        history.happened("a region was copied");
        if progress.of(StreamId::Account) > self.applied() {
            history.happened("a copy knew more moves");
        }
        let written = self.disk.streams.remove(&own).unwrap_or_default();
        streams.insert(own, written);
        self.disk.streams = streams;
        self.disk.progress.merge(progress);
        let multi_write = self.multi_write();
        if let Some(life) = &mut self.life {
            life.multi_write = multi_write;
            life.failover.listen_anew(clock);
            life.table = AccessTable::closed();
        }
        self.follow_members();
    }

    pub(super) fn tell_history(&self, now: u64, history: &mut History) {
        history.takes(Stance {
            at: now,
            region: self.id,
            life: self.disk.saved.incarnation,
            follows: Sequence(self.followed().len() as u64),
            open: self.open(),
        });
    }

    fn open(&self) -> [bool; KEYS] {
        std::array::from_fn(|key| self.access(key) == KeyAccess::Open)
    }

    pub(super) fn access(&self, key: Key) -> KeyAccess {
        let (container, place) = place(key);
        let access = |life: &Life| life.table.of(container, &place);
        self.life.as_ref().map_or(KeyAccess::Closed, access)
    }

    /// Writes for a client, if the store takes the write. The task learns of the write later.
    pub(super) fn write(&mut self, at: u64, key: Key, number: u64, history: &mut History) {
        if !self.is_there() || self.access(key) != KeyAccess::Open {
            return;
        }
        let Some(life) = &self.life else {
            return;
        };
        let (own, deps) = (self.own(), self.disk.progress.clone());
        let sequence = deps.of(own).next();
        history.writes.push(Write {
            number,
            at,
            key,
            region: self.id,
            sequence,
            deps: deps.clone(),
            stances: history.stances.len(),
        });
        let record = StreamRecord {
            stream: own,
            origin: self.id,
            epoch: life.replica.epoch(),
            sequence,
            deps,
            body: RecordBody::Data(Bytes::copy_from_slice(&number.to_le_bytes())),
        };
        self.disk.streams.entry(own).or_default().push(record);
        self.disk.progress.advance(own, sequence);
    }

    /// The final progress, which all regions should share.
    pub(super) fn progress(&self) -> &VersionVector {
        &self.disk.progress
    }

    pub(super) fn end(&self) -> End {
        let records = self.disk.streams.values().flatten();
        let numbers = records.map(|record| match &record.body {
            RecordBody::Data(data) => u64::from_le_bytes(data[..].try_into().unwrap()),
            RecordBody::EpochStart(_) | RecordBody::Members(_) => {
                unreachable!("streams have only data")
            }
        });
        let numbers: BTreeSet<u64> = numbers.collect();
        End {
            follows: Sequence(self.followed().len() as u64),
            open: self.open(),
            numbers,
        }
    }
}
