//! A region with a disk that can lose what was not synced, driving the state machine: what the real
//! driver does, in the same order.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use orrery_regions::{
    Epoch, HardState, Membership, Millis, RecordBody, RegionId, Replica, ReplicaSettings, Restart,
    Sequence, SnapshotMetadata, StreamRecord,
};

use crate::history::{Key, Position, Seen, Value, View};

/// What survives a crash.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    pub(crate) saved: HardState,
    pub(crate) base: SnapshotMetadata,
    pub(crate) log: VecDeque<StreamRecord>,
    /// Records of the log that are synced.
    pub(crate) synced: Sequence,
    pub(crate) state: View,
    pub(crate) applied: Sequence,
    /// The lineage and members at the state's last record.
    pub(crate) head: SnapshotMetadata,
    pub(crate) false_progress: BTreeMap<Position, StreamRecord>,
    /// States that were put aside because the log did not reach back far enough.
    pub(crate) set_aside: Vec<(Position, View)>,
}

pub(crate) struct Node {
    pub(crate) id: RegionId,
    pub(crate) disk: Disk,
    pub(crate) life: Option<Life>,
    pub(crate) paused_until: u64,
    /// Its disk takes nothing any more.
    pub(crate) is_broken: bool,
    /// How far the node's clock is ahead of the world's clock.
    pub(crate) skew: u64,
    /// Counts the lives of the log; a disk write from before a crash has an older generation and is
    /// dropped.
    pub(crate) generation: u64,
}

/// What a crash takes away.
pub(crate) struct Life {
    pub(crate) replica: Replica,
    pub(crate) state: View,
    pub(crate) applied: Sequence,
    /// The last written record. Records of other regions count when they are written, before they
    /// are synced.
    pub(crate) written: Sequence,
    pub(crate) writes: Vec<PendingWrite>,
    pub(crate) reads: BTreeMap<u64, PendingRead>,
}

#[derive(Clone, Copy)]
pub(crate) enum Trim {
    Nothing,
    /// What every member has.
    Held,
    /// Everything that is in the state, as a driver trims when a region is away for too long.
    Everything,
}

pub(crate) struct PendingWrite {
    pub(crate) client: usize,
    pub(crate) number: u64,
    pub(crate) position: Position,
}

pub(crate) struct PendingRead {
    pub(crate) client: usize,
    pub(crate) number: u64,
}

impl Node {
    pub(crate) fn new(id: RegionId, skew: u64) -> Node {
        Node {
            id,
            disk: Disk::default(),
            life: None,
            paused_until: 0,
            is_broken: false,
            skew,
            generation: 0,
        }
    }

    pub(crate) fn clock(&self, now: u64) -> Millis {
        Millis(now + self.skew)
    }

    pub(crate) fn found(&mut self, now: u64, settings: ReplicaSettings, members: Membership) {
        self.disk.saved.incarnation = 1;
        let replica = Replica::bootstrap(self.id, settings, self.clock(now), members);
        self.live(replica);
    }

    /// Starts from the contents of the disk, without the unsynced part of the log. True if the
    /// state is ahead of the remaining log, so that the log begins anew.
    pub(crate) fn start(&mut self, now: u64, settings: ReplicaSettings) -> bool {
        self.generation += 1;
        self.is_broken = false;
        self.disk.saved.incarnation += 1;
        let synced = self.disk.synced;
        self.disk.log.retain(|record| record.sequence <= synced);
        let is_ahead = self.disk.applied > synced;
        if is_ahead {
            self.disk.log.clear();
            self.disk.base = self.disk.head.clone();
            self.disk.synced = self.disk.applied;
        }
        let restart = Restart {
            hard_state: self.disk.saved,
            begins: self.disk.base.sequence,
            base: self.disk.base.clone(),
            log: &self.disk.log,
            applied: self.disk.applied,
        };
        let replica = Replica::new(self.id, settings, self.clock(now), restart);
        self.live(replica);
        is_ahead
    }

    fn live(&mut self, replica: Replica) {
        self.life = Some(Life {
            replica,
            state: self.disk.state.clone(),
            applied: self.disk.applied,
            written: self.disk.synced,
            writes: Vec::new(),
            reads: BTreeMap::new(),
        });
    }

