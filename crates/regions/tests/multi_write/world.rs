//! The world of a run: time, links, regions that crash, join and leave, a hub that decides and is
//! replaced.

mod clients;
mod copies;
mod roster;

use std::collections::{BTreeMap, BinaryHeap};

use bytes::Bytes;
use orrery_regions::{
    ConflictResolution, Millis, MultiWriteEffect, MultiWriteMessage, MultiWriteReplica,
    MultiWriteSettings, RegionId, Sequence, SessionToken, SiblingVersion, Siblings, StreamEnd,
    StreamId, StreamRecord, VersionId, VersionKind, VersionVector, unique_key_losers,
};

use crate::history::{History, Item, Made, Value};
use crate::node::{Disk, Node, State, value_of};
use crate::random::Random;
use roster::{Order, Roster};

/// A region applies only a few records at a time.
const MERGE_BYTES: u64 = 500;
const TICK_MS: u64 = 30;
const TROUBLE_MS: u64 = 3_000;
const REST_MS_MAX: u64 = 20_000;
const PATIENCE_MS: u64 = 500;
/// Items 0 to 2 are resolved by number, 3 and 4 by the hub, 5 to 7 by number with unique keys.
const ITEMS: usize = 8;

/// A mistake built into the driver, to see that a checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    IgnoreTokens,
    /// Records are applied as they come.
    ForgetDeps,
    /// What comes last is what stands.
    ResolveByArrival,
    /// Losers are forgotten at once.
    DropLosers,
    /// Tombstones and losers are forgotten when this region has them.
    ForgetEarly,
    DeletesLose,
    /// The progress is behind the state after a crash.
    SkipDedup,
    /// The hub ends the stream of a lost region with what it has itself.
    EndAlone,
    /// A region leaves as planned before the others have what it wrote.
    LeaveAtOnce,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) bug: Option<Bug>,
}

enum Event {
    Tick(usize),
    Deliver {
        from: usize,
        to: usize,
        wire: Wire,
    },
    Commit(usize),
    Start(usize),
    Trouble,
    Client(usize),
    GiveUp {
        client: usize,
        number: u64,
    },
    Order(Order),
    /// A record of the account stream reaches a region.
    Learn {
        node: usize,
        since: Sequence,
    },
}

#[derive(Clone)]
enum Wire {
    Message(MultiWriteMessage),
    AskSnapshot,
    Snapshot {
        progress: VersionVector,
        state: State,
        counts: BTreeMap<Value, u32>,
    },
}

struct Client {
    session: u64,
    region: usize,
    token: Option<SessionToken>,
    number: u64,
    under_way: Option<(u64, Value)>,
}

struct World {
    plan: Plan,
    random: Random,
    now: u64,
    order: u64,
    queue: BinaryHeap<std::cmp::Reverse<(u64, u64)>>,
    events: BTreeMap<(u64, u64), Event>,
    nodes: Vec<Node>,
    /// What holds after each record of the account stream.
    rosters: Vec<Roster>,
    cut: Vec<Vec<bool>>,
    loss_per_mille: u64,
    delay_ms: u64,
    clients: Vec<Client>,
    next_value: Value,
    trouble_over: bool,
    history: History,
}

pub(crate) fn run(plan: Plan) -> Result<History, String> {
    let mut world = World::new(plan);
    world.run()?;
    Ok(world.finish())
}

fn resolution(item: Item) -> ConflictResolution {
    if item == 3 || item == 4 {
        ConflictResolution::ByHub
    } else {
        ConflictResolution::LastWriterWins
    }
}

