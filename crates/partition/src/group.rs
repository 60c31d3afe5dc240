//! Transactions that share one append, one sync and one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, Lsn, RangeId, Stamp};
use orrery_storage::Storage;

use crate::apply::{ChangeAt, apply_catalogue, apply_change};
use crate::committer::{Reply, TransactionOutcome, internal};
use crate::document_key::CONTAINER_BYTES;
use crate::expiry::{self, Due};
use crate::index_state::IndexStates;
use crate::indexing::Known;
use crate::overlay::Overlay;
use crate::record::{Change, Moment, Record};
use crate::spaces::{DOCUMENTS, EXPIRY};
use crate::stored::{StoredItem, with_place};
use crate::transaction::decide;
use crate::watches::Watches;
use crate::{Container, Counters, Error, ItemTransaction, Partition, ScriptCommit};

/// Partitions that the group changes, by container and range, with their counters after it.
pub(crate) type Touched = BTreeMap<(u32, RangeId), (Arc<Partition>, Counters)>;

/// Told once the group is durable, or why it is not.
type Finish = Box<dyn FnOnce(Option<Failure>) + Send>;

pub(crate) struct Group<'a> {
    pub(crate) overlay: Overlay<'a>,
    pub(crate) states: IndexStates,
    pub(crate) touched: Touched,
    pub(crate) records: Vec<Record>,
    pub(crate) replies: Vec<Finish>,
    /// Whether there may be notes to append although there are no records.
    pub(crate) has_notes: bool,
    watches: Arc<Watches>,
    bytes: usize,
}

/// What happens to a document that was due.
enum Fate {
    Stays,
    /// Gets this value; none removes it.
    Becomes(Option<Bytes>),
}

