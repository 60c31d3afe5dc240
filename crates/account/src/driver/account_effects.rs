//! The effects of the account stream's replica. Modes of an account differ in the storage of the
//! stream: the log of the store, or a separate log ([`AccountStreamStorage`]).

use orrery_partition::Error;
use orrery_regions::{
    Consistency, HardState, LogRepair, RecordPage, RecordPageHeader, RegionId, ReplicaEffect,
    ReplicaMessage, Sequence, StreamRecord,
};

use super::Driver;
use super::snapshot_transfer::SnapshotRules;
use crate::LinkFrame;

/// Where a region stores the account stream.
pub(super) trait AccountStreamStorage {
    /// The last record in the log.
    fn appended(&self) -> Sequence;

    /// Appends records, and reports them to the replica once they are durable.
    async fn append(&mut self, records: Vec<StreamRecord>);

    /// The records of a page, and its header, which may begin later than the pull. None if
    /// the region cannot answer this pull now.
    fn read_page(
        &mut self,
        to: RegionId,
        head: RecordPageHeader,
        bytes_max: u64,
    ) -> Option<(RecordPageHeader, Vec<StreamRecord>)>;

    /// Makes the log durable, after the engine has stopped writing if the promise is to another
    /// region.
    async fn prepare_promise(&mut self) -> Result<(), Error>;

    /// Removes the records that are not part of the history, or prepares for the copy of a state
    /// that is.
    fn repair_log(&mut self, repair: LogRepair);

    /// Whether a snapshot may replace this region's state after another region has trimmed the next
    /// records from its log.
    fn may_fetch_snapshot(&self) -> bool;
}

impl<S> Driver<S>
where
    Driver<S>: AccountStreamStorage + SnapshotRules,
{
    pub(super) async fn carry_out(&mut self, effect: ReplicaEffect) {
        match effect {
            ReplicaEffect::SaveHardState(hard_state) => self.save(hard_state).await,
            ReplicaEffect::Append(records) => self.append(records).await,
            ReplicaEffect::Send { to, message } => self.send(to, LinkFrame::Account(message)),
            ReplicaEffect::SendPage {
                to,
                head,
                bytes_max,
            } => self.send_page(to, head, bytes_max),
            ReplicaEffect::FetchSnapshot { from } => {
                if self.may_fetch_snapshot() {
                    self.fetch_snapshot(from);
                }
            }
            ReplicaEffect::RepairLog(repair) => self.repair_log(repair),
            ReplicaEffect::AnswerRead { read, outcome } => {
                let waiting = self.shared.lock().reads.remove(&read);
                if let Some(waiting) = waiting {
                    // The request may have been dropped.
                    let _ = waiting.send(outcome);
                }
            }
        }
    }

    /// Makes the hard state durable. Without a durable promise no message that depends on it may
    /// leave, so the region goes down after a failure.
    async fn save(&mut self, hard_state: HardState) {
        // A region that relies on the promise also relies on the records that this region took
        // before it, so these are made durable first.
        let prepared = self.prepare_promise().await;
        let prepared = prepared.map_err(|error| error.to_string());
        let saved = prepared.and_then(|()| {
            let saved = self.directory.save(hard_state);
            saved.map_err(|error| error.to_string())
        });
        if let Err(cause) = saved {
            self.break_down(&cause);
            self.shared.set_down(true);
        }
    }

    fn send_page(&mut self, to: RegionId, head: RecordPageHeader, bytes_max: u64) {
        let Some((head, records)) = self.read_page(to, head, bytes_max) else {
            return;
        };
        // Below strong the state of a follower follows its log and needs no commit index.
        let needs_commit_index = self.shared.level == Consistency::Strong
            && self.pages.needs_commit_index(to, head.commit);
        let now = self.shared.now();
        if records.is_empty() && !needs_commit_index && self.pages.hold(to, head, now) {
            return;
        }
        self.send_records(to, head, records);
    }

    pub(super) fn send_records(
        &mut self,
        to: RegionId,
        head: RecordPageHeader,
        records: Vec<StreamRecord>,
    ) {
        let upto = records.last().map_or(head.after, |last| last.sequence);
        self.pages.answered(to, &head, upto);
        let page = RecordPage { head, records };
        self.send(to, LinkFrame::Account(ReplicaMessage::Page(page)));
    }

    /// Answers the waiting pulls for which there are records or a newer commit index now.
    pub(super) async fn answer_waiting_pulls(&mut self) {
        let commit = self.shared.lock().replica.commit();
        for (from, pull) in self.pages.due(self.appended(), commit) {
            let effects = {
                let now = self.shared.now();
                let mut core = self.shared.lock();
                core.replica.receive(now, from, ReplicaMessage::Pull(pull));
                core.replica.take_effects()
            };
            for effect in effects {
                self.carry_out(effect).await;
            }
        }
    }
}
