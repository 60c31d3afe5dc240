//! The faults of a world, and the orders of operators.

use orrery_engine::KeyRange;
use orrery_regions::Force;

use super::super::{FailoverStatus, RangeMove, RegionView};
use super::history::Broken;
use super::node::Life;
use super::plan::{FaultPlan, KEYS, TROUBLE_MS, has, ranges};
use super::world::{Event, World};

/// The time between the announcement that keys will be down and their failure.
const ANNOUNCED_MS: u64 = 100;
/// How long an operator waits for a hand over.
const HAND_OVER_MS: u64 = 3_000;

impl World {
    fn is_rough(&self) -> bool {
        self.plan.faults == FaultPlan::Rough
    }

    pub(super) fn trouble(&mut self) {
        if self.now >= TROUBLE_MS {
            return;
        }
        let count = self.nodes.len();
        let (node, other) = (self.random.below(count), self.random.below(count));
        let (id, other_id) = (self.nodes[node].id, self.nodes[other].id);
        // Some faults last until the world is healed.
        let millis = self.random.pick(&[150, 700, 2_500, 5_000, 100_000]);
        match self.random.below(if self.is_rough() { 12 } else { 4 }) {
            0 => self.links[node][other].extra_ms = self.random.between(0, 150),
            1 | 2 => self.take_down(node, millis),
            3 => self.copy(node, other),
            4 | 5 => {
                self.crash(node);
                self.after(millis, Event::Start(node));
            }
            6 | 7 => {
                let millis = millis.min(7_000);
                self.history.happened("a region was stopped");
                self.history.breaks(self.now, Broken::Region(id));
                let until = (self.now + millis).max(self.nodes[node].paused_until);
                self.nodes[node].paused_until = until;
                self.after(until - self.now, Event::Mend(Broken::Region(id)));
            }
            8 => self.leave(node, millis),
            9 => self.cut(&[Broken::Link(id, other_id)], millis),
            10 => self.cut(
                &[Broken::Link(id, other_id), Broken::Link(other_id, id)],
                millis,
            ),
            _ => {
                let others = self.history.regions.clone().into_iter();
                let links = others.flat_map(|to| [Broken::Link(id, to), Broken::Link(to, id)]);
                self.cut(&links.collect::<Vec<_>>(), millis);
            }
        }
        let millis = self.random.between(100, 1_800);
        self.after(millis, Event::Trouble);
    }

    fn crash(&mut self, node: usize) {
        if self.nodes[node].life.take().is_some() {
            self.history.happened("a region crashed");
            self.nodes[node].paused_until = 0;
            let id = self.nodes[node].id;
            self.history.breaks(self.now, Broken::Region(id));
            self.nodes[node].tell_history(self.now, &mut self.history);
            self.note_up();
        }
    }

    pub(super) fn start(&mut self, node: usize) {
        if self.nodes[node].life.is_none() {
            self.nodes[node].start(self.now);
            let id = self.nodes[node].id;
            self.history.returns.push((self.now, id));
            self.mend(Broken::Region(id));
            self.settle(node);
        }
    }

    /// An operator takes a region down; the region retains its memory.
    fn leave(&mut self, node: usize, millis: u64) {
        if self.goes_on(node) {
            self.history.happened("a region was taken down");
            self.nodes[node].is_away = true;
            let id = self.nodes[node].id;
            self.history.breaks(self.now, Broken::Region(id));
            self.settle(node);
            self.after(millis, Event::Return(node));
        }
    }

    pub(super) fn bring_back(&mut self, node: usize) {
        if self.nodes[node].is_away {
            // The task of a stopped region still runs at intervals.
            self.settle(node);
            self.nodes[node].is_away = false;
            let id = self.nodes[node].id;
            self.history.returns.push((self.now, id));
            self.mend(Broken::Region(id));
            self.settle(node);
        }
    }

    fn cut(&mut self, links: &[Broken], millis: u64) {
        self.history.happened("links were cut");
        for link in links {
            if let Broken::Link(from, to) = *link
                && from != to
            {
                self.links[usize::from(from.0)][usize::from(to.0)].is_cut = true;
                self.history.breaks(self.now, *link);
                self.after(millis, Event::Mend(*link));
            }
        }
    }

    /// Repairs a region or a link, unless another fault still breaks it.
    pub(super) fn mend(&mut self, what: Broken) {
        match what {
            Broken::Link(from, to) => {
                self.links[usize::from(from.0)][usize::from(to.0)].is_cut = false;
            }
            Broken::Region(id) => {
                let node = &self.nodes[usize::from(id.0)];
                if !node.is_there() || node.paused_until > self.now {
                    return;
                }
            }
        }
        self.history.mends(self.now, what);
    }

    fn copy(&mut self, node: usize, from: usize) {
        let (clock, from) = (self.nodes[node].clock(self.now), self.nodes[from].id);
        if from != self.nodes[node].id
            && let Some(life) = &mut self.nodes[node].life
        {
            life.multi_write.fetch(clock, from);
        }
    }

    /// Takes a range down in a region, if another region remains in which the range is up.
    fn take_down(&mut self, node: usize, millis: u64) {
        let keys = self.random_range();
        let is_down = |life: &Life| life.board.failing().iter().any(|down| down.overlaps(&keys));
        let is_up = |node: &&super::node::Node| !node.life.as_ref().is_some_and(is_down);
        if self.nodes.iter().filter(is_up).count() < 2 {
            return;
        }
        let Some(life) = &self.nodes[node].life else {
            return;
        };
        life.board.announce(&keys);
        self.history.happened("keys went down");
        for key in (0..KEYS).filter(|key| has(&keys, *key)) {
            self.history.downs.push((key, self.now, None));
        }
        self.settle(node);
        self.after(ANNOUNCED_MS, Event::TakeDown(node, keys.clone()));
        self.after(millis.max(ANNOUNCED_MS), Event::BringUp(node, keys));
    }

