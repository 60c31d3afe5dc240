//! The members of the account and its hub. The account stream is not simulated here: its records
//! reach every region in order, each after a delay of its own.

use std::collections::BTreeMap;

use orrery_regions::{Epoch, RegionId, Sequence, StreamEnd, StreamId};

use super::{Bug, Event, World};
use crate::node::value_of;

/// The members and the hub from one record of the account stream on.
#[derive(Clone, Debug)]
pub(crate) struct Roster {
    pub(crate) members: Vec<RegionId>,
    pub(crate) ends: BTreeMap<RegionId, StreamEnd>,
    /// The region that writes no more and leaves when all members have its stream.
    pub(crate) leaving: Option<RegionId>,
    /// Which region decides, and in which epoch.
    pub(crate) hub: RegionId,
    pub(crate) epoch: Epoch,
    /// A region that this record adds.
    adds: Option<RegionId>,
}

/// What operators do in a run.
pub(crate) enum Order {
    Add(RegionId),
    ReplaceHub,
    Remove { forced: bool },
}

impl Roster {
    pub(super) fn new(members: Vec<RegionId>) -> Roster {
        Roster {
            members,
            ends: BTreeMap::new(),
            leaving: None,
            hub: RegionId(0),
            epoch: Epoch(1),
            adds: None,
        }
    }

    /// The members that stay in the account.
    fn voters(&self) -> Vec<RegionId> {
        let is_lost = |region: &RegionId| self.ends.contains_key(region);
        let members = self.members.iter().copied();
        members
            .filter(|region| !is_lost(region) && self.leaving != Some(*region))
            .collect()
    }
}

impl World {
    /// What a region knows.
    pub(super) fn roster(&self, node: usize) -> &Roster {
        let Sequence(applied) = self.nodes[node].disk.progress.of(StreamId::Account);
        &self.rosters[usize::try_from(applied).unwrap()]
    }

    pub(super) fn newest(&self) -> &Roster {
        self.rosters.last().unwrap()
    }

    /// Regions that are part of the account in the end.
    pub(super) fn is_member(&self, node: usize) -> bool {
        self.newest().members.contains(&self.nodes[node].id)
    }

    pub(super) fn is_hub(&self, node: usize) -> bool {
        self.roster(node).hub == self.nodes[node].id
    }

    pub(super) fn may_write(&self, node: usize) -> bool {
        let (id, roster) = (self.nodes[node].id, self.roster(node));
        roster.voters().contains(&id)
    }

    pub(super) fn carry_out(&mut self, order: &Order) {
        let mut roster = self.newest().clone();
        roster.adds = None;
        let others: Vec<RegionId> = roster
            .voters()
            .into_iter()
            .filter(|region| *region != roster.hub)
            .collect();
        match order {
            Order::Add(region) => {
                roster.members.push(*region);
                roster.adds = Some(*region);
            }
            Order::ReplaceHub => {
                roster.hub = self.random.pick(&others);
                roster.epoch = Epoch(roster.epoch.0 + 1);
            }
            // Two members remain, so that an agreement needs another region.
            Order::Remove { .. } if others.len() < 2 => return,
            Order::Remove { forced } => {
                let region = self.random.pick(&others);
                if *forced {
                    roster.ends.insert(region, StreamEnd::Frozen);
                    self.history.forced = true;
                } else {
                    roster.leaving = Some(region);
                }
            }
        }
        self.append(roster);
    }

    fn append(&mut self, roster: Roster) {
        let since = Sequence(self.rosters.len() as u64);
        self.rosters.push(roster);
        for node in 0..self.nodes.len() {
            let millis = self.random.between(0, 800);
            self.after(millis, Event::Learn { node, since });
        }
    }

    /// A record of the account stream reaches a region.
    pub(super) fn learn(&mut self, node: usize, since: Sequence) {
        let known = self.nodes[node].disk.progress.of(StreamId::Account);
        if since > known.next() {
            return self.after(10, Event::Learn { node, since });
        }
        let roster = self.rosters[usize::try_from(since.0).unwrap()].clone();
        let id = self.nodes[node].id;
        let disk = &mut self.nodes[node].disk;
        disk.progress.advance(StreamId::Account, since);
        if roster.adds == Some(id) {
            disk.joined = Some(since);
            self.start(node);
        }
        if let Some(multi_write) = &mut self.nodes[node].multi_write {
            multi_write.set_members(roster.members.clone(), roster.ends.clone());
            multi_write.applied(StreamId::Account, since);
        }
        if let Some(StreamEnd::At(end)) = roster.ends.get(&id) {
            self.leave(node, *end);
        }
    }

    /// A region that has left puts aside the records that the others do not have.
    fn leave(&mut self, node: usize, end: Sequence) {
        let node = &mut self.nodes[node];
        let own = node.own();
        node.multi_write = None;
        node.group.clear();
        node.has_left = true;
        let records = node.disk.log.iter();
        let beyond = records.filter(|record| record.stream == own && record.sequence > end);
        self.history.put_aside.extend(beyond.map(value_of));
    }

    /// The hub completes the removal of a region once its stream has ended.
    pub(super) fn review_members(&mut self, node: usize) {
        let known = self.nodes[node].disk.progress.of(StreamId::Account);
        let is_newest = known.0 + 1 == self.rosters.len() as u64;
        let Some(multi_write) = self.nodes[node].multi_write.as_ref().filter(|_| is_newest) else {
            return;
        };
        let roster = self.newest();
        let voters = roster.voters();
        let lost = roster.ends.iter();
        let lost = lost.filter(|(_, end)| **end == StreamEnd::Frozen);
        let lost = lost.map(|(region, _)| *region).next();
        let since = |holds: &dyn Fn(&Roster) -> bool| {
            let first = self.rosters.iter().position(holds).unwrap();
            Sequence(first as u64)
        };
        let (region, last) = if let Some(region) = lost {
            let since = since(&|roster| roster.ends.contains_key(&region));
            let last = if self.has(Bug::EndAlone) {
                Some(multi_write.progress().of(StreamId::Region(region)))
            } else {
                multi_write.lost_stream_end(region, since, &voters)
            };
            (region, last)
        } else if let Some(region) = roster.leaving {
            let since = since(&|roster| roster.leaving == Some(region));
            let last = if self.has(Bug::LeaveAtOnce) {
                Some(multi_write.progress().of(StreamId::Region(region)))
            } else {
                multi_write.leaving_stream_end(region, since, &voters)
            };
            (region, last)
        } else {
            return;
        };
        let Some(last) = last else {
            return;
        };
        let mut roster = roster.clone();
        roster.adds = None;
        roster.leaving = None;
        roster.members.retain(|member| *member != region);
        roster.ends.insert(region, StreamEnd::At(last));
        self.append(roster);
    }
}
