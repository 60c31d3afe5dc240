//! The account stream of a multi-write account: the hub brings catalogue changes into the stream;
//! every region stores the stream in a log of its own and applies the committed records.

use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{AccountOutcome, AccountStreamWriter};
use orrery_model::Failure;
use orrery_regions::{
    RecordBody, RecordPage, RecordPageHeader, RegionId, ReplicaEffect, ReplicaMessage, Sequence,
    StreamId, StreamRecord,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::MultiWriteDriver;
use crate::LinkFrame;
use crate::codec::decode_move;
use crate::driver::shared_replica::SharedReplica;

/// For a majority to make a catalogue change durable.
const CATALOGUE_PATIENCE: Duration = Duration::from_secs(10);
/// The limit for every region to apply the change; a region that is silent for this long is not
/// awaited.
const EVERYWHERE_PATIENCE: Duration = Duration::from_secs(2);

/// Brings catalogue changes into the account stream, in the hub.
pub(super) struct HubWriter(Weak<SharedReplica>);

impl HubWriter {
    pub(super) fn of(shared: &Arc<SharedReplica>) -> HubWriter {
        HubWriter(Arc::downgrade(shared))
    }
}

impl AccountStreamWriter for HubWriter {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let Some(shared) = self.0.upgrade() else {
                return Err(Failure::Timeout);
            };
            let (sequence, answer) = propose(&shared, data)?;
            match timeout(CATALOGUE_PATIENCE, answer).await {
                Ok(Ok(AccountOutcome::Applied)) => {
                    // The change is committed even if a region does not apply it in time.
                    let _ = timeout(
                        EVERYWHERE_PATIENCE,
                        wait_applied_everywhere(&shared, sequence),
                    )
                    .await;
                    Ok(())
                }
                Ok(Ok(AccountOutcome::Stale | AccountOutcome::AlreadyApplied)) => {
                    Err(Failure::RetryWith)
                }
                Ok(Err(_)) | Err(_) => Err(Failure::Timeout),
            }
        })
    }
}

/// Waits until every live region has applied a record of the account stream: a client that has
/// created a container may continue in any region.
async fn wait_applied_everywhere(shared: &SharedReplica, sequence: Sequence) {
    loop {
        let mut moved = pin!(shared.progressed());
        // `enable` registers the waiter before the check, so that progress between the check and
        // the `await` wakes this task.
        moved.as_mut().enable();
        if shared
            .lock()
            .replica
            .is_applied_everywhere(shared.now(), sequence)
        {
            return;
        }
        moved.await;
    }
}

/// Adds a record to the account stream; returns its sequence and a receiver for its outcome.
pub(crate) fn propose(
    shared: &SharedReplica,
    data: Bytes,
) -> Result<(Sequence, oneshot::Receiver<AccountOutcome>), Failure> {
    let (applied, answer) = oneshot::channel();
    let now = shared.now();
    let mut core = shared.lock();
    let written = core.replica.write(now, data);
    let record = written.map_err(crate::driver::refusal)?;
    let sequence = record.sequence;
    // The waiter and the record are stored under the lock that gave the record its sequence, so
    // that the task finds both or neither.
    core.proposals.insert(sequence, applied);
    core.appending.push(record);
    drop(core);
    shared.wake();
    Ok((sequence, answer))
}

impl MultiWriteDriver {
    /// Carries out the effects of the account stream's replica. True if there were any.
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

    /// Appends records in the order of their sequences, whichever task made them.
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
                self.shared
                    .lock()
                    .replica
                    .mark_durable(now, self.log.last());
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    fn carry_out_account(&mut self, effect: ReplicaEffect) {
        match effect {
            ReplicaEffect::SaveHardState(saved) => {
                if let Err(error) = self.directory.save(saved) {
                    self.break_down(&error.to_string());
                    self.shared.set_down(true);
                }
            }
            ReplicaEffect::Append(records) => self.append(records),
            ReplicaEffect::Send { to, message } => self.send(to, LinkFrame::Account(message)),
            ReplicaEffect::SendPage {
                to,
                head,
                bytes_max,
            } => self.send_page(to, head, bytes_max),
            ReplicaEffect::RepairLog(repair) if repair.rewinds => self.break_down(
                "the hub was replaced with loss, and this region has changes of the catalogue that are no more: \
                 remove it by force, and add it again without its directory",
            ),
            ReplicaEffect::RepairLog(repair) => {
                // No reader has seen the cut records, because the state follows the commit index.
                self.unappended.clear();
                if let Err(error) = self.log.cut(repair.diverged_from) {
                    self.break_down(&error.to_string());
                    return;
                }
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.cut(now);
                // Other records take the sequences of the cut ones, and the outcome of those must
                // not answer these proposals.
                drop(core.proposals.split_off(&repair.diverged_from.next()));
            }
            // The account stream is never trimmed; a region that would need a snapshot of it has
            // stopped after an error.
            ReplicaEffect::FetchSnapshot { .. } => {}
            ReplicaEffect::AnswerRead { read, outcome } => {
                let waiting = self.shared.lock().reads.remove(&read);
                if let Some(waiting) = waiting {
                    let _ = waiting.send(outcome);
                }
            }
        }
    }

