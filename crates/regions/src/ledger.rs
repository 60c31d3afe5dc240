//! What one region knows of its copy of the account stream without reading it: where it begins and
//! ends, its epochs, and its members as they were at any record that may still be taken back.

use crate::{Body, Epoch, Lineage, Membership, Sequence, StreamRecord};

/// Everything about a stream up to a record, to be kept with the state at that record: what a
/// snapshot carries and a restart begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub sequence: Sequence,
    pub lineage: Lineage,
    pub members: Membership,
    /// Counts changes of members within the newest epoch: see [`crate::TokenVersion`].
    pub changes: u16,
}

#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    /// Records up to here are not in the log any more.
    base: Sequence,
    last: Sequence,
    lineage: Lineage,
    /// Members with the first record at which they hold; the first entry holds from the start.
    members: Vec<(Sequence, Membership, u16)>,
    guard: Option<Guard>,
}

/// Members before the newest change of them, or before the newest epoch: enough of them must have
/// its record before it counts as committed, since they could still promote a region that does not
/// know of it.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) record: Sequence,
    pub(crate) members: Membership,
    pub(crate) needed: usize,
}

impl Ledger {
    /// Of a log that begins after `base`, up to a record of which this is known.
    pub(crate) fn new(base: Sequence, head: Head) -> Ledger {
        Ledger {
            base: base.min(head.sequence),
            last: head.sequence,
            lineage: head.lineage,
            members: vec![(Sequence::ZERO, head.members, head.changes)],
            guard: None,
        }
    }

    pub(crate) fn base(&self) -> Sequence {
        self.base
    }

    pub(crate) fn last(&self) -> Sequence {
        self.last
    }

    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    pub(crate) fn epoch_at(&self, sequence: Sequence) -> Epoch {
        self.lineage.epoch_at(sequence)
    }

    /// Epoch and sequence of the last record: which of two copies is more advanced.
    pub(crate) fn position(&self) -> (Epoch, Sequence) {
        (self.epoch_at(self.last), self.last)
    }

    pub(crate) fn members(&self) -> &Membership {
        &self.members_entry(self.last).1
    }

    /// The record that set the members as they are.
    pub(crate) fn members_since(&self) -> Sequence {
        self.members_entry(self.last).0
    }

    pub(crate) fn head_at(&self, sequence: Sequence) -> Head {
        let (_, members, changes) = self.members_entry(sequence);
        Head {
            sequence,
            lineage: self.lineage.upto(sequence),
            members: members.clone(),
            changes: *changes,
        }
    }

    /// Takes note of the next record.
    pub(crate) fn append(&mut self, record: &StreamRecord) {
        assert_eq!(record.sequence, self.last.next(), "records come in order");
        let changes = if record.epoch > self.lineage.newest() {
            0
        } else {
            self.members_entry(self.last).2 + 1
        };
        let members = self.members();
        let needed = match &record.body {
            Body::Data(_) => None,
            Body::Members(_) => Some(members.majority()),
            Body::EpochStart(start) if start.is_lossy => Some(0),
            Body::EpochStart(_) => Some(members.witnesses().min(members.full().count())),
        };
        if let Some(needed) = needed {
            self.guard = Some(Guard {
                record: record.sequence,
                members: members.clone(),
                needed,
            });
        }
        self.last = record.sequence;
        let is_new_epoch = record.epoch > self.lineage.newest();
        self.lineage.record(record.epoch, record.sequence);
        let members = match record.members() {
            Some(members) => members.clone(),
            None if is_new_epoch => self.members_entry(self.last).1.clone(),
            None => return,
        };
        self.members.push((record.sequence, members, changes));
    }

    pub(crate) fn guard(&self) -> Option<&Guard> {
        self.guard.as_ref()
    }

    /// Takes back everything after a record.
    pub(crate) fn truncate(&mut self, last: Sequence) {
        self.last = last;
        self.lineage = self.lineage.upto(last);
        self.members.retain(|(since, ..)| *since <= last);
        self.guard.take_if(|guard| guard.record > last);
    }

    /// Records up to here have left the log.
    pub(crate) fn trim(&mut self, base: Sequence) {
        self.base = self.base.max(base.min(self.last));
    }

    fn members_entry(&self, at: Sequence) -> &(Sequence, Membership, u16) {
        let found = self.members.iter().rev().find(|(since, ..)| *since <= at);
        found.expect("the first entry holds from the start")
    }
}