impl<'a> Group<'a> {
    pub(crate) fn new(
        storage: &'a Storage,
        states: IndexStates,
        watches: Arc<Watches>,
    ) -> Group<'a> {
        Group {
            overlay: Overlay::new(storage),
            states,
            touched: Touched::new(),
            records: Vec::new(),
            replies: Vec::new(),
            has_notes: false,
            watches,
            bytes: 0,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn items(&mut self, transaction: ItemTransaction, reply: Reply<TransactionOutcome>) {
        let container = transaction.container.rid.id();
        let place = transaction.logical.place();
        let partition = Arc::clone(transaction.partition.holder(place));
        let transaction = ItemTransaction {
            partition: Arc::clone(&partition),
            ..transaction
        };
        let count = transaction.operations.len();
        let seconds = transaction.now_seconds;
        let before = self.counters(container, &partition);
        let crowd = partition.crowds.of(transaction.logical.prefix());
        if crowd.as_ref().is_some_and(|crowd| crowd.is_full()) && transaction.may_grow() {
            let stamp = partition.stamp();
            self.replies.push(Box::new(move |failure| {
                let failure = failure.unwrap_or(Failure::LogicalPartitionFull);
                let results = (0..count).map(|_| Err(failure.clone())).collect();
                reply(TransactionOutcome { results, stamp });
            }));
            return;
        }
        let (results, lsn) = match decide(transaction, &mut self.overlay, &mut self.states, before)
        {
            Ok(decision) => {
                let Counters { lsn, bytes, .. } = decision.counters;
                if let Some(crowd) = crowd {
                    crowd.grow(bytes.wrapping_sub(before.bytes).cast_signed());
                }
                let moment = moment(container, &partition, lsn, seconds);
                self.record(moment, &partition, decision.counters, decision.changes);
                (decision.results, lsn)
            }
            Err(error) => (
                (0..count).map(|_| Err(internal(&error))).collect(),
                before.lsn,
            ),
        };
        self.replies.push(Box::new(move |failure| {
            let stamp = Stamp {
                range: partition.id,
                lsn,
            };
            reply(match failure {
                None => TransactionOutcome { results, stamp },
                Some(failure) => TransactionOutcome {
                    results: (0..count).map(|_| Err(failure.clone())).collect(),
                    stamp: partition.stamp(),
                },
            });
        }));
    }

    /// Makes the writes of a script a record, unless somebody was faster.
    pub(crate) fn script(&mut self, commit: ScriptCommit, reply: Reply<Result<Stamp, Failure>>) {
        let place = &commit.prefix[CONTAINER_BYTES..];
        let partition = Arc::clone(commit.partition.holder(place));
        let decided = self.script_record(commit, &partition);
        self.replies.push(Box::new(move |failure| {
            let stamp = decided.map(|lsn| Stamp {
                range: partition.id,
                lsn,
            });
            reply(match failure {
                None => stamp,
                Some(failure) => stamp.and(Err(failure)),
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
        if commit.watch.is_marked() {
            return Err(Failure::RetryWith);
        }
        let crowd = partition.crowds.of(&commit.prefix);
        let grows = commit.changes.list.iter().any(|(_, value)| value.is_some());
        if grows && crowd.is_some_and(|crowd| crowd.is_full()) {
            return Err(Failure::LogicalPartitionFull);
        }
        let container = commit.container.rid.id();
        let before = self.counters(container, partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let moment = moment(container, partition, lsn, commit.now_seconds);
        let savepoint = self.overlay.savepoint();
        let versions = commit.changes.versions.unwrap_or_default();
        let mut versions = versions.iter();
        let mut changes = commit.changes.list;
        for (_, value) in &mut changes {
            if let Some(value) = value {
                *value = with_place(value, partition.id, lsn);
            }
        }
        for (ordinal, (key, value)) in changes.iter().enumerate() {
            let known = versions
                .next()
                .map_or_else(Known::default, |version| Known {
                    old: version.old.as_ref(),
                    new: version.new.as_ref(),
                });
            let applied = apply_change(
                &mut self.overlay,
                &mut self.states,
                ChangeAt { moment, ordinal },
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
        if let Some(crowd) = partition.crowds.of(&commit.prefix) {
            crowd.grow(counters.bytes.wrapping_sub(before.bytes).cast_signed());
        }
        self.record(moment, partition, counters, changes);
        Ok(lsn)
    }

    pub(crate) fn catalogue(&mut self, changes: Vec<Change>, reply: Reply<Result<(), Failure>>) {
        let savepoint = self.overlay.savepoint();
        let applied = apply_catalogue(&mut self.overlay, &mut self.states, &changes);
        let failure_here = applied.err().map(|error| internal(&error));
        if failure_here.is_some() {
            self.overlay.roll_back(savepoint);
            self.states = IndexStates::default();
        } else {
            self.bytes += Record::changes_bytes(&changes);
            self.records.push(Record::Catalogue { changes });
        }
        self.replies.push(Box::new(move |failure| {
            reply(failure_here.or(failure).map_or(Ok(()), Err));
        }));
    }

    pub(crate) fn expire(
        &mut self,
        container: Option<&Arc<Container>>,
        due: &[Due],
        now_seconds: u64,
        reply: Reply<Result<(), Failure>>,
    ) {
        let result = match container.filter(|container| container.is_alive()) {
            Some(container) => self.expire_items(container, due, now_seconds),
            None => {
                for Due { second, key } in due {
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
        due: &[Due],
        now_seconds: u64,
    ) -> Result<(), Error> {
        let mut by_partition: BTreeMap<RangeId, (Arc<Partition>, Vec<&Due>)> = BTreeMap::new();
        for due in due {
            let place = &due.key[CONTAINER_BYTES..];
            let partition = container.partition_at(place).holder(place);
            let (_, list) = by_partition
                .entry(partition.id)
                .or_insert_with(|| (Arc::clone(partition), Vec::new()));
            list.push(due);
        }
        for (partition, due) in by_partition.into_values() {
            let before = self.counters(container.rid.id(), &partition);
            let lsn = Lsn(before.lsn.0 + 1);
            let mut counters = Counters { lsn, ..before };
            let moment = Moment {
                is_expiry: true,
                ..moment(container.rid.id(), &partition, lsn, now_seconds)
            };
            let mut changes = Vec::new();
            for Due { second, key } in due {
                let change = self.expiry_change(container, *second, key, now_seconds)?;
                if let Fate::Becomes(value) = change {
                    let bytes_before = counters.bytes;
                    apply_change(
                        &mut self.overlay,
                        &mut self.states,
                        ChangeAt {
                            moment,
                            ordinal: changes.len(),
                        },
                        key,
                        value.as_ref(),
                        Known::default(),
                        &mut counters,
                    )?;
                    if let Some(crowd) = partition.crowds.of(key) {
                        crowd.grow(counters.bytes.wrapping_sub(bytes_before).cast_signed());
                    }
                    changes.push((key.clone(), value));
                }
            }
            self.record(moment, &partition, counters, changes);
        }
        Ok(())
    }

    /// What becomes of a document that was due: removed, entered under its true second, or nothing.
    fn expiry_change(
        &mut self,
        container: &Container,
        second: u32,
        key: &Bytes,
        now_seconds: u64,
    ) -> Result<Fate, Error> {
        let item = self
            .overlay
            .get(DOCUMENTS, key)?
            .map(StoredItem::decode)
            .transpose()?;
        let current = item.filter(|item| item.header.expiry_entry == second);
        let Some(item) = current else {
            self.overlay.delete(EXPIRY, expiry::entry_key(second, key));
            return Ok(Fate::Stays);
        };
        let entry = match item.expires_at(container.default_ttl()) {
            Some(expiry) if expiry <= now_seconds => return Ok(Fate::Becomes(None)),
            Some(expiry) => u32::try_from(expiry).unwrap_or(u32::MAX),
            None => 0,
        };
        Ok(if entry == second {
            Fate::Stays
        } else {
            Fate::Becomes(Some(item.with_expiry_entry(entry)))
        })
    }

    /// The counters of a partition as the group has left them so far.
    fn counters(&self, container: u32, partition: &Arc<Partition>) -> Counters {
        let touched = self.touched.get(&(container, partition.id));
        touched.map_or_else(|| partition.running_counters(), |(_, counters)| *counters)
    }

    fn record(
        &mut self,
        moment: Moment,
        partition: &Arc<Partition>,
        counters: Counters,
        changes: Vec<Change>,
    ) {
        if changes.is_empty() {
            return;
        }
        self.watches.mark(&changes);
        self.bytes += Record::changes_bytes(&changes);
        let place = (moment.container, partition.id);
        self.touched
            .insert(place, (Arc::clone(partition), counters));
        self.records.push(Record::Items { moment, changes });
    }
}

fn moment(container: u32, partition: &Partition, lsn: Lsn, now_seconds: u64) -> Moment {
    Moment {
        container,
        range: partition.id,
        lsn,
        seconds: u32::try_from(now_seconds).unwrap_or(u32::MAX),
        is_expiry: false,
    }
}