    fn send_page(&mut self, to: RegionId, head: RecordPageHeader, bytes_max: u64) {
        let records = self.log.after(head.after, bytes_max);
        let needs_commit_index = self.pages.needs_commit_index(to, head.commit);
        if records.is_empty() && !needs_commit_index && self.pages.hold(to, head, self.shared.now())
        {
            return;
        }
        let upto = records.last().map_or(head.after, |last| last.sequence);
        self.pages.answered(to, &head, upto);
        let page = RecordPage { head, records };
        self.send(to, LinkFrame::Account(ReplicaMessage::Page(page)));
    }

    /// Answers the waiting pulls for which there are records now.
    pub(super) fn answer_pulls(&mut self) {
        let commit = self.shared.lock().replica.commit();
        for (from, pull) in self.pages.due(self.log.last(), commit) {
            let now = self.shared.now();
            let effects = {
                let mut core = self.shared.lock();
                core.replica.receive(now, from, ReplicaMessage::Pull(pull));
                core.replica.take_effects()
            };
            for effect in effects {
                self.carry_out_account(effect);
            }
        }
    }

    /// Applies the committed records of the account stream. True if there were any.
    async fn apply_account(&mut self) -> bool {
        let mut did = self.follow_copied_account().await;
        loop {
            let limit = self.shared.lock().replica.apply_limit();
            let next = self.engine.version_vector().of(StreamId::Account).next();
            if next > limit || self.broken.is_some() {
                return did;
            }
            let Some(record) = self.log.get(next).cloned() else {
                return did;
            };
            // Before the region reports a removal as applied, it stops its writes and saves its
            // diverged records.
            if let Some(members) = record.members()
                && !self.prepare_members(members).await
            {
                return did;
            }
            let change = self.catalogue_change(&record);
            let is_change = change.is_some();
            let outcome = match self.engine.apply_account_record(next, change).await {
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
                core.replica.report_applied();
                core.proposals.remove(&next)
            };
            if !matches!(record.body, RecordBody::Data(_)) {
                self.follow_members();
            }
            // The partitions close moved keys before this region's progress includes the record.
            self.follow_partitions(next).await;
            self.replica.applied(StreamId::Account, next);
            if let Some(waiting) = waiting {
                // The waiting request may have been dropped.
                let _ = waiting.send(outcome);
            }
        }
    }

    /// The catalogue change in a record of the account stream, if there is one.
    pub(super) fn catalogue_change(&self, record: &StreamRecord) -> Option<Bytes> {
        match &record.body {
            RecordBody::Data(data) if self.partitions.is_some() && decode_move(data).is_some() => {
                None
            }
            RecordBody::Data(data) => Some(data.clone()),
            RecordBody::EpochStart(_) | RecordBody::Members(_) => None,
        }
    }

    async fn follow_partitions(&mut self, applied: Sequence) {
        if let Some(partitions) = &mut self.partitions {
            let (shared, engine, records) = (&self.shared, &self.engine, self.log.upto(applied));
            partitions
                .applied(shared, engine, &self.replica, records)
                .await;
        }
    }

    /// The state of a snapshot may include records of the account stream that reach the log only
    /// later.
    async fn follow_copied_account(&mut self) -> bool {
        let has = {
            let mut core = self.shared.lock();
            let limit = core.replica.apply_limit().min(self.log.last());
            let has = self
                .engine
                .version_vector()
                .of(StreamId::Account)
                .min(limit);
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
