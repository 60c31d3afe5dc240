//! The world of a run: time, links that lose, duplicate, delay, reorder and are cut, clients, and
//! the end of the run.

use std::collections::BTreeMap;

use orrery_engine::{KeyAccess, KeyRange};
use orrery_regions::{AccountMode, Membership, RegionId, Replica};

use super::history::{Broken, History, Steady};
use super::node::{Node, Outbox, Wire};
use super::plan::{Bug, FaultPlan, KEYS, Key, Plan, REST_MS_MAX, TICK_MS, has, ranges};
use super::random::Random;

/// The time without faults at the start, in which all regions receive each other's messages.
const BEGINS_MS: u64 = 2_000;

pub(super) enum Event {
    Tick(usize),
    Deliver {
        from: usize,
        to: usize,
        wire: Wire,
    },
    Client,
    Write {
        node: usize,
        key: Key,
        number: u64,
    },
    Trouble,
    Operator,
    Start(usize),
    /// A region that was taken down by an operator is brought up.
    Return(usize),
    /// Takes the announced keys down, unless they are up again.
    TakeDown(usize, KeyRange),
    BringUp(usize, KeyRange),
    KeepWriting(usize),
    MoveAgain(KeyRange),
    Mend(Broken),
}

#[derive(Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) is_cut: bool,
    pub(super) extra_ms: u64,
}

pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) random: Random,
    pub(super) now: u64,
    order: u64,
    events: BTreeMap<(u64, u64), Event>,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Vec<Link>>,
    pub(super) loss_per_mille: u64,
    delay_ms: u64,
    next_number: u64,
    is_healed: bool,
    rests_since: Option<u64>,
    pub(super) history: History,
}

/// Runs a plan until the world has converged, or until its time is over.
pub(super) fn run(plan: Plan) -> History {
    let mut world = World::new(plan);
    while world.step() {}
    for node in &world.nodes {
        world.history.ends.insert(node.id, node.end());
    }
    world.history
}

impl World {
    fn new(plan: Plan) -> World {
        let mut random = Random::new(plan.seed);
        let count = 2 + random.below(4);
        let ids: Vec<RegionId> = (0..count)
            .map(|id| RegionId(u8::try_from(id).unwrap()))
            .collect();
        let nodes = ids
            .iter()
            .map(|id| Node::new(*id, plan, random.between(0, 1_000_000)));
        let nodes: Vec<Node> = nodes.collect();
        let mut world = World {
            plan,
            now: 0,
            order: 0,
            events: BTreeMap::new(),
            links: vec![vec![Link::default(); count]; count],
            loss_per_mille: random.pick(&[0, 20, 100]),
            delay_ms: random.pick(&[5, 40, 120]),
            next_number: 0,
            is_healed: false,
            rests_since: None,
            history: History {
                regions: ids.clone(),
                ..History::default()
            },
            nodes,
            random,
        };
        let mut members = Membership::new(ids.into_iter().map(|id| (id, "region")));
        members.mode = AccountMode::ByOwner;
        world.nodes[0].found(0, members);
        for node in 0..count {
            if node > 0 {
                world.nodes[node].start(0);
            }
            world.history.returns.push((0, world.nodes[node].id));
            world.after(1 + node as u64, Event::Tick(node));
        }
        world.after(BEGINS_MS, Event::Client);
        world.after(BEGINS_MS, Event::Trouble);
        world.after(BEGINS_MS, Event::Operator);
        world
    }

    pub(super) fn after(&mut self, millis: u64, event: Event) {
        self.at(self.now + millis, event);
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.events.insert((time, self.order), event);
    }

    /// False when it is over.
    fn step(&mut self) -> bool {
        let Some(((now, _), event)) = self.events.pop_first() else {
            return false;
        };
        self.now = now;
        if now >= self.plan.healed_ms() && !self.is_healed {
            self.heal();
        }
        if self.is_at_rest() {
            self.rests_since.get_or_insert(now);
        } else {
            self.rests_since = None;
        }
        // A decided move may still be in flight.
        let is_over = self.rests_since.is_some_and(|since| now >= since + 1_000);
        if is_over || now > REST_MS_MAX {
            return false;
        }
        self.handle(event);
        true
    }

