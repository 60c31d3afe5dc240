//! Splits and merges: child partitions take over the ranges of superseded partitions.
//!
//! No document, index entry or feed entry moves: documents and index entries are in key order, and
//! feed entries stay under the partition that created them. Only the counters change hands. The
//! child partitions continue with the LSN of their parents, so existing positions stay valid. After
//! a split the item counts of the children are estimates, which a background count corrects.

use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, GoneKind, RangeId};
use orrery_storage::Snapshot;

use crate::apply::apply_ranges;
use crate::command::Reply;
use crate::committer::internal;
use crate::counters::counters_key;
use crate::group::CommitGroup;
use crate::keyspaces::{DOCUMENTS, META};
use crate::record::{KeyChange, Record};
use crate::scan::ScanRange;
use crate::stored_item::StoredItem;
use crate::{Container, CounterStatus, Counters, Error, Partition};

/// A new division of a part of the key space.
#[derive(Debug)]
pub struct Repartitioning {
    pub container: u32,
    pub parents: Vec<Arc<Partition>>,
    /// In range order. Together the ranges equal the ranges of the parents.
    pub children: Vec<ChildPartition>,
    /// The catalogue changes that belong to the repartitioning.
    pub changes: Vec<KeyChange>,
}

/// A new partition that owns a part of the parents' range.
#[derive(Debug, Clone)]
pub struct ChildPartition {
    pub partition: Arc<Partition>,
    /// The estimated share of the parents' documents in this child.
    pub share: f64,
}

/// A snapshot of a partition for an exact count.
pub struct PartitionRecount {
    pub(crate) snapshot: Snapshot,
    pub(crate) scope: ScanRange,
    pub(crate) believed: Counters,
}

/// The difference between the counters of a partition and its exact counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Correction {
    items: i64,
    bytes: i64,
}

impl PartitionRecount {
    pub(crate) fn new(snapshot: Snapshot, container: &Container, partition: &Partition) -> Self {
        PartitionRecount {
            snapshot,
            scope: ScanRange::of_epk_range(container, &partition.range),
            believed: partition.running_counters(),
        }
    }

    /// Counts by reading every document of the partition.
    pub fn count(&self) -> Result<Correction, Error> {
        let (from, to) = self.scope.bounds();
        let (mut items, mut bytes) = (0_u64, 0_u64);
        for entry in self.snapshot.range(DOCUMENTS, from, to) {
            items += 1;
            bytes += StoredItem::decode(entry?.1)?.text_bytes() as u64;
        }
        Ok(Correction {
            items: items.wrapping_sub(self.believed.items).cast_signed(),
            bytes: bytes.wrapping_sub(self.believed.bytes).cast_signed(),
        })
    }
}

