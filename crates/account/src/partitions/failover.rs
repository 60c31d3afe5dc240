//! The knowledge and the decisions of one region about single partitions. The input is a view of
//! the region with its clock; the output is the access table for the store, the status for
//! operators and the next move. The task of the region carries the decisions out, and so does a
//! simulated task.

use std::collections::BTreeMap;

use orrery_engine::{AccessTable, KeyRange};
use orrery_regions::{
    Millis, MultiWriteReplica, RegionId, Replica, Sequence, StreamId, StreamRecord,
};

use super::{
    AccessConditions, AutomaticFailover, FailoverStatus, FailoverView, Ownership, RangeMove,
    RelocatedRange,
};
use crate::PartitionsFrame;

/// A region whose task has paused for this long missed messages because of its own pause, so the
/// silence of the others proves nothing.
const STOPPED_MS: u64 = 500;
/// A region that has returned takes writes after this long without any message: all others may be
/// down.
const RETURN_MS: u64 = 3_000;

#[derive(Debug)]
pub(crate) struct PartitionFailover {
    me: RegionId,
    ownership: Ownership,
    watch: AutomaticFailover,
    /// The key ranges that are down in each region, by the regions' own reports.
    down: BTreeMap<RegionId, Vec<KeyRange>>,
    opened: BTreeMap<RegionId, Sequence>,
    /// Since when the region has been able to receive the others' messages.
    receiving_since: Millis,
    last_tick: Millis,
    /// When the region returned; none once no missed move remains possible.
    returned_at: Option<Millis>,
    /// The record of the last decided move, until it is applied.
    pending_move: Option<Sequence>,
    /// How many records of the account stream the ownership has applied.
    followed: usize,
}

/// A region at one moment, with its view of its peers.
#[derive(Clone, Copy)]
pub(crate) struct RegionView<'a> {
    pub(crate) now: Millis,
    pub(crate) replica: &'a Replica,
    pub(crate) multi_write: &'a MultiWriteReplica,
}

impl PartitionFailover {
    /// The failover state after the applied records of the account stream.
    pub(crate) fn new(me: RegionId, now: Millis, applied: &[StreamRecord]) -> PartitionFailover {
        let mut failover = PartitionFailover {
            me,
            ownership: Ownership::new(me),
            watch: AutomaticFailover::default(),
            down: BTreeMap::new(),
            opened: BTreeMap::new(),
            receiving_since: now,
            last_tick: now,
            returned_at: Some(now),
            pending_move: None,
            followed: 0,
        };
        failover.follow(applied);
        failover
    }

    /// Applies the records of the account stream that are applied by now; `applied` begins with the
    /// first record. The region must not report these records as applied before the store has the
    /// table that [`PartitionFailover::refresh`] makes from them: a new owner relies on that
    /// report.
    pub(crate) fn follow(&mut self, applied: &[StreamRecord]) {
        for record in applied.iter().skip(self.followed) {
            self.ownership.apply(record);
        }
        self.followed = self.followed.max(applied.len());
    }

    /// Records another region's report.
    pub(crate) fn record_report(&mut self, from: RegionId, frame: PartitionsFrame) {
        self.down.insert(from, frame.down);
        self.opened.insert(from, frame.opened);
    }

    /// The region is down: after its return it must not assume that nothing was moved.
    pub(crate) fn mark_down(&mut self, now: Millis) {
        self.returned_at = Some(now);
        self.receiving_since = now;
    }

    /// The region continues with a new [`MultiWriteReplica`], which has received no message yet.
    pub(crate) fn listen_anew(&mut self, now: Millis) {
        self.receiving_since = now;
    }

    /// The access table for the store; `down` has the key ranges that are down in this region.
    pub(crate) fn refresh(&mut self, view: RegionView<'_>, down: Vec<KeyRange>) -> AccessTable {
        self.tick(view.now);
        let multi_write = view.multi_write;
        let receiving_since = self.receiving_since;
        let latest =
            |region| (!view.is_silent(region, receiving_since)).then(|| multi_write.latest(region));
        self.ownership.review(multi_write.progress(), latest);
        self.down.insert(self.me, down);
        // The state of a snapshot may include more of the account stream than this region has
        // followed yet.
        let is_behind = multi_write.progress().of(StreamId::Account) > self.applied();
        let is_sure = self.is_sure(view) && !is_behind;
        let opened = if is_sure {
            self.ownership.opened(self.applied())
        } else {
            Sequence::ZERO
        };
        self.opened.insert(self.me, opened);
        self.ownership.table(AccessConditions {
            is_sure,
            down: &self.down,
            is_managed: view.replica.settings().promotes,
        })
    }

