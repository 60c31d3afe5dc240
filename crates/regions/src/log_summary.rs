//! What one region knows of its copy of the account stream without a read of the log: its first and
//! last record, its epochs, and the members at every record that a log repair may still cut.

use crate::{
    Consistency, Epoch, Lineage, Membership, RecordBody, Sequence, StreamRecord, TokenVersion,
};

/// The lineage and members of a stream at one record. The store saves them with the state at that
/// record; a snapshot carries them and a restart begins with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMetadata {
    pub sequence: Sequence,
    pub lineage: Lineage,
    pub members: Membership,
    /// Counts membership changes within the newest epoch: see [`crate::TokenVersion`].
    pub changes: u16,
}

#[derive(Clone, Debug)]
pub(crate) struct LogSummary {
    /// The base of the log: the last trimmed record.
    base: Sequence,
    last: Sequence,
    lineage: Lineage,
    /// Members with the first record at which they hold; the first entry holds from the start of
    /// the stream.
    members: Vec<(Sequence, Membership, u16)>,
    guards: Vec<PriorMembership>,
}

/// The members before a membership change or before an epoch.
#[derive(Clone, Debug)]
struct PriorMembership {
    record: Sequence,
    members: Membership,
    needed: usize,
    kind: TransitionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransitionKind {
    Members,
    Epoch,
    /// The first record of an epoch with which an operator took regions offline.
    Forced,
    /// The first record of an epoch for which an operator accepted loss.
    Lossy,
}

/// The members before an uncommitted change. These members could still promote a region without the
/// record of the change. Therefore a quorum of `needed` of these members must have made the record
/// durable before the record counts as committed, and must vote for a candidate whose log has the
/// record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Electorate<'a> {
    pub(crate) record: Sequence,
    pub(crate) members: &'a Membership,
    pub(crate) needed: usize,
    /// Whether every majority of the current members intersects every majority of these: the two
    /// sets differ by one region, and an operator cannot promote one of two regions alone.
    pub(crate) always_overlaps: bool,
}

impl LogSummary {
    /// The summary of a log that begins after `base` and ends at the record of `head`.
    pub(crate) fn new(base: Sequence, head: SnapshotMetadata) -> LogSummary {
        LogSummary {
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

    /// Epoch and sequence of the last record; the greater position of two copies is the more
    /// advanced.
    pub(crate) fn position(&self) -> (Epoch, Sequence) {
        (self.epoch_at(self.last), self.last)
    }

    pub(crate) fn members(&self) -> &Membership {
        &self.members_entry(self.last).1
    }

    /// The record that set the current members.
    pub(crate) fn members_since(&self) -> Sequence {
        self.members_entry(self.last).0
    }

    pub(crate) fn metadata_at(&self, sequence: Sequence) -> SnapshotMetadata {
        let (_, members, changes) = self.members_entry(sequence);
        SnapshotMetadata {
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

    /// Adds the next record.
    pub(crate) fn append(&mut self, record: &StreamRecord) {
        assert_eq!(record.sequence, self.last.next(), "records come in order");
        let changes = if record.epoch > self.lineage.newest() {
            0
        } else {
            self.members_entry(self.last).2 + 1
        };
        let members = self.members();
        let kind = match &record.body {
            RecordBody::Data(_) => None,
            RecordBody::Members(_) => Some(TransitionKind::Members),
            RecordBody::EpochStart(start) if start.is_lossy => Some(TransitionKind::Lossy),
            RecordBody::EpochStart(start) if start.members.is_some() => {
                Some(TransitionKind::Forced)
            }
            RecordBody::EpochStart(_) => Some(TransitionKind::Epoch),
        };
        if let Some(kind) = kind {
            let needed = match kind {
                TransitionKind::Members => members.majority(),
                TransitionKind::Epoch | TransitionKind::Forced => {
                    members.recovery_quorum().min(members.voters().count())
                }
                TransitionKind::Lossy => 0,
            };
            // The guard stores the members before this record: `members()` still ends at the record
            // before.
            let guard = PriorMembership {
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

    /// The members before each change that is not committed as far as this region knows, the newest
    /// change first.
    ///
    /// All of these changes count, not only the newest: an epoch may begin over a change that few
    /// regions have received, and a promotion by force may take several regions offline, so that
    /// majorities before and after need not intersect. An operator who declares one of two regions
    /// gone declares the same for the earlier changes.
    ///
    /// The list ends at a membership record, which is written only when everything before it is
    /// committed, and at an epoch for which loss was accepted. At levels at which a promotion may
    /// lose acknowledged writes, the newest change alone counts.
    pub(crate) fn uncommitted_electorates(
        &self,
        commit: Sequence,
        level: Consistency,
    ) -> Vec<Electorate<'_>> {
        let mut electorates = Vec::new();
        let mut is_forced = false;
        let guards = self.guards.iter().rev();
        for guard in guards.take_while(|guard| guard.record > commit) {
            let recovery_quorum = guard.members.recovery_quorum();
            let needed = if is_forced {
                guard.needed.min(recovery_quorum)
            } else {
                guard.needed
            };
            electorates.push(Electorate {
                record: guard.record,
                members: &guard.members,
                needed,
                always_overlaps: guard.kind == TransitionKind::Members
                    && !is_forced
                    && recovery_quorum == guard.members.majority(),
            });
            if matches!(guard.kind, TransitionKind::Members | TransitionKind::Lossy)
                || !level.needs_quorum()
            {
                break;
            }
            is_forced |= guard.kind == TransitionKind::Forced;
        }
        electorates
    }

    /// Cuts every record after `last`, and the members and guards of those records with them.
    pub(crate) fn truncate(&mut self, last: Sequence) {
        self.last = last;
        self.lineage = self.lineage.upto(last);
        self.members.retain(|(since, ..)| *since <= last);
        self.guards.retain(|guard| guard.record <= last);
    }

    /// The log was trimmed up to this record.
    pub(crate) fn trim(&mut self, base: Sequence) {
        self.base = self.base.max(base.min(self.last));
    }

    fn members_entry(&self, at: Sequence) -> &(Sequence, Membership, u16) {
        let found = self.members.iter().rev().find(|(since, ..)| *since <= at);
        found.expect("the first entry holds from the start")
    }
}
