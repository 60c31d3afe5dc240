//! What one region knows and decides about single partitions. It sees its region, its clock included, and says
//! what the store is to take, what operators are shown and what is to be moved; the task of the region
//! carries that out, and so does a simulated one.

use std::collections::BTreeMap;

use orrery_engine::{AccessTable, KeyRange};
use orrery_regions::{Mesh, Millis, RegionId, Replica, Sequence, StreamId, StreamRecord};

use super::{Holds, Moved, Ownership, RangeMove, Scene, Seen, Watch};
use crate::PartitionsFrame;

/// Who has not looked for so long was stopped: that it heard of nobody says nothing about them.
const STOPPED_MS: u64 = 500;
/// A region that is back takes writes after so long if it hears nothing: all others may be gone.
const RETURN_MS: u64 = 3_000;

#[derive(Debug)]
pub(crate) struct Keeper {
    me: RegionId,
    ownership: Ownership,
    watch: Watch,
    /// Of all regions, as they said.
    down: BTreeMap<RegionId, Vec<KeyRange>>,
    opened: BTreeMap<RegionId, Sequence>,
    /// Since when the region would have heard of others.
    listening: Millis,
    looked: Millis,
    /// Since when the region is back and may not know yet what was moved without it.
    returned: Option<Millis>,
    /// A move that is not applied yet.
    ordered: Option<Sequence>,
    /// Records of the account stream that the ownership has.
    followed: usize,
}

/// A region at one moment, as it knows itself and the others.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) now: Millis,
    pub(crate) replica: &'a Replica,
    pub(crate) mesh: &'a Mesh,
}

impl Keeper {
    /// With what is applied of the account stream.
    pub(crate) fn new(me: RegionId, now: Millis, applied: &[StreamRecord]) -> Keeper {
        let mut keeper = Keeper {
            me,
            ownership: Ownership::new(me),
            watch: Watch::default(),
            down: BTreeMap::new(),
            opened: BTreeMap::new(),
            listening: now,
            looked: now,
            returned: Some(now),
            ordered: None,
            followed: 0,
        };
        keeper.follow(applied);
        keeper
    }

    /// Takes note of what is applied of the account stream by now, from its beginning. Others may hear that it is
    /// applied when the store has the table that [`Keeper::refresh`] makes of it, no sooner.
    pub(crate) fn follow(&mut self, applied: &[StreamRecord]) {
        for record in applied.iter().skip(self.followed) {
            self.ownership.apply(record);
        }
        self.followed = self.followed.max(applied.len());
    }

    /// Another region says how it is.
    pub(crate) fn hear(&mut self, from: RegionId, frame: PartitionsFrame) {
        self.down.insert(from, frame.down);
        self.opened.insert(from, frame.opened);
    }

    /// The region is down: when it is back it must not go on as if nothing had happened.
    pub(crate) fn leave(&mut self, now: Millis) {
        self.returned = Some(now);
        self.listening = now;
    }

    /// The region goes on with another [`Mesh`], which has heard of nobody yet.
    pub(crate) fn listen_anew(&mut self, now: Millis) {
        self.listening = now;
    }

    /// What the store may take by now; `down` is what is down here.
    pub(crate) fn refresh(&mut self, sight: Sight<'_>, down: Vec<KeyRange>) -> AccessTable {
        self.look(sight.now);
        let mesh = sight.mesh;
        let listening = self.listening;
        let latest = |region| (!sight.is_silent(region, listening)).then(|| mesh.latest(region));
        self.ownership.review(mesh.progress(), latest);
        self.down.insert(self.me, down);
        // A copied state may have more of the account stream than is known here yet.
        let is_behind = mesh.progress().of(StreamId::Account) > self.applied();
        let is_sure = self.is_sure(sight) && !is_behind;
        let opened = if is_sure {
            self.ownership.opened(self.applied())
        } else {
            Sequence::ZERO
        };
        self.opened.insert(self.me, opened);
        self.ownership.table(Holds {
            is_sure,
            down: &self.down,
            is_managed: sight.replica.settings().promotes,
        })
    }

    fn look(&mut self, now: Millis) {
        if now.since(self.looked) >= STOPPED_MS {
            self.listening = now;
            self.returned = self.returned.map(|_| now);
        }
        self.looked = now;
    }

