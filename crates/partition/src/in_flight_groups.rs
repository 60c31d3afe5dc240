//! Groups in flight: durable in this region and not yet committed. Readers see the group after a
//! majority of regions has acknowledged its records.
//!
//! ```text
//!   decide over the state and the groups in flight -> append, sync -> in flight
//!        -> the log says that the group is committed -> apply, answer
//! ```
//!
//! Groups overlap: a group is appended while earlier groups wait for acknowledgements, so the latency
//! of a write is one round trip between regions under any load. The committer applies and answers
//! groups in their order. A group without records keeps its place too, because its commands may have
//! read the changes of a group in flight. The committer decides only item transactions over groups in
//! flight; every other command waits for an empty queue
//! ([`crate::command::Command::needs_applied_state`]). If the outcome of one group becomes unknown,
//! the outcome of every later group is unknown as well: all of their records become uncommitted
//! ([`crate::uncommitted`]).

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use orrery_log::{CommitStatus, Position};
use orrery_model::Failure;
use orrery_regions::VersionVector;

use crate::committer::Committer;
use crate::group::{CounterUpdates, GroupReply};
use crate::in_flight_overlay::InFlightOverlay;
use crate::index_state::IndexStateCache;
use crate::overlay::OverlayChanges;
use crate::record::Record;

/// The limits of the groups in flight. At a limit the commit thread decides no further group.
const GROUPS_MAX: usize = 1024;
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// The replication wakes the committer when a commit status changes. After this time the committer
/// polls, which bounds the delay of a lost wake-up.
const STATUS_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The result of a group: its changes, its records, and the answers to its clients.
pub(crate) struct GroupDecision {
    pub(crate) changes: OverlayChanges,
    pub(crate) counter_updates: CounterUpdates,
    pub(crate) records: Vec<Record>,
    pub(crate) progress: Option<VersionVector>,
    pub(crate) replies: Vec<GroupReply>,
}

impl GroupDecision {
    pub(crate) fn answer(self, failure: Option<&Failure>) {
        for reply in self.replies {
            reply(failure.cloned());
        }
    }
}

#[derive(Default)]
pub(crate) struct InFlightGroups {
    groups: VecDeque<InFlightGroup>,
    /// The changes of all groups in flight. While the commit thread decides a group, that group has
    /// this overlay.
    overlay: InFlightOverlay,
    bytes: usize,
    next: u64,
}

struct InFlightGroup {
    number: u64,
    /// The group is committed together with the record at this position.
    upto: Position,
    last: Option<Position>,
    payloads: Vec<Bytes>,
    bytes: usize,
    decision: GroupDecision,
}

impl InFlightGroups {
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The time until the committer polls the commit status; `None` without groups in flight.
    pub(crate) fn patience(&self) -> Option<Duration> {
        (!self.is_empty()).then_some(STATUS_POLL_INTERVAL)
    }

    pub(crate) fn lend(&mut self) -> InFlightOverlay {
        std::mem::take(&mut self.overlay)
    }

    pub(crate) fn give_back(&mut self, overlay: InFlightOverlay) {
        self.overlay = overlay;
    }

    /// Adds an appended group. `after` is the last position before its append; a group without
    /// records depends on the records up to `after`.
    pub(crate) fn push(
        &mut self,
        after: Position,
        last: Option<Position>,
        payloads: Vec<Bytes>,
        decision: GroupDecision,
    ) {
        let number = self.next;
        self.next += 1;
        self.overlay
            .add(number, &decision.changes, &decision.counter_updates);
        let bytes = payloads.iter().map(Bytes::len).sum();
        self.bytes += bytes;
        self.groups.push_back(InFlightGroup {
            number,
            upto: last.unwrap_or(after),
            last,
            payloads,
            bytes,
            decision,
        });
    }

    fn first(&self) -> Option<Position> {
        self.groups.front().map(|group| group.upto)
    }

    fn pop(&mut self) -> Option<InFlightGroup> {
        let group = self.groups.pop_front()?;
        self.bytes -= group.bytes;
        let GroupDecision {
            changes,
            counter_updates,
            ..
        } = &group.decision;
        self.overlay.remove(group.number, changes, counter_updates);
        Some(group)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.groups.len() >= GROUPS_MAX || self.bytes >= BYTES_MAX
    }
}

impl Committer {
    /// Applies and answers committed groups from the front of the queue.
    pub(crate) fn apply_committed_groups(&mut self) {
        while let Some(first) = self.in_flight.first() {
            match self.log.commit_status(first) {
                CommitStatus::Committed => self.apply_first(),
                CommitStatus::Pending => return,
                CommitStatus::Unknown => self.abandon_in_flight(),
            }
        }
    }

    /// Applies the committed groups and abandons the remaining groups.
    pub(crate) fn end_in_flight(&mut self) {
        self.apply_committed_groups();
        if !self.in_flight.is_empty() {
            self.abandon_in_flight();
        }
    }

    fn apply_first(&mut self) {
        let Some(group) = self.in_flight.pop() else {
            return;
        };
        match self.read_only_cause.clone() {
            None => self.apply_group(group.last, group.decision),
            // An earlier group could not be applied, and this group was decided over its changes.
            Some(cause) => {
                let failure = crate::command::unavailable(&cause);
                group.decision.answer(Some(&failure));
            }
        }
    }

    /// Makes the records of all groups in flight uncommitted and answers the clients with an unknown
    /// outcome. A later write region or epoch decides whether the records stay.
    pub(crate) fn abandon_in_flight(&mut self) {
        // The index cache contains the effects of records that log repair may remove.
        self.states = IndexStateCache::default();
        let first = self.log_tail.applied().0 + 1;
        let mut payloads = Vec::new();
        let mut decisions = Vec::new();
        while let Some(group) = self.in_flight.pop() {
            payloads.extend(group.payloads);
            decisions.push(group.decision);
        }
        self.is_following |= !payloads.is_empty();
        self.uncommitted
            .extend((first..).map(Position).zip(payloads));
        // The replication is notified before any client: a client that repeats its write must not
        // reach a region that still expects these groups to commit.
        self.log.on_abandoned();
        for decision in decisions {
            decision.answer(Some(&Failure::OutcomeUnknown));
        }
    }
}
