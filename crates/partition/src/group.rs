//! The commit group: transactions that share one append, one sync and one batch.
//!
//! The commit thread decides the transactions of a group one after the other over the same overlay,
//! so a later transaction reads the changes of an earlier one. Each transaction with changes becomes
//! one record. No client gets its reply before the committer has applied or refused the whole group.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Charge, Failure, Lsn, PartitionLsn, RangeId};
use orrery_regions::Epoch;

use crate::apply::{ChangeContext, apply_catalogue, apply_change};
use crate::command::{Reply, TransactionOutcome};
use crate::committer::internal;
use crate::document_key::CONTAINER_BYTES;
use crate::expiry::{self, ExpiryCandidate};
use crate::index_state::IndexStateCache;
use crate::indexing::PrecomputedEntries;
use crate::keyspaces::{DOCUMENTS, EXPIRY};
use crate::multi_write::{MultiWriteRegion, VersionIdAllocator, finish_local_write, visible_value};
use crate::overlay::Overlay;
use crate::record::{KeyChange, Record, RecordHeader};
use crate::stored_item::{StoredItem, with_record_position, with_version_id};
use crate::transaction::{TransactionDecision, decide};
use crate::watches::Watches;
use crate::{Container, Counters, Error, ItemTransaction, Partition, ScriptCommit};

/// The changed partitions by container and range, with their counters after the group.
pub(crate) type CounterUpdates = BTreeMap<(u32, RangeId), (Arc<Partition>, Counters)>;

/// The callback of one client: gets `None` after the group is applied, or the failure of the group.
pub(crate) type GroupReply = Box<dyn FnOnce(Option<Failure>) + Send>;

pub(crate) struct CommitGroup<'a> {
    pub(crate) overlay: Overlay<'a>,
    pub(crate) states: IndexStateCache,
    pub(crate) counter_updates: CounterUpdates,
    pub(crate) records: Vec<Record>,
    pub(crate) replies: Vec<GroupReply>,
    /// Whether the log may have notes to append, so that a group without records is appended too.
    pub(crate) has_notes: bool,
    /// Whether the commit thread applies this group before it decides the next command.
    pub(crate) must_apply: bool,
    /// The version ids of the group's records, in a region of a multi-write account.
    pub(crate) version_ids: Option<VersionIdAllocator>,
    /// The region of this store, with its access table, in a multi-write account.
    multi: Option<Arc<MultiWriteRegion>>,
    watches: Arc<Watches>,
    bytes: usize,
}

/// The changes of one record.
pub(crate) struct RecordChanges {
    pub(crate) list: Vec<KeyChange>,
    /// The ordinals of the changes that remove expired documents.
    pub(crate) expired: Vec<u16>,
}

/// The effect of the expiry sweep on one document.
enum ExpiryOutcome {
    Stays,
    /// The document gets this value; `None` removes the document.
    Becomes(Option<Bytes>),
}