    /// Whether nothing can have been moved that this region has not heard of since it is here.
    fn is_sure(&mut self, sight: Sight<'_>) -> bool {
        let Some(since) = self.returned else {
            return true;
        };
        let Sight { now, replica, .. } = sight;
        let elapsed = now.since(since);
        let confirmed = replica.own_lag(now);
        let is_confirmed = confirmed.is_some_and(|(_, age)| age < elapsed);
        // The write region may have records in its log that others have applied and it has not.
        let has_all = !replica.is_write_region() || self.applied() >= replica.last();
        if elapsed >= RETURN_MS || (is_confirmed && has_all) {
            self.returned = None;
        }
        self.returned.is_none()
    }

    fn applied(&self) -> Sequence {
        Sequence(self.followed as u64)
    }

    /// Up to which record of the account stream this region takes what it was given.
    pub(crate) fn opened(&self) -> Sequence {
        self.opened.get(&self.me).copied().unwrap_or_default()
    }

    /// How things are, for operators.
    pub(crate) fn seen(&self, sight: Sight<'_>) -> Seen {
        let default = self.ownership.default_owner();
        let moved = self.ownership.owned();
        let moved = moved.filter(|(_, owner, since)| {
            let opened = self.opened.get(owner).copied().unwrap_or_default();
            // On its way back it is not back yet.
            Some(*owner) != default || opened < *since
        });
        let moved = moved.map(|(range_move, owner, _)| Moved {
            keys: range_move.keys.clone(),
            owner,
            is_automatic: range_move.is_automatic,
        });
        let mut down = self.down.clone();
        down.retain(|_, keys| !keys.is_empty());
        let members = sight.replica.members().full();
        let silent = members.filter(|id| sight.is_silent(*id, self.listening));
        Seen {
            moved: moved.collect(),
            down,
            opened: self.opened.clone(),
            silent: silent.collect(),
        }
    }

    /// What is to be moved, if this is the write region and such is its work.
    pub(crate) fn decide(&mut self, sight: Sight<'_>) -> Option<RangeMove> {
        let Sight { now, replica, mesh } = sight;
        self.look(now);
        let is_default = self.ownership.default_owner() == Some(self.me);
        let is_mine = replica.is_write_region() && is_default && self.returned.is_none();
        if !replica.settings().promotes || !is_mine {
            self.watch = Watch::default();
            self.ordered = None;
            return None;
        }
        // It waits for a majority, as the next one would.
        if self.ordered.is_some_and(|ordered| self.applied() < ordered) {
            return None;
        }
        let members: Vec<RegionId> = replica.members().full().collect();
        let behind = |region| {
            let stream = StreamId::Region(region);
            let latest = mesh.latest(region).of(stream);
            latest.beyond(mesh.progress().of(stream))
        };
        self.watch.decide(&Scene {
            now,
            me: self.me,
            members: &members,
            ownership: &self.ownership,
            down: &self.down,
            // Who leaves writes no more.
            is_silent: &|region| {
                !members.contains(&region) || sight.is_silent(region, self.listening)
            },
            behind: &behind,
        })
    }

    /// What was decided is under way as this record.
    pub(crate) fn ordered(&mut self, record: Sequence) {
        self.ordered = Some(record);
    }
}

/// Mistakes that the simulation must find.
#[cfg(test)]
impl Keeper {
    pub(crate) fn be_sure(&mut self) {
        self.returned = None;
    }

    pub(crate) fn wait_for_nobody(&mut self) {
        self.ownership.wait_for_nobody();
    }

    pub(crate) fn follow_forgetfully(&mut self, applied: &[StreamRecord]) {
        self.ownership.forget_earlier_owners();
        self.follow(applied);
    }
}

impl Sight<'_> {
    /// Whether nothing is heard of a region by one that listens since a time.
    fn is_silent(&self, region: RegionId, listening: Millis) -> bool {
        let heard = self.mesh.heard(region).unwrap_or_default().max(listening);
        let patience_ms = self.replica.settings().silence_ms;
        region != self.replica.region() && self.now.since(heard) >= patience_ms
    }
}

#[cfg(test)]
mod tests;
