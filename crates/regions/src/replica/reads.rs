//! Strong reads by read index: a read waits until the write region, confirmed by a majority after
//! the read began, has sent its commit index, and until this region has applied that index.
//!
//! A read index request also proves that the asking region has promised no newer epoch. Together
//! with the write region that is a majority of up to three members, so the write region asks no
//! other region.

use std::collections::BTreeMap;

use super::{Replica, Role};
use crate::{
    Epoch, Millis, ReadIndexRefusal, ReadOutcome, RegionId, ReplicaEffect, ReplicaMessage,
    ReplicaPosition, Sequence,
};

#[derive(Debug)]
pub(super) struct Reads {
    next: u64,
    /// The record to wait for; none until the write region has sent its commit index.
    waiting: BTreeMap<u64, Option<Sequence>>,
}

impl Reads {
    /// Read numbers begin above those of every earlier incarnation: a late response to a read of an
    /// earlier incarnation must match no read of this one.
    pub(super) fn new(incarnation: u64) -> Reads {
        Reads {
            next: incarnation << 32,
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn applied(&mut self, applied: Sequence, effects: &mut Vec<ReplicaEffect>) {
        let is_ready = |commit: &Option<Sequence>| commit.is_some_and(|commit| commit <= applied);
        let ready = self.waiting.extract_if(.., |_, commit| is_ready(commit));
        effects.extend(ready.map(|(read, _)| ReplicaEffect::AnswerRead {
            read,
            outcome: ReadOutcome::Ready,
        }));
    }

    pub(super) fn refuse(
        &mut self,
        read: u64,
        why: ReadIndexRefusal,
        effects: &mut Vec<ReplicaEffect>,
    ) {
        let outcome = match why {
            ReadIndexRefusal::NotTheWriteRegion => ReadOutcome::NotTheWriteRegion,
            ReadIndexRefusal::OutsideTheReadQuorum => ReadOutcome::OutsideTheReadQuorum,
        };
        if self.waiting.remove(&read).is_some() {
            effects.push(ReplicaEffect::AnswerRead { read, outcome });
        }
    }
}

impl Replica {
    /// Begins a strong read; [`ReplicaEffect::AnswerRead`] with this number tells the driver when
    /// to answer it. The driver drops a read that has timed out with [`Replica::forget_read`].
    pub fn read_index(&mut self, now: Millis) -> u64 {
        self.reads.next += 1;
        let read = self.reads.next;
        self.reads.waiting.insert(read, None);
        match (&self.role, self.current.write_region()) {
            (Role::Writer(_), _) => self.queue_strong_read(now, self.me, read),
            (_, Some(writer)) if writer != self.me => {
                let position = self.own_position();
                self.send(writer, ReplicaMessage::ReadIndex { read, position });
            }
            _ => {
                let why = ReadIndexRefusal::NotTheWriteRegion;
                self.reads.refuse(read, why, &mut self.effects);
            }
        }
        read
    }

    pub fn forget_read(&mut self, read: u64) {
        self.reads.waiting.remove(&read);
    }

    pub(super) fn on_read_index(
        &mut self,
        now: Millis,
        from: RegionId,
        read: u64,
        position: ReplicaPosition,
    ) {
        let why = if !self.is_write_region() {
            ReadIndexRefusal::NotTheWriteRegion
        } else if !self.in_read_quorum(from) {
            ReadIndexRefusal::OutsideTheReadQuorum
        } else if self.is_majority_with(from, position) {
            return self.answer_read_index(from, read);
        } else {
            return self.queue_strong_read(now, from, read);
        };
        self.send(from, ReplicaMessage::ReadIndexRefused { read, why });
    }

    pub(super) fn answer_read_index(&mut self, region: RegionId, read: u64) {
        let (epoch, commit) = (self.current, self.commit);
        if region == self.me {
            self.on_read_index_response(epoch, read, commit);
        } else {
            let confirmed = ReplicaMessage::ReadIndexResponse {
                read,
                epoch,
                commit,
            };
            self.send(region, confirmed);
        }
    }

    pub(super) fn on_read_index_response(&mut self, epoch: Epoch, read: u64, commit: Sequence) {
        // The verified prefix belongs to the current epoch, so a commit index of another epoch
        // proves nothing about it.
        if epoch == self.current {
            self.learn_commit(commit);
        }
        if let Some(waiting) = self.reads.waiting.get_mut(&read) {
            *waiting = Some(commit);
            self.reads.applied(self.applied, &mut self.effects);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::writer::rounds::WAITING_READS_MAX;
    use crate::{Consistency, Membership, ReplicaSettings};

    /// The position of a follower that has every record.
    fn position(replica: &Replica) -> ReplicaPosition {
        ReplicaPosition {
            promised: replica.epoch(),
            durable: replica.last(),
            durable_epoch: replica.epoch(),
            applied: replica.last(),
        }
    }

    /// Lets two of four followers answer every round; returns the reads that the rounds confirm.
    fn echo(replica: &mut Replica, now: Millis) -> Vec<u64> {
        let (others, mut confirmed) = ([RegionId(1), RegionId(2)], Vec::new());
        for _ in 0..4 {
            let mut newest = None;
            for effect in replica.take_effects() {
                match effect {
                    ReplicaEffect::Send {
                        message: ReplicaMessage::Heartbeat(beat),
                        ..
                    } => newest = newest.max(Some(beat.round)),
                    ReplicaEffect::Send {
                        message: ReplicaMessage::ReadIndexResponse { read, .. },
                        ..
                    } => confirmed.push(read),
                    _ => {}
                }
            }
            let position = position(replica);
            for (other, round) in others.into_iter().zip(newest.into_iter().cycle()) {
                replica.receive(
                    now,
                    other,
                    ReplicaMessage::AppendResponse { round, position },
                );
            }
        }
        confirmed
    }

    #[test]
    fn reads_that_nobody_could_confirm_are_not_remembered_for_ever() {
        let members = Membership::new((0..5).map(|id| (RegionId(id), "region")));
        let now = Millis(1_000);
        let settings = ReplicaSettings::new(Consistency::Strong);
        let mut replica = Replica::bootstrap(RegionId(0), settings, now, members);
        replica.mark_durable(now, replica.last());
        replica.tick(now);
        assert!(echo(&mut replica, now).is_empty());
        assert_eq!(replica.commit(), replica.last());

        let asked = WAITING_READS_MAX as u64 + 10;
        let position = position(&replica);
        for read in 0..asked {
            replica.receive(
                now,
                RegionId(1),
                ReplicaMessage::ReadIndex { read, position },
            );
        }
        let expected: Vec<u64> = (10..asked).collect();
        assert_eq!(echo(&mut replica, now), expected, "the newest are answered");
    }
}