impl World {
    fn new(plan: Plan) -> World {
        let mut random = Random::new(plan.seed);
        let count = 2 + random.below(4);
        let joins = random.chance(300);
        let founders: Vec<RegionId> = (0..count)
            .map(|id| RegionId(u8::try_from(id).unwrap()))
            .collect();
        let total = count + usize::from(joins);
        let node = |id: usize| Node {
            id: RegionId(u8::try_from(id).unwrap()),
            disk: Disk::default(),
            multi_write: None,
            has_left: false,
            group: Vec::new(),
        };
        let mut world = World {
            plan,
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            nodes: (0..total).map(node).collect(),
            rosters: vec![Roster::new(founders)],
            cut: vec![vec![false; total]; total],
            loss_per_mille: random.pick(&[0, 20, 100]),
            delay_ms: random.pick(&[3, 30, 120]),
            clients: Vec::new(),
            next_value: 0,
            trouble_over: false,
            history: History::default(),
            random,
        };
        for node in 0..count {
            world.start(node);
            world.at(1 + node as u64, Event::Tick(node));
        }
        if joins {
            let at = 500 + world.random.between(0, 1_000);
            let region = world.nodes[count].id;
            world.at(at, Event::Order(Order::Add(region)));
            world.at(at + 1_000, Event::Tick(count));
        }
        let forced = world.random.chance(500);
        for order in [Order::ReplaceHub, Order::Remove { forced }] {
            if world.random.chance(400) {
                let at = 400 + world.random.between(0, 1_400);
                world.at(at, Event::Order(order));
            }
        }
        for client in 0..2 + world.random.below(3) {
            let region = world.random.below(count);
            world.clients.push(Client {
                session: client as u64,
                region,
                token: None,
                number: 0,
                under_way: None,
            });
            world.at(20, Event::Client(client));
        }
        world.at(200, Event::Trouble);
        world
    }

    fn has(&self, bug: Bug) -> bool {
        self.plan.bug == Some(bug)
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.queue.push(std::cmp::Reverse((time, self.order)));
        self.events.insert((time, self.order), event);
    }

    fn after(&mut self, millis: u64, event: Event) {
        self.at(self.now + millis, event);
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(std::cmp::Reverse(key)) = self.queue.pop() {
            let event = self.events.remove(&key).unwrap();
            self.now = key.0;
            if self.now > TROUBLE_MS && !self.trouble_over {
                self.end_trouble();
            }
            if self.now > TROUBLE_MS + 600 && self.is_at_rest() {
                return Ok(());
            }
            if self.now > REST_MS_MAX {
                let describe = |node: &Node| {
                    format!(
                        "{}: {:?} {:?}",
                        node.id, node.disk.progress, node.multi_write
                    )
                };
                let nodes: Vec<String> = self.nodes.iter().map(describe).collect();
                return Err(format!("no rest: {}", nodes.join("\n")));
            }
            self.handle(event);
        }
        Err("the world stood still".to_owned())
    }

