//! Transactions that share one append, one sync and one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, Lsn, RangeId, Stamp};
use orrery_regions::Epoch;

use crate::apply::{ChangeAt, apply_catalogue, apply_change};
use crate::command::{Reply, TransactionOutcome};
use crate::committer::internal;
use crate::document_key::CONTAINER_BYTES;
use crate::expiry::{self, Due};
use crate::index_state::IndexStates;
use crate::indexing::Known;
use crate::multi::{Multi, Stamps, as_shown, finish_own};
use crate::overlay::Overlay;
use crate::record::{Change, Moment, Record};
use crate::spaces::{DOCUMENTS, EXPIRY};
use crate::stored::{StoredItem, with_place, with_stamp};
use crate::transaction::{Decision, decide};
use crate::watches::Watches;
use crate::{Container, Counters, Error, ItemTransaction, Partition, ScriptCommit};

/// Partitions that the group changes, by container and range, with their counters after it.
pub(crate) type Touched = BTreeMap<(u32, RangeId), (Arc<Partition>, Counters)>;

/// Told once the group is durable, or why it is not.
pub(crate) type Finish = Box<dyn FnOnce(Option<Failure>) + Send>;

pub(crate) struct Group<'a> {
    pub(crate) overlay: Overlay<'a>,
    pub(crate) states: IndexStates,
    pub(crate) touched: Touched,
    pub(crate) records: Vec<Record>,
    pub(crate) replies: Vec<Finish>,
    /// Whether there may be notes to append although there are no records.
    pub(crate) has_notes: bool,
    /// Whether the next command must find it in the state.
    pub(crate) is_waited_for: bool,
    /// In multi-write stores.
    pub(crate) stamps: Option<Stamps>,
    /// Where regions share keys among themselves.
    multi: Option<Arc<Multi>>,
    watches: Arc<Watches>,
    bytes: usize,
}

/// What a record changes.
pub(crate) struct Changed {
    pub(crate) list: Vec<Change>,
    /// Which of them remove what had expired.
    pub(crate) expired: Vec<u16>,
}

/// What happens to a document that was due.
enum Fate {
    Stays,
    /// Gets this value; none removes it.
    Becomes(Option<Bytes>),
}

