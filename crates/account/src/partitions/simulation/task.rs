//! The task of a region: what the real one does (`driver/every_region`), in the same order.

use orrery_engine::AccessTable;
use orrery_regions::{
    Millis, MultiWriteEffect, MultiWriteMessage, RecordBody, RecordPage, ReplicaEffect,
    ReplicaMessage, Sequence, StreamId, StreamRecord,
};

use super::super::RegionView;
use super::history::History;
use super::node::{Node, Outbox, Wire};
use super::plan::{Bug, HELD_MS};
use crate::{LinkFrame, PartitionsFrame};

/// A region merges only a few records at a time.
const MERGE_BYTES: u64 = 500;
const TELL_MS: u64 = 1_000;

impl Node {
    /// Carries out effects until no effect is left, as the real task does after every event.
    pub(super) fn settle(&mut self, now: u64, history: &mut History) -> Outbox {
        let (clock, own) = (self.clock(now), self.own());
        let mut out = Vec::new();
        if self.is_away {
            if let Some(life) = &mut self.life {
                life.failover.mark_down(clock);
                life.table = AccessTable::closed();
            }
            self.tell_history(now, history);
            return out;
        }
        if self.life.is_none() {
            return out;
        }
        loop {
            let is_quiet = !self.follow_account(now, history, &mut out);
            let written = self.disk.progress.of(own);
            if let Some(life) = &mut self.life {
                life.multi_write.applied(own, written);
            }
            let is_merged = self.merge();
            self.carry_out_mesh(&mut out);
            if is_quiet && !is_merged {
                break;
            }
        }
        if !self.plan.has(Bug::SayBeforeClosing) {
            self.refresh(now, history);
        }
        self.tell_partitions(clock, history, &mut out);
        out
    }

    fn follow_account(&mut self, now: u64, history: &mut History, out: &mut Outbox) -> bool {
        let Some(life) = &mut self.life else {
            return false;
        };
        let effects = life.replica.take_effects();
        let mut did = !effects.is_empty();
        did |= self.append(now, Vec::new());
        for effect in effects {
            self.carry_out(now, effect, out);
        }
        did | self.apply_account(now, history)
    }

    fn append(&mut self, now: u64, records: Vec<StreamRecord>) -> bool {
        let (clock, last) = (self.clock(now), self.last());
        let Some(life) = &mut self.life else {
            return false;
        };
        let records = records.into_iter();
        life.unappended
            .extend(records.map(|record| (record.sequence, record)));
        let mut next = last.next();
        while let Some(record) = life.unappended.remove(&next) {
            self.disk.account.push(record);
            next = next.next();
        }
        let kept = Sequence(self.disk.account.len() as u64);
        if kept > last {
            life.replica.mark_durable(clock, kept);
        }
        kept > last
    }

    fn carry_out(&mut self, now: u64, effect: ReplicaEffect, out: &mut Outbox) {
        match effect {
            ReplicaEffect::SaveHardState(saved) => self.disk.saved.promised = saved.promised,
            ReplicaEffect::Append(records) => {
                self.append(now, records);
            }
            ReplicaEffect::Send { to, message } => {
                out.push((to, Wire::Frame(LinkFrame::Account(message)), 0));
            }
            ReplicaEffect::SendPage {
                to,
                head,
                bytes_max,
            } => {
                let records = page(&self.disk.account, head.after, bytes_max);
                let held = if records.is_empty() { HELD_MS } else { 0 };
                let page = ReplicaMessage::Page(RecordPage { head, records });
                out.push((to, Wire::Frame(LinkFrame::Account(page)), held));
            }
            ReplicaEffect::RepairLog(repair) => {
                assert!(!repair.rewinds, "nothing is applied that a majority lacks");
                let clock = self.clock(now);
                let diverged = usize::try_from(repair.diverged_from.0).unwrap();
                self.disk.account.truncate(diverged);
                if let Some(life) = &mut self.life {
                    life.unappended.clear();
                    life.replica.cut(clock);
                }
            }
            ReplicaEffect::FetchSnapshot { .. } => {
                unreachable!("the account stream is never trimmed")
            }
            ReplicaEffect::AnswerRead { .. } => unreachable!("nobody reads"),
        }
    }

    fn apply_account(&mut self, now: u64, history: &mut History) -> bool {
        let mut did = self.follow_copied_account(now, history);
        while let Some(life) = &mut self.life {
            let next = self.disk.progress.of(StreamId::Account).next();
            let index = usize::try_from(next.0 - 1).unwrap();
            let record = self.disk.account.get(index).cloned();
            let Some(record) = record.filter(|_| next <= life.replica.apply_limit()) else {
                return did;
            };
            did = true;
            self.disk.progress.advance(StreamId::Account, next);
            life.replica.applied(next);
            history.applied(&record);
            if !matches!(record.body, RecordBody::Data(_)) {
                self.follow_members();
            }
            self.follow_partitions(now, history);
            if let Some(life) = &mut self.life {
                life.multi_write.applied(StreamId::Account, next);
            }
        }
        did
    }