    /// Every region has every record and has the others' progress, and every removal is complete.
    fn is_at_rest(&self) -> bool {
        let newest = self.newest();
        let is_settled =
            newest.leaving.is_none() && newest.ends.values().all(|end| *end != StreamEnd::Frozen);
        let hub = usize::from(newest.hub.0);
        let last = &self.nodes[hub].disk.progress;
        let is_quiet = |node: usize| {
            let Node {
                disk,
                multi_write,
                group,
                ..
            } = &self.nodes[node];
            let knows_all = multi_write
                .as_ref()
                .is_some_and(|multi_write| multi_write.horizon() == *last);
            group.is_empty() && disk.progress == *last && knows_all
        };
        let has_left = |node: usize| self.nodes[node].has_left;
        let account = Sequence(self.rosters.len() as u64 - 1);
        is_settled
            && last.includes(StreamId::Account, account)
            && (0..self.nodes.len()).all(|node| {
                if self.is_member(node) {
                    is_quiet(node)
                } else {
                    has_left(node) || !newest.ends.contains_key(&self.nodes[node].id)
                }
            })
            && self.hub_duties(hub).is_empty()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Tick(node) => {
                if let Some(multi_write) = &mut self.nodes[node].multi_write {
                    multi_write.tick(Millis(self.now));
                }
                self.prune(node);
                self.trim(node);
                if self.is_hub(node) && self.nodes[node].multi_write.is_some() {
                    for made in self.hub_duties(node) {
                        self.propose(node, None, made);
                    }
                    self.review_members(node);
                }
                self.settle(node);
                self.after(TICK_MS, Event::Tick(node));
            }
            Event::Deliver { from, to, wire } => self.deliver(from, to, wire),
            Event::Commit(node) => self.commit(node),
            Event::Start(node) => self.start(node),
            Event::Trouble => self.trouble(),
            Event::Client(client) => self.client_turn(client),
            Event::GiveUp { client, number } => {
                if self.clients[client].number == number
                    && let Some((began, value)) = self.clients[client].under_way.take()
                {
                    self.record_write(client, began, None, value);
                }
            }
            Event::Order(order) => self.carry_out(&order),
            Event::Learn { node, since } => self.learn(node, since),
        }
    }

    // ---- regions -------------------------------------------------------------------------------

    fn start(&mut self, node: usize) {
        let bug = self.has(Bug::SkipDedup);
        let roster = self.roster(node).clone();
        let Node {
            id,
            disk,
            multi_write,
            has_left,
            ..
        } = &mut self.nodes[node];
        if multi_write.is_some() || *has_left {
            return;
        }
        let mut progress = disk.progress.clone();
        if bug {
            let own = StreamId::Region(*id);
            let earlier = |(stream, sequence): (StreamId, Sequence)| {
                let back = u64::from(stream != own && stream != StreamId::Account);
                (
                    stream,
                    Sequence(sequence.0.saturating_sub(back).max(disk.bases.of(stream).0)),
                )
            };
            progress = progress.iter().map(earlier).collect();
            disk.progress = progress.clone();
        }
        let settings = MultiWriteSettings {
            retry_ms: 120,
            heartbeat_ms: 60,
            unresponsive_ms: 250,
            page_bytes_max: 200,
            waiting_bytes_max: 400,
        };
        let mut new = MultiWriteReplica::new(
            *id,
            settings,
            roster.members.clone(),
            progress,
            disk.bases.clone(),
        );
        new.set_members(roster.members, roster.ends);
        if let Some(since) = disk.joined {
            new.join(since);
        }
        *multi_write = Some(new);
    }

    fn deliver(&mut self, from: usize, to: usize, wire: Wire) {
        let sender = self.nodes[from].id;
        let now = Millis(self.now);
        let Node {
            disk,
            multi_write: Some(multi_write),
            ..
        } = &mut self.nodes[to]
        else {
            return;
        };
        match wire {
            Wire::Message(message) => multi_write.receive(now, sender, message),
            Wire::AskSnapshot => {
                let snapshot = Wire::Snapshot {
                    progress: disk.progress.clone(),
                    state: disk.state.clone(),
                    counts: disk.counts.clone(),
                };
                self.transmit(to, from, &snapshot);
            }
            Wire::Snapshot {
                progress,
                state,
                counts,
            } => {
                if multi_write.accepts(&progress) {
                    self.install(to, &progress, state, counts);
                }
            }
        }
        self.settle(to);
    }

    fn settle(&mut self, node: usize) {
        let take = |multi_write: &mut MultiWriteReplica| multi_write.take_ready(MERGE_BYTES);
        while let Some(records) = self.nodes[node].multi_write.as_mut().map(take)
            && !records.is_empty()
        {
            for record in records {
                self.apply(node, record);
            }
        }
        let effects = self.nodes[node]
            .multi_write
            .as_mut()
            .map(MultiWriteReplica::take_effects)
            .unwrap_or_default();
        for effect in effects {
            match effect {
                MultiWriteEffect::Send { to, message } => {
                    self.transmit(node, usize::from(to.0), &Wire::Message(message));
                }
                MultiWriteEffect::SendPage {
                    to,
                    stream,
                    after,
                    asked,
                    bytes_max,
                } => {
                    let mut records = self.nodes[node].records_after(stream, after, bytes_max);
                    if self.has(Bug::ForgetDeps) {
                        for record in &mut records {
                            record.deps = VersionVector::default();
                        }
                    }
                    let have = self.nodes[node].disk.progress.clone();
                    let page = MultiWriteMessage::Page {
                        have,
                        stream,
                        after,
                        asked,
                        records,
                    };
                    self.transmit(node, usize::from(to.0), &Wire::Message(page));
                }
                MultiWriteEffect::FetchSnapshot { from } => {
                    self.transmit(node, usize::from(from.0), &Wire::AskSnapshot);
                }
            }
        }
    }

    /// Record, effect and progress, in one batch.
    fn apply(&mut self, node: usize, record: StreamRecord) {
        self.merge(node, &record);
        let Node {
            disk, multi_write, ..
        } = &mut self.nodes[node];
        disk.progress.advance(record.stream, record.sequence);
        if let Some(multi_write) = multi_write {
            multi_write.applied(record.stream, record.sequence);
        }
        disk.log.push(record);
    }

    fn merge(&mut self, node: usize, record: &StreamRecord) {
        let value = value_of(record);
        let made = self.history.made[&value].clone();
        let (version_id, deps) = self.history.committed[&value].clone();
        let deletes_lose = self.has(Bug::DeletesLose) && made.change == VersionKind::Delete;
        let version = SiblingVersion {
            id: version_id,
            change: if deletes_lose {
                VersionKind::Expiry
            } else {
                made.change
            },
            etag: value,
            deciding_epoch: made.decided,
            unique_claims: made.claims,
            body: value,
        };
        let by_arrival = self.has(Bug::ResolveByArrival);
        let drop_losers = self.has(Bug::DropLosers);
        let disk = &mut self.nodes[node].disk;
        *disk.counts.entry(value).or_default() += 1;
        let siblings = disk.state.entry(made.item).or_default();
        if by_arrival {
            *siblings = Siblings::default();
        }
        siblings.merge(version, &deps);
        if drop_losers {
            let everything = siblings.versions().iter();
            let everything = everything.map(|v| (StreamId::Region(v.id.origin), v.id.sequence));
            let everything: VersionVector = everything.collect();
            if siblings.visible().is_some() {
                siblings.prune(&everything, resolution(made.item));
            }
        }
    }

    fn prune(&mut self, node: usize) {
        let early = self.has(Bug::ForgetEarly);
        let Node {
            disk,
            multi_write: Some(multi_write),
            ..
        } = &mut self.nodes[node]
        else {
            return;
        };
        let horizon = if early {
            multi_write.progress().clone()
        } else {
            multi_write.horizon()
        };
        for (item, siblings) in &mut disk.state {
            siblings.prune(&horizon, resolution(*item));
        }
        disk.state.retain(|_, siblings| !siblings.is_empty());
    }

    fn transmit(&mut self, from: usize, to: usize, wire: &Wire) {
        if from == to || self.cut[from][to] || self.random.chance(self.loss_per_mille) {
            return;
        }
        for _ in 0..=usize::from(self.random.chance(40)) {
            let late = if self.random.chance(20) { 300 } else { 0 };
            let millis = self.random.between(1, 1 + self.delay_ms) + late;
            let wire = wire.clone();
            self.after(millis, Event::Deliver { from, to, wire });
        }
    }

    fn trouble(&mut self) {
        if self.trouble_over {
            return;
        }
        let (node, other) = (
            self.random.below(self.nodes.len()),
            self.random.below(self.nodes.len()),
        );
        match self.random.below(6) {
            0 if self.nodes[node].multi_write.is_some() => {
                self.nodes[node].multi_write = None;
                self.nodes[node].group.clear();
                let millis = self.random.pick(&[20, 200, 800]);
                self.after(millis, Event::Start(node));
            }
            1 => self.cut[node][other] = true,
            2 => {
                for peer in 0..self.nodes.len() {
                    self.cut[node][peer] = true;
                    self.cut[peer][node] = true;
                }
            }
            _ => self.heal(),
        }
        let millis = self.random.between(50, 400);
        self.after(millis, Event::Trouble);
    }

    fn heal(&mut self) {
        self.cut.iter_mut().flatten().for_each(|cut| *cut = false);
    }

    fn end_trouble(&mut self) {
        self.trouble_over = true;
        self.loss_per_mille = 0;
        self.heal();
        for node in 0..self.nodes.len() {
            self.after(1, Event::Start(node));
        }
    }

    // ---- writes --------------------------------------------------------------------------------

    /// What the hub decides about what it has: conflicts that are not resolved by number, and items
    /// that lost a unique key.
    fn hub_duties(&self, hub: usize) -> Vec<Made> {
        let epoch = self.roster(hub).epoch;
        let hub = &self.nodes[hub];
        if !hub.group.is_empty() {
            return Vec::new();
        }
        let mut duties = Vec::new();
        for (item, siblings) in &hub.disk.state {
            if siblings.is_undecided(resolution(*item)) {
                let winner = siblings.winner().unwrap();
                duties.push(Made {
                    item: *item,
                    change: winner.change,
                    claims: winner.unique_claims.clone(),
                    decided: Some(epoch),
                });
            }
        }
        let shown = hub.disk.state.iter();
        let shown = shown.filter_map(|(item, siblings)| Some((*item, siblings.visible()?)));
        for item in unique_key_losers(shown) {
            let change = VersionKind::Delete;
            duties.push(Made {
                item,
                change,
                claims: vec![0],
                decided: None,
            });
        }
        duties
    }

    /// Puts a change into the next group of a region.
    fn propose(&mut self, node: usize, by: Option<(usize, u64)>, made: Made) -> Value {
        self.next_value += 1;
        let value = self.next_value;
        self.history.made.insert(value, made);
        if self.nodes[node].group.is_empty() {
            let millis = self.random.between(1, 10);
            self.after(millis, Event::Commit(node));
        }
        self.nodes[node].group.push((by, value));
        value
    }

    fn commit(&mut self, node: usize) {
        let group = std::mem::take(&mut self.nodes[node].group);
        let may_write = self.may_write(node);
        let epoch = self.roster(node).epoch;
        let Some(multi_write) = &mut self.nodes[node].multi_write else {
            return;
        };
        if !may_write || !multi_write.can_write() {
            return;
        }
        let records: Vec<StreamRecord> = group
            .iter()
            .zip(0..)
            .map(|((_, value), ahead)| {
                multi_write.write(epoch, Bytes::copy_from_slice(&value.to_le_bytes()), ahead)
            })
            .collect();
        for ((by, value), record) in group.into_iter().zip(records) {
            let version_id = VersionId {
                origin: record.origin,
                sequence: record.sequence,
            };
            self.history
                .committed
                .insert(value, (version_id, record.deps.clone()));
            self.apply(node, record);
            let Some((client, number)) = by else {
                continue;
            };
            let token = self.token(node);
            if self.clients[client].number == number
                && let Some((began, value)) = self.clients[client].under_way.take()
            {
                self.record_write(client, began, Some(self.now), value);
                self.clients[client].token = Some(token);
            }
        }
        self.settle(node);
    }

    fn finish(mut self) -> History {
        for node in 0..self.nodes.len() {
            if !self.is_member(node) {
                continue;
            }
            self.prune(node);
            let node = &self.nodes[node];
            self.history.views.insert(node.id, node.view());
            self.history
                .states
                .insert(node.id, format!("{:?}", node.disk.state));
            self.history
                .applied
                .insert(node.id, node.disk.counts.clone());
        }
        self.history
    }
}