    /// Records after a sequence, durable ones, at least one and otherwise up to so many bytes.
    pub(crate) fn records_after(
        &self,
        after: Sequence,
        upto: Sequence,
        bytes_max: u64,
    ) -> Vec<StreamRecord> {
        let mut bytes = 0;
        let records = self.disk.log.iter();
        records
            .filter(|record| record.sequence > after && record.sequence <= upto)
            .take_while(|record| {
                let is_first = bytes == 0;
                bytes += record.bytes();
                is_first || bytes <= bytes_max
            })
            .cloned()
            .collect()
    }

    /// The state and its position become durable together; then the log may be trimmed behind it.
    pub(crate) fn checkpoint(&mut self, trim: Trim) {
        let Some(life) = self.life.as_mut().filter(|_| !self.is_broken) else {
            return;
        };
        self.disk.state = life.state.clone();
        self.disk.applied = life.applied;
        self.disk.head = life.replica.metadata_at(life.applied);
        let base = match trim {
            Trim::Nothing => return,
            Trim::Held => life.replica.trim_limit().min(life.applied),
            Trim::Everything => life.applied,
        };
        if base > self.disk.base.sequence {
            self.disk.base = life.replica.metadata_at(base);
            self.disk.log.retain(|record| record.sequence > base);
            life.replica.trimmed(base);
        }
    }

    pub(crate) fn append(&mut self, records: impl IntoIterator<Item = StreamRecord>) -> Sequence {
        self.disk.log.extend(records);
        self.disk
            .log
            .back()
            .map_or(self.disk.base.sequence, |record| record.sequence)
    }

    /// The last record that may leave for others.
    pub(crate) fn written(&self) -> Sequence {
        let written = self.life.as_ref().map(|life| life.written);
        self.disk.synced.max(written.unwrap_or_default())
    }

    pub(crate) fn keep_false_progress(&mut self, diverged_from: Sequence, is_complete: bool) {
        if !is_complete && let Some(life) = &self.life {
            let position = (self.epoch_of(life.applied), life.applied);
            self.disk.set_aside.push((position, life.state.clone()));
        }
        for record in self
            .disk
            .log
            .iter()
            .filter(|record| record.sequence > diverged_from)
        {
            let position = (record.epoch, record.sequence);
            self.disk.false_progress.insert(position, record.clone());
        }
    }

    pub(crate) fn cut(&mut self, last: Sequence) {
        self.generation += 1;
        self.disk.log.retain(|record| record.sequence <= last);
        self.disk.synced = self.disk.synced.min(last);
        if let Some(life) = &mut self.life {
            life.written = life.written.min(last);
        }
    }

    pub(crate) fn install(&mut self, head: SnapshotMetadata, state: View) {
        self.generation += 1;
        self.disk.log.clear();
        self.disk.synced = head.sequence;
        self.disk.applied = head.sequence;
        self.disk.head = head.clone();
        self.disk.base = head;
        self.disk.state = state.clone();
        if let Some(life) = &mut self.life {
            life.state = state;
            life.applied = self.disk.applied;
        }
    }

    pub(crate) fn epoch_of(&self, sequence: Sequence) -> Epoch {
        let found = self
            .disk
            .log
            .iter()
            .find(|record| record.sequence == sequence);
        found.map_or_else(
            || self.disk.base.lineage.epoch_at(sequence),
            |record| record.epoch,
        )
    }
}

pub(crate) fn apply(state: &mut View, record: &StreamRecord) {
    if let RecordBody::Data(data) = &record.body {
        for (key, value) in decode(data) {
            let seen = state.entry(key).or_default();
            *seen = Seen {
                value,
                count: seen.count + 1,
            };
        }
    }
}

pub(crate) fn encode(puts: &[(Key, Value)]) -> Bytes {
    let parts = puts.iter().flat_map(|(key, value)| {
        let mut part = vec![*key];
        part.extend_from_slice(&value.to_le_bytes());
        part
    });
    parts.collect()
}

pub(crate) fn decode(data: &[u8]) -> Vec<(Key, Value)> {
    let parts = data.chunks_exact(9);
    let part = |part: &[u8]| (part[0], Value::from_le_bytes(part[1..].try_into().unwrap()));
    parts.map(part).collect()
}
