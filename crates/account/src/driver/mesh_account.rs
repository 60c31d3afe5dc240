//! The account stream of an account in which every region writes: the hub brings changes of the catalogue
//! into it, all regions keep it in a log of its own and apply what a majority has.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{AccountOutcome, AccountWriter};
use orrery_model::Failure;
use orrery_regions::{
    Body, Effect, Message, Page, PageHead, RegionId, Sequence, StreamId, StreamRecord,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::MultiDriver;
use super::core::Shared;
use crate::Frame;
use crate::codec::decode_move;

/// For a change of the catalogue to be had by a majority.
const CATALOGUE_PATIENCE: Duration = Duration::from_secs(10);

/// Brings changes of the catalogue into the account stream, in the hub.
pub(super) struct HubWriter(Weak<Shared>);

impl HubWriter {
    pub(super) fn of(shared: &Arc<Shared>) -> HubWriter {
        HubWriter(Arc::downgrade(shared))
    }
}

impl AccountWriter for HubWriter {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let Some(shared) = self.0.upgrade() else {
                return Err(Failure::Timeout);
            };
            let (_, answer) = propose(&shared, data)?;
            match timeout(CATALOGUE_PATIENCE, answer).await {
                Ok(Ok(AccountOutcome::Applied)) => Ok(()),
                Ok(Ok(AccountOutcome::Void | AccountOutcome::Known)) => Err(Failure::RetryWith),
                Ok(Err(_)) | Err(_) => Err(Failure::Timeout),
            }
        })
    }
}

/// Makes a record of the account stream; tells which, and when it is applied here.
pub(crate) fn propose(
    shared: &Shared,
    data: Bytes,
) -> Result<(Sequence, oneshot::Receiver<AccountOutcome>), Failure> {
    let (applied, answer) = oneshot::channel();
    let now = shared.now();
    let mut core = shared.lock();
    let written = core.replica.write(now, data);
    let record = written.map_err(super::refusal)?;
    let sequence = record.sequence;
    core.proposals.insert(sequence, applied);
    core.appending.push(record);
    drop(core);
    shared.wake();
    Ok((sequence, answer))
}

impl MultiDriver {
    /// Carries out what the account stream asks. True if there was anything.
    pub(super) async fn follow_account(&mut self) -> bool {
        let (effects, appending) = {
            let mut core = self.shared.lock();
            let appending = std::mem::take(&mut core.appending);
            (core.replica.take_effects(), appending)
        };
        let mut did = !effects.is_empty() || !appending.is_empty();
        self.append(appending);
        for effect in effects {
            self.carry_out_account(effect);
        }
        did |= self.apply_account().await;
        did
    }