impl<'a> CommitGroup<'a> {
    pub(crate) fn new(
        overlay: Overlay<'a>,
        states: IndexStateCache,
        watches: Arc<Watches>,
        version_ids: Option<VersionIdAllocator>,
    ) -> CommitGroup<'a> {
        CommitGroup {
            overlay,
            states,
            counter_updates: CounterUpdates::new(),
            records: Vec::new(),
            replies: Vec::new(),
            has_notes: false,
            must_apply: false,
            version_ids,
            multi: None,
            watches,
            bytes: 0,
        }
    }

    pub(crate) fn in_region(self, multi: Option<&Arc<MultiWriteRegion>>) -> CommitGroup<'a> {
        let multi = multi.map(Arc::clone);
        CommitGroup { multi, ..self }
    }

    /// Refuses a write whose key belongs to another region. Every record of a client passes this
    /// check on the commit thread. The same thread replaces the access table, so no record for a
    /// closed key can follow the replacement.
    pub(crate) fn check_write(&self, container: u32, key_position: &[u8]) -> Result<(), Failure> {
        self.multi.as_ref().map_or(Ok(()), |multi| {
            multi.access.check_write(container, key_position)
        })
    }

    /// Whether the group has neither records, replies nor notes.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.replies.is_empty() && !self.has_notes
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Decides an item transaction and queues the reply to its client.
    pub(crate) fn items(&mut self, transaction: ItemTransaction, reply: Reply<TransactionOutcome>) {
        let container = transaction.container.rid.id();
        let key_position = transaction.logical.key_position();
        // A split or merge may have superseded the partition since the request was queued.
        let partition = Arc::clone(transaction.partition.holder(key_position));
        let transaction = ItemTransaction {
            partition: Arc::clone(&partition),
            ..transaction
        };
        let count = transaction.operations.len();
        let seconds = transaction.now_seconds;
        let before = self.counters(container, &partition);
        let oversized = partition.oversized.of(transaction.logical.prefix());
        let is_full = oversized
            .as_ref()
            .is_some_and(|oversized| oversized.is_full());
        let mut refused = self.check_write(container, transaction.logical.key_position());
        if is_full && transaction.may_grow() {
            refused = refused.and(Err(Failure::LogicalPartitionFull));
        }
        if let Err(refusal) = refused {
            let partition_lsn = partition.partition_lsn();
            self.replies.push(Box::new(move |failure| {
                let failure = failure.unwrap_or(refusal);
                let results = (0..count).map(|_| Err(failure.clone())).collect();
                reply(TransactionOutcome {
                    results,
                    partition_lsn,
                    undone: Charge::ZERO,
                });
            }));
            return;
        }
        let header = record_header(container, &partition, before.lsn, seconds);
        let (results, undone, lsn) = match self.decide_items(transaction, header, before) {
            Ok((decision, header)) => {
                let Counters { lsn, bytes, .. } = decision.counters;
                if let Some(oversized) = oversized {
                    oversized.grow(bytes.wrapping_sub(before.bytes).cast_signed());
                }
                let changed = RecordChanges {
                    list: decision.changes,
                    expired: decision.expired,
                };
                self.record(header, &partition, decision.counters, changed);
                (decision.results, decision.undone, lsn)
            }
            Err(error) => (
                (0..count).map(|_| Err(internal(&error))).collect(),
                Charge::ZERO,
                before.lsn,
            ),
        };
        self.replies.push(Box::new(move |failure| {
            let partition_lsn = PartitionLsn {
                range: partition.id,
                lsn,
            };
            reply(match failure {
                None => TransactionOutcome {
                    results,
                    partition_lsn,
                    undone,
                },
                Some(failure) => TransactionOutcome {
                    results: (0..count).map(|_| Err(failure.clone())).collect(),
                    partition_lsn: partition.partition_lsn(),
                    undone,
                },
            });
        }));
    }

    fn decide_items(
        &mut self,
        transaction: ItemTransaction,
        header: RecordHeader,
        before: Counters,
    ) -> Result<(TransactionDecision, RecordHeader), Error> {
        let savepoint = self.overlay.savepoint();
        // The id is only read here: `record` consumes it, and only if the transaction has changes.
        let version_id = self.version_ids.as_ref().map(VersionIdAllocator::next);
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        let mut decision = decide(transaction, overlay, states, before, version_id)?;
        let header = RecordHeader {
            lsn: decision.counters.lsn,
            version_id,
            ..header
        };
        if !decision.changes.is_empty() {
            let count = decision.changes.len();
            let finished =
                finish_local_write(overlay, states, header, count, &mut decision.counters);
            finished.inspect_err(|_| self.overlay.roll_back(savepoint))?;
        }
        Ok((decision, header))
    }

    /// Decides the commit of a script. The script runs again if another transaction has changed its
    /// logical partition since the script took its snapshot.
    pub(crate) fn script(
        &mut self,
        commit: ScriptCommit,
        reply: Reply<Result<PartitionLsn, Failure>>,
    ) {
        let key_position = &commit.prefix[CONTAINER_BYTES..];
        let partition = Arc::clone(commit.partition.holder(key_position));
        let recorded = self.script_record(commit, &partition);
        self.replies.push(Box::new(move |failure| {
            let recorded = recorded.map(|lsn| PartitionLsn {
                range: partition.id,
                lsn,
            });
            reply(match failure {
                None => recorded,
                Some(failure) => recorded.and(Err(failure)),
            });
        }));
    }

    fn script_record(
        &mut self,
        commit: ScriptCommit,
        partition: &Arc<Partition>,
    ) -> Result<Lsn, Failure> {
        if !commit.container.is_alive() {
            return Err(Failure::NOT_FOUND);
        }
        // `record` marks the watches of every decided change, so this check also sees an earlier
        // transaction of the same group.
        if commit.watch.is_marked() {
            return Err(Failure::RetryWith);
        }
        self.check_write(commit.container.rid.id(), &commit.prefix[CONTAINER_BYTES..])?;
        let oversized = partition.oversized.of(&commit.prefix);
        let grows = commit.changes.list.iter().any(|(_, value)| value.is_some());
        if grows && oversized.is_some_and(|oversized| oversized.is_full()) {
            return Err(Failure::LogicalPartitionFull);
        }
        let container = commit.container.rid.id();
        let before = self.counters(container, partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let version_id = self.version_ids.as_ref().map(VersionIdAllocator::next);
        let resolved_key = commit.resolves.filter(|_| version_id.is_some());
        let epoch = self
            .version_ids
            .as_ref()
            .map(|version_ids| version_ids.epoch);
        let deciding_epoch = epoch.filter(|_| resolved_key.is_some()).unwrap_or_default();
        let header = RecordHeader {
            version_id,
            deciding_epoch,
            ..record_header(container, partition, lsn, commit.now_seconds)
        };
        let savepoint = self.overlay.savepoint();
        let versions = commit.changes.versions.unwrap_or_default();
        let mut versions = versions.iter();
        let mut changes = commit.changes.list;
        // The script has built its documents before their LSN and version id were known.
        for (_, value) in &mut changes {
            if let Some(value) = value {
                *value = with_record_position(value, partition.id, lsn);
                if let Some(version_id) = version_id {
                    *value = with_version_id(value, version_id, deciding_epoch);
                }
            }
        }
        // A script that decides a conflict and leaves the visible version as it is still needs a
        // change in the record: other regions learn of the decision from the new version id.
        if let (Some(key), Some(version_id)) = (resolved_key, version_id)
            && !changes.iter().any(|(changed, _)| *changed == key)
        {
            let visible = visible_value(&self.overlay, &key, version_id, deciding_epoch);
            changes.push((key, visible.map_err(|error| internal(&error))?));
        }
        let expired = commit.changes.expired;
        for (ordinal, (key, value)) in changes.iter().enumerate() {
            let known = versions
                .next()
                .map_or_else(PrecomputedEntries::default, |version| PrecomputedEntries {
                    old: version.old.as_ref(),
                    new: version.new.as_ref(),
                });
            let applied = apply_change(
                &mut self.overlay,
                &mut self.states,
                ChangeContext {
                    header,
                    ordinal,
                    is_expiry: expired.iter().any(|at| usize::from(*at) == ordinal),
                },
                key,
                value.as_ref(),
                known,
                &mut counters,
            );
            if let Err(error) = applied {
                self.overlay.roll_back(savepoint);
                return Err(internal(&error));
            }
        }
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        if let Err(error) =
            finish_local_write(overlay, states, header, changes.len(), &mut counters)
        {
            self.overlay.roll_back(savepoint);
            return Err(internal(&error));
        }
        if let Some(oversized) = partition.oversized.of(&commit.prefix) {
            oversized.grow(counters.bytes.wrapping_sub(before.bytes).cast_signed());
        }
        let changed = RecordChanges {
            list: changes,
            expired,
        };
        self.record(header, partition, counters, changed);
        Ok(lsn)
    }

    /// Decides a change of the catalogue, which is one record.
    pub(crate) fn catalogue(&mut self, changes: Vec<KeyChange>, reply: Reply<Result<(), Failure>>) {
        let savepoint = self.overlay.savepoint();
        let applied = apply_catalogue(&mut self.overlay, &mut self.states, &changes);
        let failure_here = applied.err().map(|error| internal(&error));
        if failure_here.is_some() {
            self.overlay.roll_back(savepoint);
            // The change may have updated cached index states, which no savepoint restores.
            self.states = IndexStateCache::default();
        } else {
            self.bytes += Record::changes_bytes(&changes);
            self.records.push(Record::Catalogue { changes });
        }
        self.replies.push(Box::new(move |failure| {
            reply(failure_here.or(failure).map_or(Ok(()), Err));
        }));
    }

    /// Decides a step of the expiry sweep.
    pub(crate) fn expire(
        &mut self,
        container: Option<&Arc<Container>>,
        due: &[ExpiryCandidate],
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    ) {
        let result = match container.filter(|container| container.is_alive()) {
            Some(container) => self.expire_items(container, due, now_seconds),
            None => {
                // Only the expiry entries of a deleted container are removed here; the purge
                // removes its documents. A deletion of an entry needs no record.
                for ExpiryCandidate { second, key } in due {
                    self.overlay.delete(EXPIRY, expiry::entry_key(*second, key));
                }
                Ok(())
            }
        };
        let failure_here = result.err().map(|error| internal(&error));
        self.replies.push(Box::new(move |failure| {
            reply(failure_here.or(failure).map_or(Ok(()), Err));
        }));
    }

    fn expire_items(
        &mut self,
        container: &Container,
        due: &[ExpiryCandidate],
        now_seconds: u64,
    ) -> Result<(), Error> {
        let mut by_partition: BTreeMap<RangeId, (Arc<Partition>, Vec<&ExpiryCandidate>)> =
            BTreeMap::new();
        for due in due {
            let key_position = &due.key[CONTAINER_BYTES..];
            let partition = container.partition_at(key_position).holder(key_position);
            let (_, list) = by_partition
                .entry(partition.id)
                .or_insert_with(|| (Arc::clone(partition), Vec::new()));
            list.push(due);
        }
        for (partition, due) in by_partition.into_values() {
            let mut changes = Vec::new();
            for ExpiryCandidate { second, key } in due {
                let fate = self.expiry_change(container, *second, key, now_seconds)?;
                if let ExpiryOutcome::Becomes(value) = fate {
                    changes.push((key.clone(), value));
                }
            }
            if self.version_ids.is_none() {
                self.expiry_record(container, &partition, changes, now_seconds, None)?;
                continue;
            }
            // Each region keeps its own expiry entries, so a moved entry gets no version id and is not
            // replicated. The removal of a document is a write like any other.
            let (moved, removed) = changes.into_iter().partition(|(_, value)| value.is_some());
            self.expiry_record(container, &partition, moved, now_seconds, None)?;
            let version_id = self.version_ids.as_ref().map(VersionIdAllocator::next);
            self.expiry_record(container, &partition, removed, now_seconds, version_id)?;
        }
        Ok(())
    }

    fn expiry_record(
        &mut self,
        container: &Container,
        partition: &Arc<Partition>,
        changes: Vec<KeyChange>,
        now_seconds: u64,
        version_id: Option<orrery_regions::VersionId>,
    ) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let before = self.counters(container.rid.id(), partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let header = RecordHeader {
            is_expiry: true,
            version_id,
            ..record_header(container.rid.id(), partition, lsn, now_seconds)
        };
        for (ordinal, (key, value)) in changes.iter().enumerate() {
            let bytes_before = counters.bytes;
            let at = ChangeContext {
                header,
                ordinal,
                is_expiry: true,
            };
            let (overlay, states) = (&mut self.overlay, &mut self.states);
            let (value, known) = (value.as_ref(), PrecomputedEntries::default());
            apply_change(overlay, states, at, key, value, known, &mut counters)?;
            if let Some(oversized) = partition.oversized.of(key) {
                oversized.grow(counters.bytes.wrapping_sub(bytes_before).cast_signed());
            }
        }
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        finish_local_write(overlay, states, header, changes.len(), &mut counters)?;
        let changed = RecordChanges {
            list: changes,
            expired: Vec::new(),
        };
        self.record(header, partition, counters, changed);
        Ok(())
    }

    /// Decides about one document of the sweep: the sweep removes the document, moves its expiry
    /// entry to the true second, or leaves the document unchanged. For a document whose writes
    /// another region takes, the sweep only moves the entry.
    fn expiry_change(
        &mut self,
        container: &Container,
        second: u32,
        key: &Bytes,
        now_seconds: u64,
    ) -> Result<ExpiryOutcome, Error> {
        let item = self
            .overlay
            .get(DOCUMENTS, key)?
            .map(StoredItem::decode)
            .transpose()?;
        // The document may have changed after the sweep read the entry; then the entry is an orphan.
        let current = item.filter(|item| item.header.expiry_entry == second);
        let Some(item) = current else {
            self.overlay.delete(EXPIRY, expiry::entry_key(second, key));
            return Ok(ExpiryOutcome::Stays);
        };
        let key_position = &key[CONTAINER_BYTES..];
        let entry = match item.expires_at(container.default_ttl()) {
            Some(expiry)
                if expiry <= now_seconds
                    && self.check_write(container.rid.id(), key_position).is_ok() =>
            {
                return Ok(ExpiryOutcome::Becomes(None));
            }
            Some(expiry) => u32::try_from(expiry).unwrap_or(u32::MAX),
            None => 0,
        };
        Ok(if entry == second {
            ExpiryOutcome::Stays
        } else {
            ExpiryOutcome::Becomes(Some(item.with_expiry_entry(entry)))
        })
    }

    /// The counters of a partition after the transactions that are decided so far: of this group, of
    /// the groups in flight, or of the state.
    pub(crate) fn counters(&self, container: u32, partition: &Arc<Partition>) -> Counters {
        let touched = self.counter_updates.get(&(container, partition.id));
        let touched = touched.map(|(_, counters)| *counters);
        touched
            .or_else(|| self.overlay.in_flight.counters(container, partition.id))
            .unwrap_or_else(|| partition.running_counters())
    }

    /// Adds a decided record to the group, if it has changes.
    pub(crate) fn record(
        &mut self,
        header: RecordHeader,
        partition: &Arc<Partition>,
        counters: Counters,
        changed: RecordChanges,
    ) {
        let RecordChanges { list, expired } = changed;
        if list.is_empty() {
            return;
        }
        let changes = list;
        self.watches.mark(&changes);
        self.bytes += Record::changes_bytes(&changes);
        let key = (header.container, partition.id);
        self.counter_updates
            .insert(key, (Arc::clone(partition), counters));
        let version_ids = self
            .version_ids
            .as_mut()
            .filter(|_| header.version_id.is_some());
        let stream_header = version_ids
            .map(|version_ids| Box::new(version_ids.take(header.deciding_epoch, expired)));
        self.records.push(Record::Items {
            header,
            changes,
            stream_header,
        });
    }
}

pub(crate) fn record_header(
    container: u32,
    partition: &Partition,
    lsn: Lsn,
    now_seconds: u64,
) -> RecordHeader {
    RecordHeader {
        container,
        range: partition.id,
        lsn,
        seconds: u32::try_from(now_seconds).unwrap_or(u32::MAX),
        is_expiry: false,
        version_id: None,
        deciding_epoch: Epoch::NONE,
    }
}