impl CommitGroup<'_> {
    /// Supersedes partitions by their children. The group must not contain any other command.
    pub(crate) fn repartition(
        &mut self,
        repartitioning: Repartitioning,
        reply: Reply<Result<(), Failure>>,
    ) {
        let Repartitioning {
            container,
            parents,
            children,
            changes,
        } = repartitioning;
        self.must_apply = true;
        // Another repartitioning has come first, so the plan of the caller is stale.
        if parents.iter().any(|partition| partition.is_superseded()) {
            let failure = Failure::Gone(GoneKind::PartitionKeyRange);
            self.replies.push(Box::new(move |_| reply(Err(failure))));
            return;
        }
        let before: Vec<Counters> = parents.iter().map(|one| one.running_counters()).collect();
        let shares: Vec<f64> = children.iter().map(|child| child.share).collect();
        let after = child_counters(&before, &shares);
        let superseded = parents.iter().zip(&before).map(|(partition, counters)| {
            let counters = Counters {
                lsn: counters.lsn,
                status: CounterStatus::Superseded,
                ..Counters::default()
            };
            (partition.id, counters)
        });
        let children: Vec<_> = children.into_iter().map(|child| child.partition).collect();
        let made = children.iter().zip(&after);
        let made = made.map(|(partition, counters)| (partition.id, *counters));
        let rows: Vec<_> = superseded.chain(made).collect();
        if let Err(failure) = self.ranges(container, rows, changes) {
            self.replies.push(Box::new(move |_| reply(Err(failure))));
            return;
        }
        for (partition, counters) in children.iter().zip(after) {
            let key = (container, partition.id);
            self.counter_updates
                .insert(key, (Arc::clone(partition), counters));
        }
        self.replies.push(Box::new(move |failure| {
            // The partitions in memory change only after the group is in the state: until then
            // requests use the parents.
            if failure.is_none() {
                for partition in &parents {
                    partition.supersede(children.clone());
                }
            }
            reply(failure.map_or(Ok(()), Err));
        }));
    }

    /// Corrects estimated counters of a partition.
    pub(crate) fn correct(
        &mut self,
        container: u32,
        partition: &Arc<Partition>,
        correction: Correction,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.must_apply = true;
        let before = partition.running_counters();
        // The container may have been deleted since the count.
        let row = Bytes::copy_from_slice(&counters_key(container, partition.id));
        let is_there = matches!(self.overlay.get(META, &row), Ok(Some(_)));
        if before.status != CounterStatus::Estimated || !is_there {
            self.replies
                .push(Box::new(move |failure| reply(failure.map_or(Ok(()), Err))));
            return;
        }
        // The correction is a difference, so writes since the count stay included.
        let counters = Counters {
            items: before.items.wrapping_add_signed(correction.items),
            bytes: before.bytes.wrapping_add_signed(correction.bytes),
            status: CounterStatus::Exact,
            ..before
        };
        let failure_here = self
            .ranges(container, vec![(partition.id, counters)], Vec::new())
            .err();
        if failure_here.is_none() {
            let key = (container, partition.id);
            self.counter_updates
                .insert(key, (Arc::clone(partition), counters));
        }
        self.replies.push(Box::new(move |failure| {
            reply(failure_here.or(failure).map_or(Ok(()), Err));
        }));
    }

    fn ranges(
        &mut self,
        container: u32,
        counters: Vec<(RangeId, Counters)>,
        changes: Vec<KeyChange>,
    ) -> Result<(), Failure> {
        let (overlay, states) = (&mut self.overlay, &mut self.states);
        let savepoint = overlay.savepoint();
        if let Err(error) = apply_ranges(overlay, states, container, &counters, &changes) {
            overlay.roll_back(savepoint);
            return Err(internal(&error));
        }
        self.records.push(Record::Ranges {
            container,
            counters,
            changes,
        });
        Ok(())
    }
}

/// The initial counters of child partitions. Their sums equal the sums of the parents.
pub(crate) fn child_counters(before: &[Counters], shares: &[f64]) -> Vec<Counters> {
    let lsn = before.iter().map(|counters| counters.lsn).max();
    let is_known = |counters: &Counters| counters.status == CounterStatus::Exact;
    let status = if shares.len() == 1 && before.iter().all(is_known) {
        CounterStatus::Exact
    } else {
        CounterStatus::Estimated
    };
    let mut made = vec![
        Counters {
            lsn: lsn.unwrap_or_default(),
            status,
            ..Counters::default()
        };
        shares.len()
    ];
    let parts = divided(before.iter().map(|counters| counters.items), shares);
    for (counters, items) in made.iter_mut().zip(parts) {
        counters.items = items;
    }
    let parts = divided(before.iter().map(|counters| counters.bytes), shares);
    for (counters, bytes) in made.iter_mut().zip(parts) {
        counters.bytes = bytes;
    }
    made
}

/// Divides a sum by the shares of the children. The last child gets the rounding remainder.
fn divided(counts: impl Iterator<Item = u64>, shares: &[f64]) -> Vec<u64> {
    let all = counts.fold(0, u64::wrapping_add);
    let mut left = all;
    let mut parts: Vec<u64> = shares
        .iter()
        .map(|share| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a count; of an estimate below nothing it is nothing"
            )]
            let part = (all.cast_signed() as f64 * share) as u64;
            left = left.wrapping_sub(part);
            part
        })
        .collect();
    if let Some(last) = parts.last_mut() {
        *last = last.wrapping_add(left);
    }
    parts
}
