//! What one region knows of its copy of the account stream without reading it: where it begins and
//! ends, its epochs, and its members as they were at any record that may still be taken back.

use crate::{Body, Epoch, Level, Lineage, Membership, Sequence, StreamRecord, TokenVersion};

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
    guards: Vec<Guard>,
}

/// Members before a change of them, or before an epoch.
#[derive(Clone, Debug)]
struct Guard {
    record: Sequence,
    members: Membership,
    needed: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Members,
    Epoch,
    /// An epoch with which an operator took regions offline.
    Forced,
    /// An epoch for which an operator accepted losses.
    Lossy,
}

/// Members before a change that may never be committed. So many of them must have its record before it
/// counts as committed, and must vote for whoever goes on from it, since they could still promote a
/// region that does not know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Electorate<'a> {
    pub(crate) record: Sequence,
    pub(crate) members: &'a Membership,
    pub(crate) needed: usize,
    /// Whether every majority of the members now meets every one that these can form: they differ by one
    /// region, and of two neither is enough for an operator.
    pub(crate) is_met: bool,
}

impl Ledger {
    /// Of a log that begins after `base`, up to a record of which this is known.
    pub(crate) fn new(base: Sequence, head: Head) -> Ledger {
        Ledger {
            base: base.min(head.sequence),
            last: head.sequence,
            lineage: head.lineage,
            members: vec![(Sequence::ZERO, head.members, head.changes)],
            guards: Vec::new(),
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

    pub(crate) fn token_version_at(&self, sequence: Sequence) -> TokenVersion {
        let (_, _, changes) = self.members_entry(sequence);
        TokenVersion::new(self.epoch_at(sequence), *changes)
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
        let kind = match &record.body {
            Body::Data(_) => None,
            Body::Members(_) => Some(Kind::Members),
            Body::EpochStart(start) if start.is_lossy => Some(Kind::Lossy),
            Body::EpochStart(start) if start.members.is_some() => Some(Kind::Forced),
            Body::EpochStart(_) => Some(Kind::Epoch),
        };
        if let Some(kind) = kind {
            let needed = match kind {
                Kind::Members => members.majority(),
                Kind::Epoch | Kind::Forced => members.witnesses().min(members.full().count()),
                Kind::Lossy => 0,
            };
            let guard = Guard {
                record: record.sequence,
                members: members.clone(),
                needed,
                kind,
            };
            self.guards.push(guard);
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

    /// The members before each change that is not known to be committed, the newest change first.
    ///
    /// All of them count, not only those before the newest one: an epoch may begin over a change that few
    /// have heard of, and a promotion by force may take several regions offline, so that majorities before
    /// and after need not meet. What an operator says of two regions, that the other one is gone, holds for
    /// the changes before too.
    ///
    /// They end with a record of members, which is made only when everything before is committed, and where
    /// loss was accepted. At levels at which a promotion may lose what was acknowledged, the newest is enough.
    pub(crate) fn unsettled(&self, commit: Sequence, level: Level) -> Vec<Electorate<'_>> {
        let mut electorates = Vec::new();
        let mut is_forced = false;
        let guards = self.guards.iter().rev();
        for guard in guards.take_while(|guard| guard.record > commit) {
            let witnesses = guard.members.witnesses();
            let needed = if is_forced {
                guard.needed.min(witnesses)
            } else {
                guard.needed
            };
            electorates.push(Electorate {
                record: guard.record,
                members: &guard.members,
                needed,
                is_met: guard.kind == Kind::Members
                    && !is_forced
                    && witnesses == guard.members.majority(),
            });
            if matches!(guard.kind, Kind::Members | Kind::Lossy) || !level.is_held() {
                break;
            }
            is_forced |= guard.kind == Kind::Forced;
        }
        electorates
    }

    /// Takes back everything after a record.
    pub(crate) fn truncate(&mut self, last: Sequence) {
        self.last = last;
        self.lineage = self.lineage.upto(last);
        self.members.retain(|(since, ..)| *since <= last);
        self.guards.retain(|guard| guard.record <= last);
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