    fn handle(&mut self, event: Event) {
        let stopped = match &event {
            Event::Tick(node)
            | Event::Write { node, .. }
            | Event::Deliver { to: node, .. }
            | Event::TakeDown(node, _)
            | Event::BringUp(node, _) => self.nodes[*node].paused_until,
            _ => 0,
        };
        if stopped > self.now {
            return self.at(stopped, event);
        }
        match event {
            Event::Tick(node) => {
                if self.plan.has(Bug::SayBeforeClosing) {
                    self.nodes[node].refresh(self.now, &mut self.history);
                }
                self.nodes[node].tick(self.now);
                self.settle(node);
                self.after(TICK_MS, Event::Tick(node));
            }
            Event::Deliver { from, to, wire } => {
                let sender = self.nodes[from].id;
                let out = self.nodes[to].take(self.now, sender, wire, &mut self.history);
                self.send(to, out);
                self.settle(to);
            }
            Event::Client => self.client(),
            Event::Write { node, key, number } => {
                self.nodes[node].write(self.now, key, number, &mut self.history);
            }
            Event::Trouble => self.trouble(),
            Event::Operator => self.operator(),
            Event::Start(node) => self.start(node),
            Event::Return(node) => self.bring_back(node),
            Event::TakeDown(node, keys) => {
                if let Some(life) = &self.nodes[node].life
                    && life.board.failing().contains(&keys)
                {
                    life.board.take_down(&keys);
                }
                self.settle(node);
            }
            Event::BringUp(node, keys) => self.bring_up(node, &keys),
            Event::MoveAgain(keys) => self.move_again(&keys),
            Event::KeepWriting(node) => self.keep_writing(node),
            Event::Mend(what) => self.mend(what),
        }
    }

    /// A client tries some region.
    fn client(&mut self) {
        if self.now >= self.plan.healed_ms() + 3_000 {
            return;
        }
        self.next_number += 1;
        let number = self.next_number;
        let key = self.random.below(KEYS);
        let node = self.random.below(self.nodes.len());
        self.after(0, Event::Write { node, key, number });
        let millis = self.random.between(5, 60);
        self.after(millis, Event::Client);
    }

    /// Whether a region runs and is not paused.
    pub(super) fn goes_on(&self, node: usize) -> bool {
        self.nodes[node].is_there() && self.nodes[node].paused_until <= self.now
    }

    pub(super) fn settle(&mut self, node: usize) {
        if self.nodes[node].paused_until > self.now {
            return;
        }
        let out = self.nodes[node].settle(self.now, &mut self.history);
        self.send(node, out);
    }

    fn send(&mut self, from: usize, out: Outbox) {
        for (to, wire, held) in out {
            let to = usize::from(to.0);
            let link = self.links[from][to];
            let is_lost = self.random.chance(self.loss_per_mille) && self.now >= BEGINS_MS;
            if link.is_cut || is_lost {
                continue;
            }
            let copies = 1 + usize::from(self.random.chance(30));
            for _ in 0..copies {
                let late = if self.random.chance(20) { 500 } else { 0 };
                let delay = self.random.between(1, 1 + self.delay_ms);
                let wire = wire.clone();
                let millis = held + late + delay + link.extra_ms;
                self.after(millis, Event::Deliver { from, to, wire });
            }
        }
    }

    /// The write region of the newest epoch.
    pub(super) fn writer(&self) -> Option<usize> {
        let replica = |node: &usize| self.nodes[*node].life.as_ref().map(|life| &life.replica);
        let writers = (0..self.nodes.len()).filter(|node| {
            self.goes_on(*node) && replica(node).is_some_and(Replica::is_write_region)
        });
        writers.max_by_key(|node| replica(node).map(Replica::epoch))
    }

    fn heal(&mut self) {
        self.is_healed = true;
        if self.plan.faults == FaultPlan::Rough {
            let down = self.nodes.iter().flat_map(|node| {
                let down = node.life.as_ref().map(|life| life.board.failing());
                let down = down.unwrap_or_default();
                let keys = (0..KEYS).filter(move |key| down.iter().any(|down| has(down, *key)));
                keys.map(|key| (node.id, key))
            });
            self.history.steady = Some(Steady {
                at: self.now,
                down: down.collect(),
            });
        }
        self.loss_per_mille = 0;
        for from in 0..self.nodes.len() {
            for to in 0..self.nodes.len() {
                self.links[from][to].extra_ms = 0;
                self.mend(Broken::Link(self.nodes[from].id, self.nodes[to].id));
            }
            self.nodes[from].paused_until = 0;
            self.mend(Broken::Region(self.nodes[from].id));
            self.start(from);
            self.bring_back(from);
            for keys in ranges() {
                self.bring_up(from, &keys);
            }
        }
    }

    /// Everybody is there, has everything, and every key is open somewhere.
    fn is_at_rest(&self) -> bool {
        let Some(writer) = self.writer().filter(|_| self.is_healed) else {
            return false;
        };
        let (first, last) = (&self.nodes[writer], self.nodes[writer].last());
        let is_done = |node: &Node| {
            node.is_there() && node.applied() == last && node.progress() == first.progress()
        };
        let is_open = |key: Key| {
            let mut nodes = self.nodes.iter();
            nodes.any(|node| node.access(key) == KeyAccess::Open)
        };
        let seen = self.seen(writer);
        let is_away = seen.is_some_and(|seen| seen.moved.iter().any(|moved| moved.is_automatic));
        self.now >= self.plan.healed_ms() + 4_500
            && !is_away
            && self.nodes.iter().all(is_done)
            && (0..KEYS).all(is_open)
    }
}