    /// A copied state has records of the account stream that come into the log only later.
    fn follow_copied_account(&mut self, now: u64, history: &mut History) -> bool {
        let (applied, last) = (self.applied(), self.last());
        let Some(life) = &mut self.life else {
            return false;
        };
        let has = applied.min(last).min(life.replica.apply_limit());
        if has <= life.replica.applied_last() {
            return false;
        }
        life.replica.applied(has);
        self.follow_members();
        self.follow_partitions(now, history);
        true
    }

    fn follow_partitions(&mut self, now: u64, history: &mut History) {
        let Some(mut life) = self.life.take() else {
            return;
        };
        if self.plan.has(Bug::ForgetEarlierOwners) {
            life.failover.follow_forgetfully(self.followed());
        } else {
            life.failover.follow(self.followed());
        }
        self.life = Some(life);
        if !self.plan.has(Bug::SayBeforeClosing) {
            self.refresh(now, history);
        }
    }

    /// Updates the store's access table.
    pub(super) fn refresh(&mut self, now: u64, history: &mut History) {
        let clock = self.clock(now);
        if let Some(life) = self.life.as_mut().filter(|_| !self.is_away) {
            if self.plan.has(Bug::WaitForNobody) {
                life.failover.wait_for_nobody();
            }
            let view = RegionView {
                now: clock,
                replica: &life.replica,
                multi_write: &life.multi_write,
            };
            life.table = life.failover.refresh(view, life.board.down());
        }
        self.tell_history(now, history);
    }

    fn merge(&mut self) -> bool {
        let Some(life) = &mut self.life else {
            return false;
        };
        let records = life.multi_write.take_ready(MERGE_BYTES);
        let did = !records.is_empty();
        for record in records {
            let (stream, sequence) = (record.stream, record.sequence);
            self.disk.streams.entry(stream).or_default().push(record);
            self.disk.progress.advance(stream, sequence);
            life.multi_write.applied(stream, sequence);
        }
        did
    }

    fn carry_out_mesh(&mut self, out: &mut Outbox) {
        let Some(life) = &mut self.life else {
            return;
        };
        for effect in life.multi_write.take_effects() {
            match effect {
                MultiWriteEffect::Send { to, message } => {
                    out.push((to, Wire::Frame(LinkFrame::MultiWrite(message)), 0));
                }
                MultiWriteEffect::SendPage {
                    to,
                    stream,
                    after,
                    asked,
                    bytes_max,
                } => {
                    let stored = self.disk.streams.get(&stream).map(Vec::as_slice);
                    let mut records = page(stored.unwrap_or_default(), after, bytes_max);
                    if self.plan.has(Bug::LoseRecords) {
                        for record in records
                            .iter_mut()
                            .filter(|record| record.sequence.0 % 7 == 0)
                        {
                            record.body = RecordBody::Data(0_u64.to_le_bytes().to_vec().into());
                        }
                    }
                    let held = if records.is_empty() { HELD_MS } else { 0 };
                    let page = MultiWriteMessage::Page {
                        have: life.multi_write.progress().clone(),
                        stream,
                        after,
                        asked,
                        records,
                    };
                    out.push((to, Wire::Frame(LinkFrame::MultiWrite(page)), held));
                }
                MultiWriteEffect::FetchSnapshot { from } => out.push((from, Wire::AskCopy, 0)),
            }
        }
    }

    fn tell_partitions(&mut self, clock: Millis, history: &History, out: &mut Outbox) {
        let Some(life) = &mut self.life else {
            return;
        };
        let frame = PartitionsFrame {
            down: life.board.failing(),
            opened: life.failover.opened(),
        };
        let told = life.told.as_ref();
        if told.is_some_and(|(told, at)| *told == frame && clock.since(*at) < TELL_MS) {
            return;
        }
        life.told = Some((frame.clone(), clock));
        for to in history.regions.iter().filter(|to| **to != self.id) {
            out.push((*to, Wire::Frame(LinkFrame::Partitions(frame.clone())), 0));
        }
    }
}

/// Records of a stream after a sequence: at least one, and otherwise at most `bytes_max` bytes.
fn page(records: &[StreamRecord], after: Sequence, bytes_max: u64) -> Vec<StreamRecord> {
    let after = usize::try_from(after.0).unwrap();
    let mut bytes = 0;
    let rest = records.iter().skip(after);
    let fits = rest.take_while(|record| {
        let is_first = bytes == 0;
        bytes += record.bytes();
        is_first || bytes <= bytes_max
    });
    fits.cloned().collect()
}