    fn tick(&mut self, now: Millis) {
        if now.since(self.last_tick) >= STOPPED_MS {
            self.receiving_since = now;
            self.returned_at = self.returned_at.map(|_| now);
        }
        self.last_tick = now;
    }

    /// Whether this region knows every move of its absence.
    fn is_sure(&mut self, view: RegionView<'_>) -> bool {
        let Some(since) = self.returned_at else {
            return true;
        };
        let RegionView { now, replica, .. } = view;
        let elapsed = now.since(since);
        let confirmed = replica.own_lag(now);
        let is_confirmed = confirmed.is_some_and(|(_, age)| age < elapsed);
        // The write region may have records in its log that others have applied before it.
        let has_all = !replica.is_write_region() || self.applied() >= replica.last();
        if elapsed >= RETURN_MS || (is_confirmed && has_all) {
            self.returned_at = None;
        }
        self.returned_at.is_none()
    }

    fn applied(&self) -> Sequence {
        Sequence(self.followed as u64)
    }

    /// The last ownership record that this region has carried out.
    pub(crate) fn opened(&self) -> Sequence {
        self.opened.get(&self.me).copied().unwrap_or_default()
    }

    /// The status of the partitions, for operators.
    pub(crate) fn status(&self, view: RegionView<'_>) -> FailoverStatus {
        let default = self.ownership.default_owner();
        let moved = self.ownership.owned();
        let moved = moved.filter(|(_, owner, since)| {
            let opened = self.opened.get(owner).copied().unwrap_or_default();
            // A partition that moves back is listed until the write region takes its writes.
            Some(*owner) != default || opened < *since
        });
        let moved = moved.map(|(range_move, owner, _)| RelocatedRange {
            keys: range_move.keys.clone(),
            owner,
            is_automatic: range_move.is_automatic,
        });
        let mut down = self.down.clone();
        down.retain(|_, keys| !keys.is_empty());
        let members = view.replica.members().voters();
        let silent = members.filter(|id| view.is_silent(*id, self.receiving_since));
        FailoverStatus {
            moved: moved.collect(),
            down,
            opened: self.opened.clone(),
            silent: silent.collect(),
        }
    }

    /// The next move, if this is the write region and moves partitions by itself.
    pub(crate) fn decide(&mut self, view: RegionView<'_>) -> Option<RangeMove> {
        let RegionView {
            now,
            replica,
            multi_write,
        } = view;
        self.tick(now);
        let is_default = self.ownership.default_owner() == Some(self.me);
        let is_mine = replica.is_write_region() && is_default && self.returned_at.is_none();
        if !replica.settings().promotes || !is_mine {
            self.watch = AutomaticFailover::default();
            self.pending_move = None;
            return None;
        }
        // The move waits for a majority, and so would the next one.
        if self
            .pending_move
            .is_some_and(|pending_move| self.applied() < pending_move)
        {
            return None;
        }
        let members: Vec<RegionId> = replica.members().voters().collect();
        let behind = |region| {
            let stream = StreamId::Region(region);
            let latest = multi_write.latest(region).of(stream);
            latest.beyond(multi_write.progress().of(stream))
        };
        self.watch.decide(&FailoverView {
            now,
            me: self.me,
            members: &members,
            ownership: &self.ownership,
            down: &self.down,
            // A region that leaves the account writes no more, so it counts as silent.
            is_silent: &|region| {
                !members.contains(&region) || view.is_silent(region, self.receiving_since)
            },
            behind: &behind,
        })
    }

    /// The decided move is in flight as this record.
    pub(crate) fn set_pending_move(&mut self, record: Sequence) {
        self.pending_move = Some(record);
    }
}

/// Planted bugs that the simulation must find.
#[cfg(test)]
impl PartitionFailover {
    pub(crate) fn be_sure(&mut self) {
        self.returned_at = None;
    }

    pub(crate) fn wait_for_nobody(&mut self) {
        self.ownership.wait_for_nobody();
    }

    pub(crate) fn follow_forgetfully(&mut self, applied: &[StreamRecord]) {
        self.ownership.forget_earlier_owners();
        self.follow(applied);
    }
}

impl RegionView<'_> {
    /// Whether a region was silent for the silence time, counted from `receiving_since` at the
    /// earliest.
    fn is_silent(&self, region: RegionId, receiving_since: Millis) -> bool {
        let heard = self
            .multi_write
            .heard_at(region)
            .unwrap_or_default()
            .max(receiving_since);
        let patience_ms = self.replica.settings().silence_ms;
        region != self.replica.region() && self.now.since(heard) >= patience_ms
    }
}

#[cfg(test)]
mod tests;
