//! Splits and merges: some physical partitions retire, others take over what they held.
//!
//! No document, index entry or feed entry moves: all of them stand in the order of keys, or under
//! the partition in which they were made. What changes is who counts them. The heirs go on with
//! the LSN of whom they follow, so that positions in the log stay good. How many items each heir
//! of a split has is an estimate at first; a count in the background corrects it.

use std::sync::Arc;

use bytes::Bytes;
use orrery_model::{Failure, GoneKind, RangeId};
use orrery_storage::Snapshot;

use crate::apply::apply_ranges;
use crate::command::Reply;
use crate::committer::internal;
use crate::counters::counters_key;
use crate::group::Group;
use crate::record::{Change, Record};
use crate::scan::ScanRange;
use crate::spaces::{DOCUMENTS, META};
use crate::stored::StoredItem;
use crate::{Container, Counters, Error, Partition, Standing};

/// A new cut of a part of the key space.
#[derive(Debug)]
pub struct Reshape {
    pub container: u32,
    pub retired: Vec<Arc<Partition>>,
    /// In the order of their ranges, which together are those of the retired.
    pub heirs: Vec<Heir>,
    /// What goes into the catalogue with it.
    pub changes: Vec<Change>,
}

/// A partition that takes over.
#[derive(Debug, Clone)]
pub struct Heir {
    pub partition: Arc<Partition>,
    /// About how much of what the retired have falls to it.
    pub share: f64,
}

/// A partition at one moment, to be counted.
pub struct Uncounted {
    pub(crate) snapshot: Snapshot,
    pub(crate) scope: ScanRange,
    pub(crate) believed: Counters,
}

/// How far the counters of a partition are off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Correction {
    items: i64,
    bytes: i64,
}

impl Uncounted {
    pub(crate) fn new(snapshot: Snapshot, container: &Container, partition: &Partition) -> Self {
        Uncounted {
            snapshot,
            scope: ScanRange::of_epk_range(container, &partition.range),
            believed: partition.running_counters(),
        }
    }

    /// Reads every document of the partition.
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

impl Group<'_> {
    /// Lets partitions retire. The group must have nothing else in it.
    pub(crate) fn reshape(&mut self, reshape: Reshape, reply: Reply<Result<(), Failure>>) {
        let Reshape {
            container,
            retired,
            heirs,
            changes,
        } = reshape;
        self.is_waited_for = true;
        if retired.iter().any(|partition| partition.is_retired()) {
            let failure = Failure::Gone(GoneKind::PartitionKeyRange);
            self.replies.push(Box::new(move |_| reply(Err(failure))));
            return;
        }
        let before: Vec<Counters> = retired.iter().map(|one| one.running_counters()).collect();
        let shares: Vec<f64> = heirs.iter().map(|heir| heir.share).collect();
        let after = inherited(&before, &shares);
        let gone = retired.iter().zip(&before).map(|(partition, counters)| {
            let counters = Counters {
                lsn: counters.lsn,
                standing: Standing::Retired,
                ..Counters::default()
            };
            (partition.id, counters)
        });
        let heirs: Vec<_> = heirs.into_iter().map(|heir| heir.partition).collect();
        let made = heirs.iter().zip(&after);
        let made = made.map(|(partition, counters)| (partition.id, *counters));
        let rows: Vec<_> = gone.chain(made).collect();
        if let Err(failure) = self.ranges(container, rows, changes) {
            self.replies.push(Box::new(move |_| reply(Err(failure))));
            return;
        }
        for (partition, counters) in heirs.iter().zip(after) {
            let place = (container, partition.id);
            self.touched
                .insert(place, (Arc::clone(partition), counters));
        }
        self.replies.push(Box::new(move |failure| {
            if failure.is_none() {
                for partition in &retired {
                    partition.retire(heirs.clone());
                }
            }
            reply(failure.map_or(Ok(()), Err));
        }));
    }

    /// Corrects the counters of a partition that were an estimate.
    pub(crate) fn correct(
        &mut self,
        container: u32,
        partition: &Arc<Partition>,
        correction: Correction,
        reply: Reply<Result<(), Failure>>,
    ) {
        self.is_waited_for = true;
        let before = partition.running_counters();
        // Of a container that was removed since it was counted nothing is left to correct.
        let row = Bytes::copy_from_slice(&counters_key(container, partition.id));
        let is_there = matches!(self.overlay.get(META, &row), Ok(Some(_)));
        if before.standing != Standing::Estimated || !is_there {
            self.replies
                .push(Box::new(move |failure| reply(failure.map_or(Ok(()), Err))));
            return;
        }
        let counters = Counters {
            items: before.items.wrapping_add_signed(correction.items),
            bytes: before.bytes.wrapping_add_signed(correction.bytes),
            standing: Standing::Exact,
            ..before
        };
        let failure_here = self
            .ranges(container, vec![(partition.id, counters)], Vec::new())
            .err();
        if failure_here.is_none() {
            let place = (container, partition.id);
            self.touched
                .insert(place, (Arc::clone(partition), counters));
        }
        self.replies.push(Box::new(move |failure| {
            reply(failure_here.or(failure).map_or(Ok(()), Err));
        }));
    }

    fn ranges(
        &mut self,
        container: u32,
        counters: Vec<(RangeId, Counters)>,
        changes: Vec<Change>,
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

/// The counters with which heirs begin; together they have what was there before.
pub(crate) fn inherited(before: &[Counters], shares: &[f64]) -> Vec<Counters> {
    let lsn = before.iter().map(|counters| counters.lsn).max();
    let is_known = |counters: &Counters| counters.standing == Standing::Exact;
    let standing = if shares.len() == 1 && before.iter().all(is_known) {
        Standing::Exact
    } else {
        Standing::Estimated
    };
    let mut made = vec![
        Counters {
            lsn: lsn.unwrap_or_default(),
            standing,
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

/// A sum in parts by the shares of heirs; the last has what the others leave.
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
