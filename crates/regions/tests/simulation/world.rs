//! The world of a run: time, links that misbehave, regions that crash and pause, operators, clients.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use orrery_regions::{
    Consistency, Epoch, Membership, Millis, ReadOutcome, RecordBody, RecordPage, RegionId,
    ReplicaEffect, ReplicaMessage, Sequence, SnapshotMetadata, StreamRecord,
};

use crate::clients::Client;
use crate::history::{History, Originated, Value, View};
use crate::node::{Life, Node, Trim, apply, decode};
use crate::plan::{Bug, Plan};
use crate::random::Random;

const TICK_MS: u64 = 30;
pub(crate) const TROUBLE_MS: u64 = 5_000;
const REST_MS_MAX: u64 = 30_000;

pub(crate) enum Event {
    Tick(usize),
    Deliver {
        from: usize,
        to: usize,
        wire: Wire,
    },
    Synced {
        node: usize,
        generation: u64,
        upto: Sequence,
    },
    Start(usize),
    Client(usize),
    GiveUp {
        client: usize,
        number: u64,
    },
    Trouble,
    Operator,
    Checkpoint(usize),
}

#[derive(Clone)]
pub(crate) enum Wire {
    Message(ReplicaMessage),
    AskSnapshot,
    Snapshot(SnapshotMetadata, View),
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Link {
    pub(crate) is_cut: bool,
    pub(crate) extra_ms: u64,
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) now: u64,
    pub(crate) order: u64,
    pub(crate) queue: BinaryHeap<Reverse<(u64, u64)>>,
    pub(crate) events: BTreeMap<(u64, u64), Event>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Vec<Link>>,
    pub(crate) loss_per_mille: u64,
    pub(crate) delay_ms: u64,
    pub(crate) clients: Vec<Client>,
    pub(crate) next_value: Value,
    pub(crate) next_session: u64,
    pub(crate) trouble_over: bool,
    pub(crate) rest_since: Option<u64>,
    /// Regions that operators took offline or removed, and that may not know.
    pub(crate) away: BTreeSet<usize>,
    /// Regions that operators promoted and that did not write yet, with the epochs that they followed then.
    pub(crate) ordered: BTreeMap<usize, Epoch>,
    /// Regions that operators promoted and that may write: not ones to take offline.
    pub(crate) promoted: BTreeSet<usize>,
    pub(crate) history: History,
    /// By sender and receiver: the last record that left, and when the last question was asked.
    pub(crate) sent: BTreeMap<(usize, usize), (Sequence, Millis)>,
}

/// Runs a plan to its end and returns the history; an error describes a world that does not
/// converge.
pub(crate) fn run(plan: Plan) -> Result<History, String> {
    let mut world = World::new(plan);
    world.run()?;
    Ok(world.finish())
}