    pub(super) fn bring_up(&mut self, node: usize, keys: &KeyRange) {
        if let Some(life) = &self.nodes[node].life {
            life.board.bring_up(keys);
        }
        self.note_up();
        self.settle(node);
    }

    /// Notes which keys are down nowhere any more.
    fn note_up(&mut self) {
        for (key, _, ends) in &mut self.history.downs {
            let lives = self.nodes.iter().filter_map(|node| node.life.as_ref());
            let mut down = lives.flat_map(|life| life.board.failing());
            if ends.is_none() && !down.any(|down| has(&down, *key)) {
                *ends = Some(self.now);
            }
        }
    }

    fn random_range(&mut self) -> KeyRange {
        let ranges = ranges();
        ranges[self.random.below(ranges.len())].clone()
    }

    pub(super) fn operator(&mut self) {
        let count = self.nodes.len();
        if self.now >= self.plan.healed_ms() {
            self.bring_to_rest();
        } else if self.now < TROUBLE_MS {
            let node = self.random.below(count);
            match self.random.below(8) {
                0..5 => {
                    let keys = self.random_range();
                    self.move_range(node, &keys);
                }
                5 | 6 => self.hand_over(node),
                // With two regions no vote can promote another one, so an operator forces it.
                _ if self.is_rough() && count == 2 && self.random.chance(300) => self.force(node),
                _ => {}
            }
        }
        let millis = self.random.between(200, 2_000);
        self.after(millis, Event::Operator);
    }

    /// What operators are shown in a region.
    pub(super) fn seen(&self, node: usize) -> Option<FailoverStatus> {
        let life = self.nodes[node].life.as_ref()?;
        Some(life.failover.status(RegionView {
            now: self.nodes[node].clock(self.now),
            replica: &life.replica,
            multi_write: &life.multi_write,
        }))
    }

    /// As orders about single partitions are carried out.
    fn move_range(&mut self, to: usize, keys: &KeyRange) {
        let is_forced = self.is_rough() && self.random.chance(400);
        let Some(hub) = self.writer() else {
            return;
        };
        let (target, me) = (self.nodes[to].id, self.nodes[hub].id);
        let Some(seen) = self.seen(hub) else {
            return;
        };
        let mut moved = seen.moved.iter().rev();
        let moved = moved.find(|moved| moved.keys.contains(keys.container, &keys.min));
        let owner = moved.map_or(me, |moved| moved.owner);
        let down = seen.down.get(&target);
        let is_down = down.is_some_and(|down| down.iter().any(|down| down.overlaps(keys)));
        if is_down || owner == target || (seen.silent.contains(&owner) && !is_forced) {
            return;
        }
        self.history.happened(if is_forced {
            "a move was forced"
        } else {
            "a move was planned"
        });
        let range_move = RangeMove {
            keys: keys.clone(),
            owner: (target != me).then_some(target),
            is_automatic: false,
        };
        self.nodes[hub].propose(self.now, &range_move);
        self.settle(hub);
        if self.random.chance(300) {
            let millis = self.random.between(20, 300);
            self.after(millis, Event::MoveAgain(keys.clone()));
        }
        // A region that fetches a snapshot at this time may learn of the move from the snapshot
        // first.
        if self.random.chance(150) {
            let node = self.random.below(self.nodes.len());
            self.copy(node, hub);
        }
    }

    /// Moves keys on, perhaps before their new owner has opened them.
    pub(super) fn move_again(&mut self, keys: &KeyRange) {
        if self.now < TROUBLE_MS {
            let to = self.random.below(self.nodes.len());
            self.move_range(to, keys);
        }
    }

    fn hand_over(&mut self, to: usize) {
        let Some(hub) = self.writer() else {
            return;
        };
        let (id, clock) = (self.nodes[to].id, self.nodes[hub].clock(self.now));
        if let Some(life) = &mut self.nodes[hub].life
            && life.replica.hand_over(clock, id).is_ok()
        {
            self.history.happened("a hand over was asked for");
            self.settle(hub);
            self.after(HAND_OVER_MS, Event::KeepWriting(hub));
        }
    }

    /// An operator waits no longer for a hand over.
    pub(super) fn keep_writing(&mut self, node: usize) {
        if let Some(life) = &mut self.nodes[node].life {
            life.replica.cancel_hand_over();
        }
    }

    fn force(&mut self, node: usize) {
        let clock = self.nodes[node].clock(self.now);
        if let Some(life) = &mut self.nodes[node].life
            && life
                .replica
                .promote_by_force(clock, &Force::default())
                .is_ok()
        {
            self.history.happened("a region was promoted by force");
            self.settle(node);
        }
    }

    /// Ensures that there is a write region, and cancels orders that cannot succeed.
    fn bring_to_rest(&mut self) {
        if let Some(writer) = self.writer() {
            self.keep_writing(writer);
        } else if self.now > self.plan.healed_ms() + 8_000 {
            let lives = self.nodes.iter().filter_map(|node| {
                let replica = &node.life.as_ref()?.replica;
                Some(((replica.lineage().newest(), replica.last()), node.id))
            });
            if let Some((_, id)) = lives.max() {
                self.force(usize::from(id.0));
            }
        }
    }
}