    /// Appends records in the order of their places, whoever made them.
    fn append(&mut self, records: Vec<StreamRecord>) {
        let records = records.into_iter();
        self.unappended
            .extend(records.map(|record| (record.sequence, record)));
        let mut next = Vec::new();
        let mut sequence = self.log.last().next();
        while let Some(record) = self.unappended.remove(&sequence) {
            sequence = sequence.next();
            next.push(record);
        }
        if next.is_empty() {
            return;
        }
        match self.log.append(next) {
            Ok(()) => {
                let now = self.shared.now();
                self.shared.lock().replica.kept(now, self.log.last());
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    fn carry_out_account(&mut self, effect: Effect) {
        match effect {
            Effect::Save(saved) => {
                if let Err(error) = self.place.save(saved) {
                    self.break_down(&error.to_string());
                    self.shared.set_down(true);
                }
            }
            Effect::Append(records) => self.append(records),
            Effect::Send { to, message } => self.send(to, Frame::Account(message)),
            Effect::SendPage {
                to,
                head,
                bytes_max,
            } => self.send_page(to, head, bytes_max),
            Effect::Rejoin(rejoin) if rejoin.rewinds => self.break_down(
                "the hub was replaced with loss, and this region has changes of the catalogue that are no more: \
                 remove it by force, and add it again without its directory",
            ),
            Effect::Rejoin(rejoin) => {
                // Nobody has seen what is taken back: the state follows what is committed.
                self.unappended.clear();
                if let Err(error) = self.log.cut(rejoin.diverged_from) {
                    self.break_down(&error.to_string());
                    return;
                }
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.cut(now);
                // Their places go to records of others, whose fate is not theirs.
                drop(core.proposals.split_off(&rejoin.diverged_from.next()));
            }
            // The account stream is never trimmed; who needs a copy of it has broken down.
            Effect::FetchSnapshot { .. } => {}
            Effect::Read { read, outcome } => {
                let waiting = self.shared.lock().reads.remove(&read);
                if let Some(waiting) = waiting {
                    let _ = waiting.send(outcome);
                }
            }
        }
    }

    fn send_page(&mut self, to: RegionId, head: PageHead, bytes_max: u64) {
        let records = self.log.after(head.after, bytes_max);
        if records.is_empty() && self.pages.hold(to, head, self.shared.now()) {
            return;
        }
        let page = Page { head, records };
        self.send(to, Frame::Account(Message::Page(page)));
    }

    /// Looks whether questions for the account stream have an answer.
    pub(super) fn answer_pulls(&mut self) {
        let commit = self.shared.lock().replica.commit();
        for (from, pull) in self.pages.due(self.log.last(), commit) {
            let now = self.shared.now();
            let effects = {
                let mut core = self.shared.lock();
                core.replica.receive(now, from, Message::Pull(pull));
                core.replica.take_effects()
            };
            for effect in effects {
                self.carry_out_account(effect);
            }
        }
    }

    /// Applies what is committed of the account stream. True if something was.
    async fn apply_account(&mut self) -> bool {
        let mut did = self.follow_copied_account().await;
        loop {
            let limit = self.shared.lock().replica.apply_limit();
            let next = self.engine.progress().of(StreamId::Account).next();
            if next > limit || self.broken.is_some() {
                return did;
            }
            let Some(record) = self.log.get(next).cloned() else {
                return did;
            };
            if let Some(members) = record.members()
                && !self.prepare_members(members).await
            {
                return did;
            }
            let change = self.catalogue_change(&record);
            let is_change = change.is_some();
            let outcome = match self.engine.apply_account(next, change).await {
                Ok(outcome) if is_change => outcome,
                Ok(_) => AccountOutcome::Applied,
                Err(error) => {
                    self.break_down(&error.to_string());
                    return did;
                }
            };
            did = true;
            let waiting = {
                let mut core = self.shared.lock();
                core.replica.applied(next);
                core.proposals.remove(&next)
            };
            if !matches!(record.body, Body::Data(_)) {
                self.follow_members();
            }
            self.follow_partitions(next).await;
            self.mesh.applied(StreamId::Account, next);
            if let Some(waiting) = waiting {
                // Whoever waited may have gone.
                let _ = waiting.send(outcome);
            }
        }
    }

    /// What a record of the account stream does to the catalogue, if anything.
    pub(super) fn catalogue_change(&self, record: &StreamRecord) -> Option<Bytes> {
        match &record.body {
            Body::Data(data) if self.partitions.is_some() && decode_move(data).is_some() => None,
            Body::Data(data) => Some(data.clone()),
            Body::EpochStart(_) | Body::Members(_) => None,
        }
    }

    async fn follow_partitions(&mut self, applied: Sequence) {
        if let Some(partitions) = &mut self.partitions {
            let (shared, engine, records) = (&self.shared, &self.engine, self.log.upto(applied));
            partitions
                .applied(shared, engine, &self.mesh, records)
                .await;
        }
    }

    /// A copied state has records of the account stream that come into the log only later.
    async fn follow_copied_account(&mut self) -> bool {
        let has = {
            let mut core = self.shared.lock();
            let limit = core.replica.apply_limit().min(self.log.last());
            let has = self.engine.progress().of(StreamId::Account).min(limit);
            if has <= core.replica.applied_last() {
                return false;
            }
            core.replica.applied(has);
            has
        };
        self.follow_members();
        self.follow_partitions(has).await;
        true
    }
}
