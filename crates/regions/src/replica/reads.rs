//! Strong reads: each waits until the write region, confirmed by a majority after the read began,
//! has said what is committed, and until that is applied here.
//!
//! The question itself says that the region it comes from has voted for nobody else. With the write
//! region that is a majority of up to three, and nobody else needs to be asked.

use std::collections::BTreeMap;

use super::{Replica, Role};
use crate::{Effect, Epoch, Message, Millis, Place, ReadOutcome, RegionId, Sequence, Unconfirmed};

#[derive(Debug)]
pub(super) struct Reads {
    next: u64,
    /// What is to be applied, once it is known.
    waiting: BTreeMap<u64, Option<Sequence>>,
}

impl Reads {
    /// Numbers of reads of an earlier life must not be taken for those of this one.
    pub(super) fn new(incarnation: u64) -> Reads {
        Reads {
            next: incarnation << 32,
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn applied(&mut self, applied: Sequence, effects: &mut Vec<Effect>) {
        let is_ready = |commit: &Option<Sequence>| commit.is_some_and(|commit| commit <= applied);
        let ready = self.waiting.extract_if(.., |_, commit| is_ready(commit));
        effects.extend(ready.map(|(read, _)| Effect::Read {
            read,
            outcome: ReadOutcome::Ready,
        }));
    }

    pub(super) fn refuse(&mut self, read: u64, why: Unconfirmed, effects: &mut Vec<Effect>) {
        let outcome = match why {
            Unconfirmed::NotTheWriteRegion => ReadOutcome::NotTheWriteRegion,
            Unconfirmed::OutsideTheReadQuorum => ReadOutcome::OutsideTheReadQuorum,
        };
        if self.waiting.remove(&read).is_some() {
            effects.push(Effect::Read { read, outcome });
        }
    }
}

impl Replica {
    /// Begins a strong read; [`Effect::Read`] with this number says when to answer. The driver
    /// gives up on reads whose time is over with [`Replica::forget_read`].
    pub fn confirm(&mut self, now: Millis) -> u64 {
        self.reads.next += 1;
        let read = self.reads.next;
        self.reads.waiting.insert(read, None);
        match (&self.role, self.current.write_region()) {
            (Role::Writer(_), _) => self.ask_majority(now, self.me, read),
            (_, Some(writer)) if writer != self.me => {
                let place = self.place();
                self.send(writer, Message::Confirm { read, place });
            }
            _ => {
                let why = Unconfirmed::NotTheWriteRegion;
                self.reads.refuse(read, why, &mut self.effects);
            }
        }
        read
    }

    pub fn forget_read(&mut self, read: u64) {
        self.reads.waiting.remove(&read);
    }

    pub(super) fn on_confirm(&mut self, now: Millis, from: RegionId, read: u64, place: Place) {
        let why = if !self.is_write_region() {
            Unconfirmed::NotTheWriteRegion
        } else if !self.in_read_quorum(from) {
            Unconfirmed::OutsideTheReadQuorum
        } else if self.is_majority_with(from, place) {
            return self.answer_confirm(from, read);
        } else {
            return self.ask_majority(now, from, read);
        };
        self.send(from, Message::NotConfirmed { read, why });
    }

    pub(super) fn answer_confirm(&mut self, region: RegionId, read: u64) {
        let (epoch, commit) = (self.current, self.commit);
        if region == self.me {
            self.on_confirmed(epoch, read, commit);
        } else {
            let confirmed = Message::Confirmed {
                read,
                epoch,
                commit,
            };
            self.send(region, confirmed);
        }
    }

    pub(super) fn on_confirmed(&mut self, epoch: Epoch, read: u64, commit: Sequence) {
        // What is known to be the same here is so in the epoch that is followed.
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
    use crate::replica::writer::ASKING_MAX;
    use crate::{Level, Membership, Settings};

    /// Where a region is that has everything.
    fn place(replica: &Replica) -> Place {
        Place {
            promised: replica.epoch(),
            kept: replica.last(),
            kept_epoch: replica.epoch(),
            applied: replica.last(),
        }
    }

    /// Lets two of four others echo every round; gives the reads of the first that are confirmed by it.
    fn echo(replica: &mut Replica, now: Millis) -> Vec<u64> {
        let (others, mut confirmed) = ([RegionId(1), RegionId(2)], Vec::new());
        for _ in 0..4 {
            let mut newest = None;
            for effect in replica.take_effects() {
                match effect {
                    Effect::Send {
                        message: Message::Beat(beat),
                        ..
                    } => newest = newest.max(Some(beat.round)),
                    Effect::Send {
                        message: Message::Confirmed { read, .. },
                        ..
                    } => confirmed.push(read),
                    _ => {}
                }
            }
            let place = place(replica);
            for (other, round) in others.into_iter().zip(newest.into_iter().cycle()) {
                replica.receive(now, other, Message::Echo { round, place });
            }
        }
        confirmed
    }

    #[test]
    fn reads_that_nobody_could_confirm_are_not_remembered_for_ever() {
        let members = Membership::new((0..5).map(|id| (RegionId(id), "region")));
        let now = Millis(1_000);
        let settings = Settings::new(Level::Strong);
        let mut replica = Replica::found(RegionId(0), settings, now, members);
        replica.kept(now, replica.last());
        replica.tick(now);
        assert!(echo(&mut replica, now).is_empty());
        assert_eq!(replica.commit(), replica.last());

        let asked = ASKING_MAX as u64 + 10;
        let place = place(&replica);
        for read in 0..asked {
            replica.receive(now, RegionId(1), Message::Confirm { read, place });
        }
        let expected: Vec<u64> = (10..asked).collect();
        assert_eq!(echo(&mut replica, now), expected, "the newest are answered");
    }
}
