//! A few regions that talk at once, on a clock that a test moves.

use std::collections::VecDeque;

use bytes::Bytes;
use orrery_regions::{
    Consistency, Epoch, Force, HardState, Membership, Millis, ReadOutcome, RecordPage, RegionId,
    Replica, ReplicaEffect, ReplicaMessage, ReplicaSettings, Restart, Sequence, SnapshotMetadata,
    StreamRecord,
};

/// A region whose disk takes everything at once.
pub(crate) struct Region {
    pub(crate) replica: Replica,
    pub(crate) log: Vec<StreamRecord>,
    pub(crate) saved: HardState,
    /// Strong reads that could be answered.
    pub(crate) answered: Vec<u64>,
}

pub(crate) struct Account {
    pub(crate) now: Millis,
    pub(crate) regions: Vec<Region>,
    pub(crate) cut: Vec<(usize, usize)>,
    /// Pairs of which the second region does not receive the first one's messages.
    pub(crate) deaf: Vec<(usize, usize)>,
    /// How long each message is in flight.
    pub(crate) delay_ms: u64,
    /// The messages in flight, by their time of arrival.
    post: VecDeque<(Millis, usize, usize, ReplicaMessage)>,
}

impl Account {
    /// An account of `regions` regions: the first `members` are members and region 0 writes.
    pub(crate) fn new(regions: u8, members: u8) -> Account {
        let settings = ReplicaSettings::new(Consistency::Strong);
        let now = Millis(1_000_000);
        let members = Membership::new((0..members).map(|id| (RegionId(id), "region")));
        let follower = |id| {
            let restart = Restart {
                hard_state: HardState::default(),
                begins: Sequence::ZERO,
                base: SnapshotMetadata::default(),
                log: &[],
                applied: Sequence::ZERO,
            };
            Replica::new(RegionId(id), settings, now, restart)
        };
        let founder = Replica::bootstrap(RegionId(0), settings, now, members);
        let replicas = std::iter::once(founder).chain((1..regions).map(follower));
        let region = |replica| Region {
            replica,
            log: Vec::new(),
            saved: HardState::default(),
            answered: Vec::new(),
        };
        Account {
            now,
            regions: replicas.map(region).collect(),
            cut: Vec::new(),
            deaf: Vec::new(),
            delay_ms: 0,
            post: VecDeque::new(),
        }
    }

    pub(crate) fn is_cut(&self, from: usize, to: usize) -> bool {
        let is_either = self.cut.contains(&(from, to)) || self.cut.contains(&(to, from));
        is_either || self.deaf.contains(&(from, to))
    }

    /// Advances the clock and delivers every message that can arrive.
    pub(crate) fn pass(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            self.now = self.now.plus(50);
            for region in &mut self.regions {
                region.replica.tick(self.now);
            }
            self.talk();
        }
    }

    /// Delivers one region's messages and the answers to it. Messages that those answers trigger
    /// are lost.
    pub(crate) fn talk_once(&mut self, region: usize) {
        let mut mail = VecDeque::new();
        self.settle(region, &mut mail);
        let me = self.regions[region].replica.region();
        for (_, to, message) in std::mem::take(&mut mail) {
            self.regions[to].replica.receive(self.now, me, message);
            self.settle(to, &mut mail);
        }
        let answers = mail.into_iter().filter(|(_, to, _)| *to == region);
        for (from, _, message) in answers {
            let from = self.regions[from].replica.region();
            let replica = &mut self.regions[region].replica;
            replica.receive(self.now, from, message);
        }
        self.settle(region, &mut VecDeque::new());
    }

    pub(crate) fn talk(&mut self) {
        loop {
            let mut mail = VecDeque::new();
            for from in 0..self.regions.len() {
                self.settle(from, &mut mail);
            }
            let arrival = self.now.plus(self.delay_ms);
            let sent = mail.into_iter();
            self.post
                .extend(sent.map(|(from, to, message)| (arrival, from, to, message)));
            let first = self.post.front();
            if first.is_none_or(|(arrival, ..)| *arrival > self.now) {
                return;
            }
            let (_, from, to, message) = self.post.pop_front().unwrap();
            if !self.is_cut(from, to) {
                let sender = self.regions[from].replica.region();
                self.regions[to].replica.receive(self.now, sender, message);
            }
        }
    }

    pub(crate) fn settle(
        &mut self,
        from: usize,
        mail: &mut VecDeque<(usize, usize, ReplicaMessage)>,
    ) {
        let region = &mut self.regions[from];
        for effect in region.replica.take_effects() {
            match effect {
                ReplicaEffect::SaveHardState(saved) => region.saved = saved,
                ReplicaEffect::Append(records) => {
                    region.log.extend(records);
                    let last = region.log.last().unwrap().sequence;
                    region.replica.mark_durable(self.now, last);
                }
                ReplicaEffect::Send { to, message } => {
                    mail.push_back((from, usize::from(to.0), message));
                }
                ReplicaEffect::SendPage { to, head, .. } => {
                    let after = region
                        .log
                        .iter()
                        .filter(|record| record.sequence > head.after);
                    let records = after.cloned().collect();
                    let page = ReplicaMessage::Page(RecordPage { head, records });
                    mail.push_back((from, usize::from(to.0), page));
                }
                ReplicaEffect::AnswerRead {
                    read,
                    outcome: ReadOutcome::Ready,
                } => region.answered.push(read),
                ReplicaEffect::FetchSnapshot { .. }
                | ReplicaEffect::RepairLog(_)
                | ReplicaEffect::AnswerRead { .. } => {}
            }
        }
        let limit = region.replica.apply_limit();
        region.replica.applied(limit);
    }

    pub(crate) fn write(&mut self, region: usize) -> Sequence {
        let replica = &mut self.regions[region].replica;
        let record = replica.write(self.now, Bytes::from_static(b"x")).unwrap();
        self.keep(region, record)
    }

    pub(crate) fn keep(&mut self, region: usize, record: StreamRecord) -> Sequence {
        let region = &mut self.regions[region];
        let sequence = record.sequence;
        region.log.push(record);
        region.replica.mark_durable(self.now, sequence);
        sequence
    }

    pub(crate) fn force(&mut self, region: usize, offline: &[u8]) {
        let force = Force {
            offline: offline.iter().map(|id| RegionId(*id)).collect(),
            accepts_loss: false,
        };
        let now = self.now;
        self.regions[region]
            .replica
            .promote_by_force(now, &force)
            .unwrap();
    }

    pub(crate) fn writes(&self, region: usize) -> bool {
        self.regions[region].replica.is_write_region()
    }

    pub(crate) fn acknowledges(&self, region: usize, written: Sequence) -> bool {
        self.regions[region].replica.acknowledge_limit(self.now) >= written
    }

    /// Cuts all links of a region.
    pub(crate) fn cut_off(&mut self, region: usize) {
        self.cut = (0..self.regions.len()).map(|to| (region, to)).collect();
    }

    pub(crate) fn restart(&mut self, region: usize, promised: Epoch) {
        let Region { log, replica, .. } = &self.regions[region];
        let restart = Restart {
            hard_state: HardState {
                promised,
                incarnation: 2,
            },
            begins: Sequence::ZERO,
            base: SnapshotMetadata::default(),
            log,
            applied: log.last().map_or(Sequence::ZERO, |last| {
                last.sequence.min(replica.metadata().sequence)
            }),
        };
        let settings = ReplicaSettings::new(Consistency::Strong);
        let id = replica.region();
        self.regions[region].replica = Replica::new(id, settings, self.now, restart);
    }
}
