//! The faults of a world, and the orders of operators in answer to them.

use orrery_regions::{Force, MemberStatus, Replica};

use crate::node::{Life, Node};
use crate::plan::Failovers;
use crate::world::{Event, Link, TROUBLE_MS, World};

impl World {
    pub(crate) fn trouble(&mut self) {
        if self.trouble_over {
            return;
        }
        let node = self.random.below(self.nodes.len());
        let other = self.random.below(self.nodes.len());
        match self.random.below(13) {
            0 | 1 => {
                self.crash(node);
                let millis = self.random.pick(&[20, 200, 900, 2_000]);
                self.after(millis, Event::Start(node));
            }
            2 => self.nodes[node].paused_until = self.now + self.random.between(50, 1_200),
            3 => self.links[node][other].is_cut = true,
            6 | 7 => {
                self.links[node][other].is_cut = true;
                self.links[other][node].is_cut = true;
            }
            4 => {
                for peer in 0..self.nodes.len() {
                    self.links[node][peer].is_cut = true;
                    self.links[peer][node].is_cut = true;
                }
            }
            5 => self.links[node][other].extra_ms = self.random.between(0, 300),
            12 => self.break_disk(node),
            _ => self.heal_links(),
        }
        let millis = self.random.between(50, 600);
        self.after(millis, Event::Trouble);
    }

    /// From now on nothing becomes durable; the region notices a little later. A restart repairs it.
    fn break_disk(&mut self, node: usize) {
        if self.nodes[node].life.is_some() {
            self.nodes[node].is_broken = true;
            // Disk writes in flight are lost with the disk.
            self.nodes[node].generation += 1;
        }
    }

    pub(crate) fn notice_break(&mut self, node: usize) {
        let is_broken = self.nodes[node].is_broken;
        if let Some(replica) = self.replica(node).filter(|_| is_broken) {
            let was_writing = replica.is_write_region();
            replica.set_storage_healthy(false);
            if was_writing && !replica.is_write_region() {
                self.happened("a broken write region stepped down");
            }
        }
    }

    pub(crate) fn heal_links(&mut self) {
        for link in self.links.iter_mut().flatten() {
            *link = Link::default();
        }
    }

    pub(crate) fn end_trouble(&mut self) {
        self.trouble_over = true;
        self.heal_links();
        self.loss_per_mille = 0;
        for node in 0..self.nodes.len() {
            self.nodes[node].paused_until = 0;
            if self.nodes[node].is_broken {
                self.crash(node);
            }
            self.after(1, Event::Start(node));
        }
    }

    pub(crate) fn replica(&mut self, node: usize) -> Option<&mut Replica> {
        self.nodes[node].life.as_mut().map(|life| &mut life.replica)
    }

    /// The write region of the newest epoch.
    pub(crate) fn writer(&self) -> Option<usize> {
        let writers = (0..self.nodes.len()).filter_map(|node| {
            let replica = &self.nodes[node].life.as_ref()?.replica;
            replica.is_write_region().then(|| (replica.epoch(), node))
        });
        writers.max().map(|(_, node)| node)
    }

    pub(crate) fn operator(&mut self) {
        if self.trouble_over {
            self.bring_to_rest();
            return self.after(100, Event::Operator);
        }
        let node = self.random.below(self.nodes.len());
        let clock = self.nodes[node].clock(self.now);
        let choice = self.random.below(12);
        match (choice, self.plan.failovers) {
            (0..3, Failovers::Planned | Failovers::All) => {
                if let Some(writer) = self.writer() {
                    let (to, clock) = (self.nodes[node].id, self.nodes[writer].clock(self.now));
                    let _ = self
                        .replica(writer)
                        .map(|replica| replica.hand_over(clock, to));
                    self.happened("a hand over was asked for");
                    self.settle(writer);
                }
            }
            (3, _) => {
                let writer = self.writer();
                if let Some(replica) = writer.and_then(|writer| self.replica(writer)) {
                    replica.cancel_hand_over();
                }
            }
            (4 | 5, Failovers::All) if !self.away.contains(&node) => {
                let mut offline = Vec::new();
                if self.plan.membership && self.random.chance(400) {
                    let down = self.nodes.iter().filter(|node| {
                        node.life.is_none()
                            || self.links[usize::from(node.id.0)]
                                .iter()
                                .all(|link| link.is_cut)
                    });
                    offline.extend(down.map(|node| node.id));
                }
                offline.retain(|region| {
                    let region = usize::from(region.0);
                    region != node && !self.promoted.contains(&region)
                });
                self.away
                    .extend(offline.iter().map(|region| usize::from(region.0)));
                let force = Force {
                    offline,
                    accepts_loss: false,
                };
                if let Some(replica) = self.replica(node)
                    && replica.promote_by_force(clock, &force).is_ok()
                {
                    let epoch = replica.epoch();
                    self.ordered.insert(node, epoch);
                    self.promoted.insert(node);
                }
                self.settle(node);
            }
            (6 | 7, _) if self.plan.membership => self.change_members(node),
            _ => {}
        }
        self.welcome_back();
        let millis = self.random.between(100, 700);
        self.after(millis, Event::Operator);
    }

