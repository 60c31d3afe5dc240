//! Groups that are durable here and that other regions must keep before anybody may see them.
//!
//! ```text
//! decide over state and what is under way -> append, sync -> under way -> others keep it -> apply, answer
//! ```
//!
//! A group does not wait for the one before it, so a write takes one round trip to the others however
//! many there are. Groups are applied and answered in their order, also those without records: what
//! they found may be what is under way. Only transactions on items are decided over groups under way;
//! everything else waits until they are in the state ([`crate::command::Beside`]). If it becomes
//! uncertain whether a group is part of the history, so it is for all after it: they are held back
//! together ([`crate::pending`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::Failure;
use orrery_regions::Progress;

use crate::Verdict;
use crate::beneath::Beneath;
use crate::committer::{Appended, Committer};
use crate::group::{Finish, Touched};
use crate::index_state::IndexStates;
use crate::overlay::Decided;
use crate::record::Record;

/// More than this waits no longer for others than for room.
const GROUPS_MAX: usize = 1024;
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// Whoever knows that others have a group says so; if that is lost, it is noticed after this.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What a group has decided and whom it answers.
pub(crate) struct Decision {
    pub(crate) decided: Decided,
    pub(crate) touched: Touched,
    pub(crate) records: Vec<Record>,
    pub(crate) progress: Option<Progress>,
    pub(crate) replies: Vec<Finish>,
}

impl Decision {
    pub(crate) fn answer(self, failure: Option<&Failure>) {
        for reply in self.replies {
            reply(failure.cloned());
        }
    }
}

#[derive(Default)]
pub(crate) struct UnderWay {
    groups: VecDeque<Waiting>,
    /// What they have changed; the group that is being decided has it.
    beneath: Beneath,
    bytes: usize,
    next: u64,
}

struct Waiting {
    number: u64,
    /// It may be seen when the records up to here may be.
    upto: Position,
    last: Option<Position>,
    payloads: Vec<Bytes>,
    bytes: usize,
    decision: Decision,
}

impl UnderWay {
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How long nobody needs to look after them.
    pub(crate) fn patience(&self) -> Option<Duration> {
        (!self.is_empty()).then_some(LOOK_AGAIN)
    }

    pub(crate) fn lend(&mut self) -> Beneath {
        std::mem::take(&mut self.beneath)
    }

    pub(crate) fn give_back(&mut self, beneath: Beneath) {
        self.beneath = beneath;
    }

    /// Adds a group that comes after a record, and has perhaps some of its own.
    pub(crate) fn push(&mut self, after: Position, appended: Appended, decision: Decision) {
        let Appended { last, payloads, .. } = appended;
        let number = self.next;
        self.next += 1;
        self.beneath
            .add(number, &decision.decided, &decision.touched);
        let bytes = payloads.iter().map(Bytes::len).sum();
        self.bytes += bytes;
        self.groups.push_back(Waiting {
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

    fn pop(&mut self) -> Option<Waiting> {
        let group = self.groups.pop_front()?;
        self.bytes -= group.bytes;
        let Decision {
            decided, touched, ..
        } = &group.decision;
        self.beneath.remove(group.number, decided, touched);
        Some(group)
    }

    fn is_full(&self) -> bool {
        self.groups.len() >= GROUPS_MAX || self.bytes >= BYTES_MAX
    }
}

impl Committer {
    /// Applies and answers what may be seen by now.
    pub(crate) fn advance(&mut self) {
        while let Some(first) = self.under_way.first() {
            let Some(authority) = self.authority.clone() else {
                return;
            };
            match authority.verdict(first) {
                Verdict::Settled => self.see_first(),
                Verdict::Open => return,
                Verdict::Lost => self.hold_under_way_back(),
            }
        }
    }

    /// Waits until there may be one more.
    pub(crate) fn make_room(&mut self) {
        while self.under_way.is_full() {
            self.settle_first();
        }
    }

    /// Waits until all of them are in the state, or held back.
    pub(crate) fn settle_under_way(&mut self) {
        while !self.under_way.is_empty() {
            self.settle_first();
        }
    }

    /// Leaves it at what may be seen now.
    pub(crate) fn end_under_way(&mut self) {
        self.advance();
        if !self.under_way.is_empty() {
            self.hold_under_way_back();
        }
    }

    fn settle_first(&mut self) {
        let Some(first) = self.under_way.first() else {
            return;
        };
        let authority = self.authority.clone();
        let verdict = authority.map_or(Verdict::Lost, |authority| authority.settle(first));
        match verdict {
            Verdict::Settled => self.see_first(),
            Verdict::Open if self.append_notes() => {}
            Verdict::Open | Verdict::Lost => self.hold_under_way_back(),
        }
    }

    /// Appends notes on which depends what becomes of the groups before. False if that is not possible.
    fn append_notes(&mut self) -> bool {
        let before = self.under_way.next;
        let storage = Arc::clone(&self.storage);
        let mut group = self.group(&storage);
        (group.has_notes, group.is_waited_for) = (true, false);
        self.finish_group(group);
        self.under_way.next > before
    }

    fn see_first(&mut self) {
        let Some(group) = self.under_way.pop() else {
            return;
        };
        match self.broken.clone() {
            None => self.see(group.last, group.decision),
            // What was decided before it is not in the state.
            Some(cause) => {
                let failure = crate::command::unavailable(&cause);
                group.decision.answer(Some(&failure));
            }
        }
    }

    /// Nobody is told what became of them; the state follows when somebody knows.
    fn hold_under_way_back(&mut self) {
        // They hold what the records would have done.
        self.states = IndexStates::default();
        let first = self.committed.applied().0 + 1;
        let mut payloads = Vec::new();
        let mut decisions = Vec::new();
        while let Some(group) = self.under_way.pop() {
            payloads.extend(group.payloads);
            decisions.push(group.decision);
        }
        self.is_following |= !payloads.is_empty();
        self.pending.extend((first..).map(Position).zip(payloads));
        if let Some(authority) = &self.authority {
            authority.held_back();
        }
        for decision in decisions {
            decision.answer(Some(&Failure::OutcomeUnknown));
        }
    }
}