impl<'a> Group<'a> {
    pub(crate) fn new(
        overlay: Overlay<'a>,
        states: IndexStates,
        watches: Arc<Watches>,
        stamps: Option<Stamps>,
    ) -> Group<'a> {
        Group {
            overlay,
            states,
            touched: Touched::new(),
            records: Vec::new(),
            replies: Vec::new(),
            has_notes: false,
            is_waited_for: false,
            stamps,
            multi: None,
            watches,
            bytes: 0,
        }
    }

    pub(crate) fn in_region(self, multi: Option<&Arc<Multi>>) -> Group<'a> {
        let multi = multi.map(Arc::clone);
        Group { multi, ..self }
    }

    /// Refuses writes that another region takes. Asked of every record that clients cause, on the
    /// thread that also replaces the table.
    pub(crate) fn check_write(&self, container: u32, place: &[u8]) -> Result<(), Failure> {
        self.multi
            .as_ref()
            .map_or(Ok(()), |multi| multi.access.check_write(container, place))
    }

    /// Whether nobody waits for it and nothing came of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.replies.is_empty() && !self.has_notes
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
        let is_full = crowd.as_ref().is_some_and(|crowd| crowd.is_full());
        let mut refused = self.check_write(container, transaction.logical.place());
        if is_full && transaction.may_grow() {
            refused = refused.and(Err(Failure::LogicalPartitionFull));
        }
        if let Err(refusal) = refused {
            let stamp = partition.stamp();
            self.replies.push(Box::new(move |failure| {
                let failure = failure.unwrap_or(refusal);
                let results = (0..count).map(|_| Err(failure.clone())).collect();
                reply(TransactionOutcome { results, stamp });
            }));
            return;
        }
        let place = moment(container, &partition, before.lsn, seconds);
        let (results, lsn) = match self.decide_items(transaction, place, before) {
            Ok((decision, moment)) => {
                let Counters { lsn, bytes, .. } = decision.counters;
                if let Some(crowd) = crowd {
                    crowd.grow(bytes.wrapping_sub(before.bytes).cast_signed());
                }
                let changed = Changed {
                    list: decision.changes,
                    expired: decision.expired,
                };
                self.record(moment, &partition, decision.counters, changed);
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

    fn decide_items(
        &mut self,
        transaction: ItemTransaction,
        place: Moment,
        before: Counters,
    ) -> Result<(Decision, Moment), Error> {
        let savepoint = self.overlay.savepoint();
        let stamp = self.stamps.as_ref().map(Stamps::next);
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        let mut decision = decide(transaction, overlay, states, before, stamp)?;
        let moment = Moment {
            lsn: decision.counters.lsn,
            stamp,
            ..place
        };
        if !decision.changes.is_empty() {
            let count = decision.changes.len();
            let finished = finish_own(overlay, states, moment, count, &mut decision.counters);
            finished.inspect_err(|_| self.overlay.roll_back(savepoint))?;
        }
        Ok((decision, moment))
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
        self.check_write(commit.container.rid.id(), &commit.prefix[CONTAINER_BYTES..])?;
        let crowd = partition.crowds.of(&commit.prefix);
        let grows = commit.changes.list.iter().any(|(_, value)| value.is_some());
        if grows && crowd.is_some_and(|crowd| crowd.is_full()) {
            return Err(Failure::LogicalPartitionFull);
        }
        let container = commit.container.rid.id();
        let before = self.counters(container, partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let stamp = self.stamps.as_ref().map(Stamps::next);
        let settles = commit.settles.filter(|_| stamp.is_some());
        let epoch = self.stamps.as_ref().map(|stamps| stamps.epoch);
        let decided = epoch.filter(|_| settles.is_some()).unwrap_or_default();
        let moment = Moment {
            stamp,
            decided,
            ..moment(container, partition, lsn, commit.now_seconds)
        };
        let savepoint = self.overlay.savepoint();
        let versions = commit.changes.versions.unwrap_or_default();
        let mut versions = versions.iter();
        let mut changes = commit.changes.list;
        for (_, value) in &mut changes {
            if let Some(value) = value {
                *value = with_place(value, partition.id, lsn);
                if let Some(stamp) = stamp {
                    *value = with_stamp(value, stamp, decided);
                }
            }
        }
        if let (Some(key), Some(stamp)) = (settles, stamp)
            && !changes.iter().any(|(changed, _)| *changed == key)
        {
            let shown = as_shown(&self.overlay, &key, stamp, decided);
            changes.push((key, shown.map_err(|error| internal(&error))?));
        }
        let expired = commit.changes.expired;
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
                ChangeAt {
                    moment,
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
        if let Err(error) = finish_own(overlay, states, moment, changes.len(), &mut counters) {
            self.overlay.roll_back(savepoint);
            return Err(internal(&error));
        }
        if let Some(crowd) = partition.crowds.of(&commit.prefix) {
            crowd.grow(counters.bytes.wrapping_sub(before.bytes).cast_signed());
        }
        let changed = Changed {
            list: changes,
            expired,
        };
        self.record(moment, partition, counters, changed);
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
            let mut changes = Vec::new();
            for Due { second, key } in due {
                let fate = self.expiry_change(container, *second, key, now_seconds)?;
                if let Fate::Becomes(value) = fate {
                    changes.push((key.clone(), value));
                }
            }
            if self.stamps.is_none() {
                self.expiry_record(container, &partition, changes, now_seconds, None)?;
                continue;
            }
            // Where an entry stands is each region's own business.
            let (moved, removed) = changes.into_iter().partition(|(_, value)| value.is_some());
            self.expiry_record(container, &partition, moved, now_seconds, None)?;
            let stamp = self.stamps.as_ref().map(Stamps::next);
            self.expiry_record(container, &partition, removed, now_seconds, stamp)?;
        }
        Ok(())
    }

    fn expiry_record(
        &mut self,
        container: &Container,
        partition: &Arc<Partition>,
        changes: Vec<Change>,
        now_seconds: u64,
        stamp: Option<orrery_regions::Stamp>,
    ) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let before = self.counters(container.rid.id(), partition);
        let lsn = Lsn(before.lsn.0 + 1);
        let mut counters = Counters { lsn, ..before };
        let moment = Moment {
            is_expiry: true,
            stamp,
            ..moment(container.rid.id(), partition, lsn, now_seconds)
        };
        for (ordinal, (key, value)) in changes.iter().enumerate() {
            let bytes_before = counters.bytes;
            let at = ChangeAt {
                moment,
                ordinal,
                is_expiry: true,
            };
            let (overlay, states) = (&mut self.overlay, &mut self.states);
            let (value, known) = (value.as_ref(), Known::default());
            apply_change(overlay, states, at, key, value, known, &mut counters)?;
            if let Some(crowd) = partition.crowds.of(key) {
                crowd.grow(counters.bytes.wrapping_sub(bytes_before).cast_signed());
            }
        }
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        finish_own(overlay, states, moment, changes.len(), &mut counters)?;
        let changed = Changed {
            list: changes,
            expired: Vec::new(),
        };
        self.record(moment, partition, counters, changed);
        Ok(())
    }

    /// What becomes of a document that was due: removed, entered under its true second, or nothing. What
    /// another region has to remove is only entered.
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
        let place = &key[CONTAINER_BYTES..];
        let entry = match item.expires_at(container.default_ttl()) {
            Some(expiry)
                if expiry <= now_seconds && self.check_write(container.rid.id(), place).is_ok() =>
            {
                return Ok(Fate::Becomes(None));
            }
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
    pub(crate) fn counters(&self, container: u32, partition: &Arc<Partition>) -> Counters {
        let touched = self.touched.get(&(container, partition.id));
        let touched = touched.map(|(_, counters)| *counters);
        touched
            .or_else(|| self.overlay.beneath.counters(container, partition.id))
            .unwrap_or_else(|| partition.running_counters())
    }

    pub(crate) fn record(
        &mut self,
        moment: Moment,
        partition: &Arc<Partition>,
        counters: Counters,
        changed: Changed,
    ) {
        let Changed { list, expired } = changed;
        if list.is_empty() {
            return;
        }
        let changes = list;
        self.watches.mark(&changes);
        self.bytes += Record::changes_bytes(&changes);
        let place = (moment.container, partition.id);
        self.touched
            .insert(place, (Arc::clone(partition), counters));
        let stamps = self.stamps.as_mut().filter(|_| moment.stamp.is_some());
        let stamped = stamps.map(|stamps| Box::new(stamps.take(moment.decided, expired)));
        self.records.push(Record::Items {
            moment,
            changes,
            stamped,
        });
    }
}

pub(crate) fn moment(container: u32, partition: &Partition, lsn: Lsn, now_seconds: u64) -> Moment {
    Moment {
        container,
        range: partition.id,
        lsn,
        seconds: u32::try_from(now_seconds).unwrap_or(u32::MAX),
        is_expiry: false,
        stamp: None,
        decided: Epoch::NONE,
    }
}
