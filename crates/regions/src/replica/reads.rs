//! Strong reads: each waits until the write region, confirmed by a majority after the read began,
//! has said what is committed, and until that is applied here.

use std::collections::BTreeMap;

use super::{Replica, Role};
use crate::{Effect, Message, Millis, ReadOutcome, RegionId, Sequence, Unconfirmed};

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
            (_, Some(writer)) if writer != self.me => self.send(writer, Message::Confirm { read }),
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

    pub(super) fn on_confirm(&mut self, now: Millis, from: RegionId, read: u64) {
        let why = if !self.is_write_region() {
            Unconfirmed::NotTheWriteRegion
        } else if !self.in_read_quorum(from) {
            Unconfirmed::OutsideTheReadQuorum
        } else {
            return self.ask_majority(now, from, read);
        };
        self.send(from, Message::NotConfirmed { read, why });
    }

    pub(super) fn answer_confirm(&mut self, region: RegionId, read: u64) {
        let (epoch, commit) = (self.current, self.commit);
        if region == self.me {
            self.on_confirmed(read, commit);
        } else {
            let confirmed = Message::Confirmed {
                read,
                epoch,
                commit,
            };
            self.send(region, confirmed);
        }
    }

    pub(super) fn on_confirmed(&mut self, read: u64, commit: Sequence) {
        self.learn_commit(commit);
        if let Some(waiting) = self.reads.waiting.get_mut(&read) {
            *waiting = Some(commit);
            self.reads.applied(self.applied, &mut self.effects);
        }
    }
}
