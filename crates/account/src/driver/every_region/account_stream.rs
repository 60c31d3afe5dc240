//! The account stream in a log of its own: every region stores the stream and applies its committed
//! records.

use std::borrow::Cow;

use bytes::Bytes;
use orrery_engine::{AccountOutcome, Engine};
use orrery_partition::Error;
use orrery_regions::{
    LogRepair, RecordBody, RecordPageHeader, RegionId, Sequence, SnapshotMetadata, StreamId,
    StreamRecord,
};

use super::{AccountLog, EveryRegionWrites};
use crate::codec::decode_move;
use crate::driver::Driver;
use crate::driver::account_effects::AccountStreamStorage;
use crate::driver::start::StoredStream;

/// The account stream as the region has stored it.
pub(in crate::driver) fn stored_stream<'l>(
    engine: &Engine,
    log: &'l AccountLog,
) -> StoredStream<'l> {
    let applied = engine.version_vector().of(StreamId::Account);
    StoredStream {
        base: SnapshotMetadata::default(),
        log: Cow::Borrowed(log.records()),
        // A snapshot may have more of the account stream than the log.
        applied: applied.min(log.last()),
    }
}

impl AccountStreamStorage for Driver<EveryRegionWrites> {
    fn appended(&self) -> Sequence {
        self.strategy.log.last()
    }

    /// Appends records in the order of their sequences, whichever task made them.
    async fn append(&mut self, records: Vec<StreamRecord>) {
        let records = records.into_iter();
        self.strategy
            .unappended
            .extend(records.map(|record| (record.sequence, record)));
        let mut next = Vec::new();
        let mut sequence = self.strategy.log.last().next();
        while let Some(record) = self.strategy.unappended.remove(&sequence) {
            sequence = sequence.next();
            next.push(record);
        }
        if next.is_empty() {
            return;
        }
        match self.strategy.log.append(next) {
            Ok(()) => {
                let now = self.shared.now();
                self.shared
                    .lock()
                    .replica
                    .mark_durable(now, self.strategy.log.last());
            }
            Err(error) => self.break_down(&error.to_string()),
        }
    }

    fn read_page(
        &mut self,
        _to: RegionId,
        head: RecordPageHeader,
        bytes_max: u64,
    ) -> Option<(RecordPageHeader, Vec<StreamRecord>)> {
        Some((head, self.strategy.log.after(head.after, bytes_max)))
    }

    /// The account stream is durable when it is appended, and an engine may write while another
    /// region becomes the hub.
    async fn prepare_promise(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn repair_log(&mut self, repair: LogRepair) {
        if repair.rewinds {
            return self.break_down(
                "the hub was replaced with loss, and this region has changes of the catalogue that are no more: \
                 remove it by force, and add it again without its directory",
            );
        }
        // No reader has seen the cut records, because the state follows the commit index.
        self.strategy.unappended.clear();
        if let Err(error) = self.strategy.log.cut(repair.diverged_from) {
            return self.break_down(&error.to_string());
        }
        let now = self.shared.now();
        let mut core = self.shared.lock();
        core.replica.cut(now);
        // Other records take the sequences of the cut ones, and the outcome of those must not answer
        // these proposals.
        drop(core.proposals.split_off(&repair.diverged_from.next()));
    }

    /// The account stream is never trimmed; a region that would need a snapshot of it has stopped
    /// after an error.
    fn may_fetch_snapshot(&self) -> bool {
        false
    }
}

impl Driver<EveryRegionWrites> {
    /// Applies the committed records of the account stream. True if there were any.
    pub(super) async fn apply_account(&mut self) -> bool {
        let mut did = self.follow_copied_account().await;
        loop {
            let limit = self.shared.lock().replica.apply_limit();
            let next = self.engine.version_vector().of(StreamId::Account).next();
            if next > limit || self.broken.is_some() {
                return did;
            }
            let Some(record) = self.strategy.log.get(next).cloned() else {
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
            self.strategy.replica.applied(StreamId::Account, next);
            if let Some(waiting) = waiting {
                // The waiting request may have been dropped.
                let _ = waiting.send(outcome);
            }
        }
    }

    /// The catalogue change in a record of the account stream, if there is one.
    pub(super) fn catalogue_change(&self, record: &StreamRecord) -> Option<Bytes> {
        match &record.body {
            RecordBody::Data(data)
                if self.strategy.partitions.is_some() && decode_move(data).is_some() =>
            {
                None
            }
            RecordBody::Data(data) => Some(data.clone()),
            RecordBody::EpochStart(_) | RecordBody::Members(_) => None,
        }
    }

    async fn follow_partitions(&mut self, applied: Sequence) {
        let EveryRegionWrites {
            partitions,
            replica,
            log,
            ..
        } = &mut self.strategy;
        if let Some(partitions) = partitions {
            let records = log.upto(applied);
            partitions.applied(&self.engine, replica, records).await;
        }
    }

    /// The state of a snapshot may include records of the account stream that reach the log only
    /// later.
    async fn follow_copied_account(&mut self) -> bool {
        let has = {
            let mut core = self.shared.lock();
            let limit = core.replica.apply_limit().min(self.strategy.log.last());
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
