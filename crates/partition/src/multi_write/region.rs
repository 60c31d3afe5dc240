//! The interface of a store for the driver of a region.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::{Failure, PartitionLsn};
use orrery_regions::{Epoch, RegionId, Sequence, StreamId, StreamRecord, VersionVector};

use super::conflicts::conflicts;
use super::{AccountChange, AccountOutcome, Horizon, MergeError, StoredConflict, StreamReader};
use crate::command::Command;
use crate::committer::internal;
use crate::scan::ScanRange;
use crate::work::Work;
use crate::write::Write;
use crate::{CommitObserver, ConflictDecision, Reply, Store};

impl Store {
    /// The region of this store, if it belongs to a multi-write account.
    pub fn region(&self) -> Option<RegionId> {
        self.multi.as_ref().map(|multi| multi.region)
    }

    /// The region and position that the state was copied from, if any.
    pub fn copied_from(&self) -> Option<(RegionId, u64)> {
        self.multi.as_ref()?.copied_from
    }

    /// The applied sequence of every stream, including the region's own stream.
    pub fn progress(&self) -> VersionVector {
        let multi = self.multi.as_ref();
        multi.map(|multi| multi.progress()).unwrap_or_default()
    }

    /// Sets the epoch of the account stream that later records carry.
    pub fn set_epoch(&self, epoch: Epoch) {
        if let Some(multi) = &self.multi {
            multi.set_epoch(epoch);
        }
    }

    /// Starts reading the records of streams; `None` if the store is no region. Unacknowledged
    /// records are retained up to `kept_bytes_max` bytes, and all of them until the driver reports
    /// what other regions have ([`StreamReader::pin`]).
    pub fn stream_reader(&self, kept_bytes_max: u64) -> Option<StreamReader> {
        let multi = Arc::clone(self.multi.as_ref()?);
        let mut subscription = self.subscribe(Position::ZERO, kept_bytes_max);
        let from = subscription.begins_after();
        // The pin at the start of the log retains everything until the driver replaces it.
        subscription.acknowledge(from);
        subscription.pin(Some(from));
        Some(StreamReader::new(subscription, multi, from))
    }

    /// Queues records of region streams in causal order. The reply has the version vector
    /// afterwards; records that were applied before are skipped.
    pub fn submit_merge(
        &self,
        records: Vec<StreamRecord>,
        observer: Arc<dyn CommitObserver>,
        reply: Reply<Result<VersionVector, MergeError>>,
    ) {
        self.send(Command::Work(Work::Merge {
            records,
            observer,
            reply,
        }));
    }

    /// Queues a record of the account stream. Its data is from [`crate::account_data`], or `None`
    /// if the record changes no catalogue row.
    pub fn submit_account(
        &self,
        sequence: Sequence,
        data: Option<&Bytes>,
        observer: Arc<dyn CommitObserver>,
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
        self.send(Command::Work(Work::Account {
            change,
            observer,
            reply,
        }));
    }

    /// Queues a pruning step up to a horizon. In the containers `by_hub` conflicts stay until they
    /// are decided. The reply says whether another step is needed.
    pub fn submit_prune(
        &self,
        horizon: VersionVector,
        by_hub: BTreeSet<u32>,
        reply: Reply<Result<bool, Failure>>,
    ) {
        let horizon = Horizon {
            stable: horizon,
            by_hub,
        };
        self.send(Command::Work(Work::Prune(horizon, reply)));
    }

    /// Items with hidden versions, in key order, after the given key.
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

    /// Queues the decision that the visible version of an item wins.
    pub fn submit_resolve(
        &self,
        decision: ConflictDecision,
        reply: Reply<Result<PartitionLsn, Failure>>,
    ) {
        self.send(Command::Write(Write::Resolve(decision, reply)));
    }
}