impl World {
    pub(crate) fn new(plan: Plan) -> World {
        let mut random = Random::new(plan.seed);
        let count = 2 + random.below(4);
        let spare = usize::from(plan.membership && random.chance(500));
        let nodes: Vec<Node> = (0..count + spare)
            .map(|id| {
                Node::new(
                    RegionId(u8::try_from(id).unwrap()),
                    random.between(0, 1_000_000),
                )
            })
            .collect();
        let clients = 2 + random.below(3);
        let mut world = World {
            plan,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            links: vec![vec![Link::default(); nodes.len()]; nodes.len()],
            loss_per_mille: random.pick(&[0, 10, 50, 150]),
            delay_ms: random.pick(&[3, 20, 60]),
            clients: Vec::new(),
            next_value: 0,
            next_session: 0,
            trouble_over: false,
            rest_since: None,
            away: BTreeSet::new(),
            ordered: BTreeMap::new(),
            promoted: BTreeSet::new(),
            history: History::default(),
            sent: BTreeMap::new(),
            nodes,
            random,
        };
        let names: Vec<(RegionId, &str)> = world.nodes[..count]
            .iter()
            .map(|node| (node.id, "region"))
            .collect();
        let members = Membership::new(names);
        let settings = plan.settings();
        world.nodes[0].found(0, settings, members);
        for node in 1..count + spare {
            world.nodes[node].start(0, settings);
        }
        for node in 0..count + spare {
            world.at(1 + node as u64, Event::Tick(node));
            world.at(400 + 37 * node as u64, Event::Checkpoint(node));
        }
        for client in 0..clients {
            let region = world.random.below(count);
            world.next_session += 1;
            let session = world.next_session;
            world.clients.push(Client {
                session,
                region,
                token: None,
                number: 0,
                under_way: None,
            });
            world.at(50 + client as u64, Event::Client(client));
        }
        world.at(300, Event::Trouble);
        world.at(500, Event::Operator);
        world.settle(0);
        world
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((time, self.order)));
        self.events.insert((time, self.order), event);
    }

    pub(crate) fn after(&mut self, millis: u64, event: Event) {
        self.at(self.now + millis, event);
    }

    pub(crate) fn run(&mut self) -> Result<(), String> {
        while let Some(Reverse(key)) = self.queue.pop() {
            let event = self.events.remove(&key).unwrap();
            self.now = key.0;
            if self.now >= TROUBLE_MS && !self.trouble_over {
                self.end_trouble();
            }
            if self.now > REST_MS_MAX {
                return Err(format!("no rest: {}", self.describe()));
            }
            self.handle(event);
            // A hand-over may be in flight still.
            let is_over = self.rest_since.is_some_and(|since| self.now > since + 300);
            if is_over && self.writer().is_some() {
                return Ok(());
            }
        }
        Err("the world stood still".to_owned())
    }

    pub(crate) fn handle(&mut self, event: Event) {
        let busy = match &event {
            Event::Tick(node) | Event::Deliver { to: node, .. } | Event::Synced { node, .. } => {
                self.nodes[*node].paused_until
            }
            _ => 0,
        };
        if busy > self.now {
            return self.at(busy, event);
        }
        match event {
            Event::Tick(node) => {
                let clock = self.nodes[node].clock(self.now);
                self.notice_break(node);
                if let Some(life) = &mut self.nodes[node].life {
                    life.replica.tick(clock);
                }
                self.settle(node);
                self.after(TICK_MS, Event::Tick(node));
            }
            Event::Deliver { from, to, wire } => self.deliver(from, to, wire),
            Event::Synced {
                node,
                generation,
                upto,
            } => {
                if self.nodes[node].generation == generation {
                    let clock = self.nodes[node].clock(self.now);
                    self.nodes[node].disk.synced = self.nodes[node].disk.synced.max(upto);
                    if let Some(life) = &mut self.nodes[node].life {
                        life.replica.mark_durable(clock, upto);
                    }
                    self.settle(node);
                    self.send_unasked(node);
                }
            }
            Event::Start(node) => {
                if self.nodes[node].life.is_none() {
                    if self.nodes[node].start(self.now, self.plan.settings()) {
                        self.happened("a state was ahead of its log");
                    }
                    if self.plan.has(Bug::ApplyTwice)
                        && let Some(life) = &mut self.nodes[node].life
                        && life.applied.0 > 2
                    {
                        life.applied = Sequence(life.applied.0 - 1);
                    }
                    self.settle(node);
                }
            }
            Event::Client(client) => self.client_turn(client),
            Event::GiveUp { client, number } => self.give_up(client, number),
            Event::Trouble => self.trouble(),
            Event::Operator => self.operator(),
            Event::Checkpoint(node) => {
                let trim = match self.random.below(20) {
                    0 => Trim::Everything,
                    1..10 => Trim::Held,
                    _ => Trim::Nothing,
                };
                self.nodes[node].checkpoint(trim);
                self.after(350, Event::Checkpoint(node));
            }
        }
    }

    pub(crate) fn deliver(&mut self, from: usize, to: usize, wire: Wire) {
        let clock = self.nodes[to].clock(self.now);
        let sender = self.nodes[from].id;
        let is_broken = self.nodes[to].is_broken;
        let Some(life) = &mut self.nodes[to].life else {
            return;
        };
        match wire {
            Wire::Message(message) => life.replica.receive(clock, sender, message),
            Wire::AskSnapshot => {
                let head = life.replica.metadata();
                let snapshot = Wire::Snapshot(head, life.state.clone());
                self.transmit(to, from, &snapshot);
            }
            Wire::Snapshot(head, state) => {
                if !is_broken && life.replica.accepts(&head) {
                    self.history
                        .happened
                        .entry("a snapshot was installed")
                        .or_insert(1);
                    self.nodes[to].install(head.clone(), state);
                    let life = self.nodes[to].life.as_mut().unwrap();
                    life.replica.installed(clock, head);
                }
            }
        }
        self.settle(to);
    }

    /// Carries out the effects of the state machine until the list is empty.
    pub(crate) fn settle(&mut self, node: usize) {
        loop {
            let Some(life) = &mut self.nodes[node].life else {
                return;
            };
            let effects = life.replica.take_effects();
            if effects.is_empty() && !self.advance(node) {
                break;
            }
            for effect in effects {
                if self.nodes[node].life.is_some() {
                    self.carry_out(node, effect);
                }
            }
        }
        self.answer_writes(node);
    }

    pub(crate) fn carry_out(&mut self, node: usize, effect: ReplicaEffect) {
        let clock = self.nodes[node].clock(self.now);
        match effect {
            ReplicaEffect::SaveHardState(_) if self.nodes[node].is_broken => {
                // Nothing may leave that relies on the promise.
                self.crash(node);
                self.after(900, Event::Start(node));
            }
            ReplicaEffect::SaveHardState(saved) => {
                let node = &mut self.nodes[node];
                // A region that relies on the promise also relies on the records that were written
                // before it.
                node.disk.synced = node.written();
                node.disk.saved.promised = saved.promised;
            }
            ReplicaEffect::Append(records) => self.append(node, records),
            ReplicaEffect::Send { to, message } => {
                self.transmit(node, usize::from(to.0), &Wire::Message(message));
            }
            ReplicaEffect::SendPage {
                to,
                head,
                bytes_max,
            } => {
                let upto = if self.plan.has(Bug::ShipUnsynced) {
                    Sequence(u64::MAX)
                } else {
                    self.nodes[node].written()
                };
                let to = usize::from(to.0);
                let records = self.nodes[node].records_after(head.after, upto, bytes_max);
                self.send_page(node, to, RecordPage { head, records });
            }
            ReplicaEffect::FetchSnapshot { from } => {
                self.transmit(node, usize::from(from.0), &Wire::AskSnapshot);
            }
            ReplicaEffect::RepairLog(repair) => {
                self.happened(match (repair.rewinds, repair.is_complete) {
                    (false, _) => "a log was cut",
                    (true, true) => "a state went back",
                    (true, false) => "a state was set aside",
                });
                if !self.plan.has(Bug::DropFalseProgress) {
                    self.nodes[node].keep_false_progress(repair.diverged_from, repair.is_complete);
                }
                if !repair.rewinds {
                    self.nodes[node].cut(repair.diverged_from);
                    let life = self.nodes[node].life.as_mut().unwrap();
                    life.replica.cut(clock);
                    // The remaining log may not be durable yet, and disk writes from before the cut
                    // no longer count.
                    self.append(node, Vec::new());
                }
            }
            ReplicaEffect::AnswerRead { read, outcome } => {
                let life = self.nodes[node].life.as_mut().unwrap();
                if let Some(pending) = life.reads.remove(&read) {
                    let is_ready = outcome == ReadOutcome::Ready;
                    self.end_read(node, pending.client, pending.number, is_ready);
                }
            }
        }
    }

    fn send_page(&mut self, node: usize, to: usize, page: RecordPage) {
        let last = page.records.last().map(|record| record.sequence);
        let sent = (last.unwrap_or(page.head.after), page.head.asked);
        self.sent.insert((node, to), sent);
        self.transmit(node, to, &Wire::Message(ReplicaMessage::Page(page)));
    }

    /// At strong, new durable records follow the last page before the follower pulls again.
    fn send_unasked(&mut self, node: usize) {
        if self.plan.level != Consistency::Strong {
            return;
        }
        let clock = self.nodes[node].clock(self.now);
        for to in 0..self.nodes.len() {
            let sent = self.sent.get(&(node, to)).copied();
            let Some(((after, asked), life)) = sent.zip(self.nodes[node].life.as_ref()) else {
                continue;
            };
            let Some(head) = life.replica.unasked_header(clock, after, asked) else {
                continue;
            };
            let synced = self.nodes[node].disk.synced;
            let records = self.nodes[node].records_after(after, synced, u64::MAX);
            if !records.is_empty() {
                self.happened("records came unasked");
                self.send_page(node, to, RecordPage { head, records });
            }
        }
    }

    pub(crate) fn append(&mut self, node: usize, records: Vec<StreamRecord>) {
        if self.nodes[node].is_broken {
            return;
        }
        for record in &records {
            let position = (record.epoch, record.sequence);
            // A crash may have lost an earlier record at this position, which no other region ever
            // received.
            if record.origin == self.nodes[node].id {
                match &record.body {
                    RecordBody::EpochStart(start)
                        if start.members.is_some() && record.sequence.0 > 1 =>
                    {
                        self.happened("regions were taken offline");
                    }
                    RecordBody::EpochStart(_) => self.happened("an epoch began"),
                    RecordBody::Members(_) => self.happened("members changed"),
                    RecordBody::Data(_) => {}
                }
                let before = Sequence(record.sequence.0 - 1);
                let before = (self.nodes[node].epoch_of(before), before);
                let puts = match &record.body {
                    RecordBody::Data(data) => decode(data),
                    RecordBody::EpochStart(_) | RecordBody::Members(_) => Vec::new(),
                };
                self.history
                    .originated
                    .insert(position, Originated { puts, before });
            }
        }
        let me = self.nodes[node].id;
        let is_foreign = !records.is_empty() && records.iter().all(|record| record.origin != me);
        let upto = self.nodes[node].append(records);
        let is_late = is_foreign && self.plan.sees_written();
        if is_late {
            let clock = self.nodes[node].clock(self.now);
            let life = self.nodes[node].life.as_mut().unwrap();
            life.written = life.written.max(upto);
            life.replica.mark_durable(clock, upto);
        }
        let generation = self.nodes[node].generation;
        let slowest = match is_late {
            _ if self.plan.has(Bug::ShipUnsynced) => 150,
            true => 80,
            false => 12,
        };
        let millis = self.random.between(1, slowest);
        self.after(
            millis,
            Event::Synced {
                node,
                generation,
                upto,
            },
        );
    }

    /// Lets the state follow the log as far as it may. True if it moved.
    pub(crate) fn advance(&mut self, node: usize) -> bool {
        let skips = self.plan.has(Bug::SkipRecords) && self.random.chance(5);
        let swaps = self.plan.has(Bug::ApplyOutOfOrder);
        let Node { disk, life, .. } = &mut self.nodes[node];
        let Some(life) = life else {
            return false;
        };
        let limit = if self.plan.has(Bug::ApplyUncommitted) {
            disk.synced
        } else {
            life.replica.apply_limit()
        };
        let from = life.applied;
        let mut records: Vec<&StreamRecord> = disk
            .log
            .iter()
            .filter(|record| record.sequence > from && record.sequence <= limit)
            .collect();
        let Some(last) = records.last().map(|record| record.sequence) else {
            return false;
        };
        if swaps && records.len() > 1 {
            records.swap(0, 1);
        }
        for record in records.into_iter().skip(usize::from(skips)) {
            apply(&mut life.state, record);
        }
        life.applied = last;
        life.replica.applied(last);
        true
    }

    pub(crate) fn answer_writes(&mut self, node: usize) {
        let clock = self.nodes[node].clock(self.now);
        let alone = self.plan.has(Bug::AcknowledgeAlone);
        let Node { disk, life, .. } = &mut self.nodes[node];
        let Some(life) = life else {
            return;
        };
        let (epoch, is_writer) = (life.replica.epoch(), life.replica.is_write_region());
        let settled = if alone {
            disk.synced
        } else {
            life.replica.acknowledge_limit(clock).min(life.applied)
        };
        let mut ended = Vec::new();
        life.writes.retain(|write| {
            let is_current = is_writer && write.position.0 == epoch;
            let is_done = is_current && write.position.1 <= settled;
            if is_done || !is_current {
                ended.push((write.client, write.number, write.position, is_done));
            }
            !is_done && is_current
        });
        let token = life.replica.token();
        for (client, number, position, is_done) in ended {
            self.end_write(client, number, is_done.then(|| (position, token.clone())));
        }
    }

    pub(crate) fn happened(&mut self, what: &'static str) {
        *self.history.happened.entry(what).or_default() += 1;
    }

    pub(crate) fn transmit(&mut self, from: usize, to: usize, wire: &Wire) {
        let link = self.links[from][to];
        if from == to || link.is_cut || self.random.chance(self.loss_per_mille) {
            return;
        }
        let copies = 1 + usize::from(self.random.chance(40));
        for _ in 0..copies {
            let late = if self.random.chance(20) { 400 } else { 0 };
            let millis = self.random.between(1, 1 + self.delay_ms) + link.extra_ms + late;
            let wire = wire.clone();
            self.after(millis, Event::Deliver { from, to, wire });
        }
    }

    pub(crate) fn crash(&mut self, node: usize) {
        // Disk writes in flight are lost with the crash.
        self.nodes[node].generation += 1;
        if let Some(life) = self.nodes[node].life.take() {
            let Life { writes, reads, .. } = life;
            for write in writes {
                self.end_write(write.client, write.number, None);
            }
            for read in reads.into_values() {
                self.end_read(node, read.client, read.number, false);
            }
        }
    }

    pub(crate) fn finish(mut self) -> History {
        let Some(writer) = self.writer() else {
            panic!(
                "nobody writes at rest: {:?}\n{}",
                self.plan,
                self.describe()
            );
        };
        let life = self.nodes[writer].life.as_ref().unwrap();
        let mut position = (life.replica.epoch(), life.applied);
        position.0 = life.replica.lineage().epoch_at(position.1);
        let mut stream = Vec::new();
        while let Some(record) = self.history.originated.get(&position) {
            stream.push(position);
            position = record.before;
        }
        stream.reverse();
        self.history.stream = stream;
        let prefixes = self.history.prefixes();
        for node in &self.nodes {
            if let Some(life) = &node.life {
                self.history.views.insert(node.id, life.state.clone());
            }
            self.history
                .false_progress
                .extend(node.disk.false_progress.keys());
            for (position, view) in &node.disk.set_aside {
                let mut position = *position;
                let is_right = *view == prefixes[&position] || self.plan.bug.is_some();
                assert!(is_right, "what was set aside is what was");
                while let Some(record) = self.history.originated.get(&position) {
                    self.history.false_progress.insert(position);
                    position = record.before;
                }
            }
        }
        self.history
    }

    pub(crate) fn describe(&self) -> String {
        let nodes = self.nodes.iter().map(|node| match &node.life {
            None => format!("{}: down", node.id),
            Some(life) => format!(
                "{}: epoch {} last {} applied {} commit {} writes {} {:?} {:?}",
                node.id,
                life.replica.epoch(),
                life.replica.last(),
                life.applied,
                life.replica.commit(),
                life.replica.is_write_region(),
                life.replica.members().voters().collect::<Vec<_>>(),
                life.replica.lineage(),
            ),
        });
        nodes.collect::<Vec<_>>().join("\n")
    }
}
