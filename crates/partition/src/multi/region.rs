//! What a driver of regions asks of a store.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::{Failure, Stamp};
use orrery_regions::{Epoch, Progress, RegionId, Sequence, StreamId, StreamRecord};

use super::conflicts::conflicts;
use super::{
    AccountChange, AccountOutcome, Horizon, MergeError, RegionCommand, StoredConflict, StreamReader,
};
use crate::command::Command;
use crate::committer::internal;
use crate::scan::ScanRange;
use crate::{Reply, SettleItem, Store, Witness};

impl Store {
    /// The region of a multi-write account that this is, if it is one.
    pub fn region(&self) -> Option<RegionId> {
        self.multi.as_ref().map(|multi| multi.region)
    }

    /// The region and position that the state was copied from, if it was.
    pub fn copied_from(&self) -> Option<(RegionId, u64)> {
        self.multi.as_ref()?.copied_from
    }

    /// What is applied of every stream, the own one included.
    pub fn progress(&self) -> Progress {
        let multi = self.multi.as_ref();
        multi.map(|multi| multi.progress()).unwrap_or_default()
    }

    /// The epoch of the account stream that records made from now on carry.
    pub fn set_epoch(&self, epoch: Epoch) {
        if let Some(multi) = &self.multi {
            multi.set_epoch(epoch);
        }
    }

    /// Begins to give out the records of streams; none if the store is no region. What was not
    /// acknowledged is kept while it is no more than `kept_bytes_max`, and all of it until it is said
    /// what others have of it ([`StreamReader::pin`]).
    pub fn stream_reader(&self, kept_bytes_max: u64) -> Option<StreamReader> {
        let multi = Arc::clone(self.multi.as_ref()?);
        let mut subscription = self.subscribe(Position::ZERO, kept_bytes_max);
        let from = subscription.begins_after();
        subscription.acknowledge(from);
        subscription.pin(Some(from));
        Some(StreamReader::new(subscription, multi, from))
    }

    /// Queues records of region streams, each after what it depends on. The reply says what is
    /// applied then; those that were applied already are skipped.
    pub fn submit_merge(
        &self,
        records: Vec<StreamRecord>,
        witness: Arc<dyn Witness>,
        reply: Reply<Result<Progress, MergeError>>,
    ) {
        self.send_region(RegionCommand::Merge {
            records,
            witness,
            reply,
        });
    }

    /// Queues a record of the account stream. Its data is that of [`crate::account_data`], or none
    /// if it says something else.
    pub fn submit_account(
        &self,
        sequence: Sequence,
        data: Option<&Bytes>,
        witness: Arc<dyn Witness>,
        reply: Reply<Result<AccountOutcome, MergeError>>,
    ) {
        let Some(change) = AccountChange::of_data(sequence, data.map(|data| &data[..])) else {
            reply(Err(MergeError::Refused {
                stream: StreamId::Account,
                sequence,
                cause: "it does not decode".to_owned(),
            }));
            return;
        };
        self.send_region(RegionCommand::Account {
            change,
            witness,
            reply,
        });
    }

    /// Queues a step of forgetting what every later change will have seen. In the containers
    /// `by_hub` conflicts stay until they are decided. The reply says whether it should be called
    /// again.
    pub fn submit_prune(
        &self,
        horizon: Progress,
        by_hub: BTreeSet<u32>,
        reply: Reply<Result<bool, Failure>>,
    ) {
        let horizon = Horizon {
            seen: horizon,
            by_hub,
        };
        self.send_region(RegionCommand::Prune(horizon, reply));
    }

    /// Items with versions that are not shown, in key order, after one of them.
    pub fn conflicts(
        &self,
        scope: &ScanRange,
        after: Option<&Bytes>,
        limit: usize,
    ) -> Result<Vec<StoredConflict>, Failure> {
        if self.multi.is_none() {
            return Ok(Vec::new());
        }
        let snapshot = self.storage.snapshot();
        conflicts(&snapshot, scope, after, limit).map_err(|error| internal(&error))
    }

    /// Queues the decision that an item stays as it is shown.
    pub fn submit_settle(&self, settle: SettleItem, reply: Reply<Result<Stamp, Failure>>) {
        self.send_region(RegionCommand::Settle(settle, reply));
    }

    pub(super) fn send_region(&self, command: RegionCommand) {
        self.send(Command::Region(command));
    }
}