    /// Removes from `away` each region that is a member by its own log and by the write region's
    /// log.
    ///
    /// Operators must not promote a region that was taken offline before it has been added again,
    /// and must take no region offline that was promoted before it follows again. So an operator
    /// must not take for the write region
    /// - a region that still writes while an operator's order to replace it is carried out: it
    ///   lists the regions that the order takes offline, and the promoted region seems to follow
    ///   it;
    /// - a region that is left of an older epoch while the write region of the newest epoch is
    ///   down: the region believes that it writes and is a member.
    pub(crate) fn welcome_back(&mut self) {
        let nodes = &self.nodes;
        let life = |node: usize| nodes[node].life.as_ref().map(|life| &life.replica);
        self.ordered.retain(|node, before| {
            let is_under_way =
                |replica: &Replica| !replica.is_write_region() && replica.epoch() == *before;
            life(*node).is_some_and(is_under_way)
        });
        let newest = self.history.originated.last_key_value();
        let newest = newest.map(|((epoch, _), _)| *epoch);
        let is_newest = |writer: &usize| life(*writer).map(Replica::epoch) == newest;
        let Some(writer) = self.writer().filter(is_newest) else {
            return;
        };
        if !self.ordered.is_empty() {
            return;
        }
        let members = self.nodes[writer]
            .life
            .as_ref()
            .unwrap()
            .replica
            .members()
            .clone();
        let nodes = &self.nodes;
        let epoch = nodes[writer].life.as_ref().unwrap().replica.epoch();
        self.promoted.retain(|node| {
            let life = nodes[*node].life.as_ref();
            let follows =
                |life: &Life| !life.replica.is_write_region() && life.replica.epoch() == epoch;
            !life.is_some_and(follows)
        });
        self.away.retain(|node| {
            let life = nodes[*node].life.as_ref();
            let knows = life.is_some_and(|life| *life.replica.members() == members);
            !(knows && members.is_voter(nodes[*node].id))
        });
    }

    /// Adds a region that is missing, admits one that copies, or removes one.
    pub(crate) fn change_members(&mut self, region: usize) {
        let Some(writer) = self.writer() else {
            return;
        };
        let (id, clock) = (self.nodes[region].id, self.nodes[writer].clock(self.now));
        let rests = self.trouble_over;
        let Some(replica) = self.replica(writer) else {
            return;
        };
        let status = replica.members().get(id).map(|member| member.status);
        let change = match status {
            None => replica.add_region(clock, id, "region"),
            Some(MemberStatus::Learner) => replica.admit_region(clock, id),
            Some(MemberStatus::Voter) if rests => return,
            Some(MemberStatus::Voter | MemberStatus::Leaving | MemberStatus::Lost) => {
                replica.remove_region(clock, id)
            }
        };
        if change.is_ok() && status == Some(MemberStatus::Voter) {
            self.away.insert(region);
        }
        if let Ok(record) = change {
            self.append(writer, vec![record]);
            self.settle(writer);
        }
    }

    /// The operator's work after the trouble: ensures that there is a write region and that every
    /// region is a member, and waits until every region has every record.
    pub(crate) fn bring_to_rest(&mut self) {
        let Some(writer) = self.writer() else {
            if self.now > TROUBLE_MS + 2_500 {
                // The most advanced member of the newest membership is the one to promote.
                let lives = self.nodes.iter().filter_map(|node| {
                    let replica = &node.life.as_ref()?.replica;
                    let position = (replica.lineage().newest(), replica.last());
                    let is_full = replica.members().is_voter(node.id);
                    is_full.then(|| (position, usize::from(node.id.0)))
                });
                if let Some((_, node)) = lives.max() {
                    let clock = self.nodes[node].clock(self.now);
                    let force = Force::default();
                    let _ = self
                        .replica(node)
                        .map(|replica| replica.promote_by_force(clock, &force));
                    self.settle(node);
                }
            }
            return;
        };
        if let Some(replica) = self.replica(writer) {
            replica.cancel_hand_over();
        }
        // The operator cancels an order that got too few votes, because a candidate by order does
        // not follow.
        for node in std::mem::take(&mut self.ordered).into_keys() {
            let clock = self.nodes[node].clock(self.now);
            if let Some(replica) = self.replica(node) {
                replica.give_up(clock);
            }
        }
        for region in 0..self.nodes.len() {
            self.change_members(region);
        }
        let life = self.nodes[writer].life.as_ref().unwrap();
        let (last, epoch) = (life.replica.last(), life.replica.epoch());
        let is_at_rest = |node: &Node| {
            node.life.as_ref().is_some_and(|node_life| {
                node_life.applied == last
                    && node_life.replica.epoch() == epoch
                    && life.replica.members().is_voter(node.id)
            })
        };
        let clients_rest = self.clients.iter().all(|client| client.under_way.is_none());
        if self.nodes.iter().all(is_at_rest) && clients_rest && self.now > TROUBLE_MS + 1_000 {
            self.rest_since.get_or_insert(self.now);
        }
    }
}
