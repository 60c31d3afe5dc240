//! What was recorded of a run. Checkers see nothing else.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use orrery_regions::{Epoch, RegionId, Sequence};

pub(crate) type Key = u8;
pub(crate) type Value = u64;
pub(crate) type Position = (Epoch, Sequence);

/// A key as readers see it: its last value, and how often it was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) value: Value,
    pub(crate) count: u64,
}

pub(crate) type View = BTreeMap<Key, Seen>;

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) session: u64,
    pub(crate) began: u64,
    /// None if the outcome of the operation is unknown.
    pub(crate) ended: Option<u64>,
    pub(crate) action: Action,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// One transaction. Its position is set once the write region acknowledged it.
    Write {
        puts: Vec<(Key, Value)>,
        acknowledged: Option<Position>,
    },
    /// Everything at one moment, in one region.
    Read {
        level: ReadLevel,
        region: RegionId,
        view: View,
        at: Position,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadLevel {
    Strong,
    Bounded,
    Session,
    Prefix,
    Eventual,
}

/// A record as it was numbered by its write region.
#[derive(Clone, Debug)]
pub(crate) struct Originated {
    pub(crate) puts: Vec<(Key, Value)>,
    /// The position of the preceding record.
    pub(crate) before: Position,
}

#[derive(Default)]
pub(crate) struct History {
    pub(crate) operations: Vec<Operation>,
    pub(crate) originated: BTreeMap<Position, Originated>,
    /// When everything is at rest: the stream, and what each region shows.
    pub(crate) stream: Vec<Position>,
    pub(crate) views: BTreeMap<RegionId, View>,
    /// How often something happened that the levels must survive.
    pub(crate) happened: BTreeMap<&'static str, u64>,
    /// What regions handed out when they rejoined.
    pub(crate) false_progress: BTreeSet<Position>,
}

impl History {
    /// What every prefix of a history shows, by its last record. Positions rise along a history,
    /// so each is reached from one before it.
    pub(crate) fn prefixes(&self) -> BTreeMap<Position, View> {
        let mut views: BTreeMap<Position, View> = BTreeMap::new();
        for (position, record) in &self.originated {
            let mut view = views.get(&record.before).cloned().unwrap_or_default();
            for (key, value) in &record.puts {
                let seen = view.entry(*key).or_default();
                *seen = Seen {
                    value: *value,
                    count: seen.count + 1,
                };
            }
            views.insert(*position, view);
        }
        views.entry(Position::default()).or_default();
        views
    }

    /// The positions of the prefix that ends at a record.
    pub(crate) fn chain(&self, at: Position) -> HashSet<Position> {
        let mut chain = HashSet::new();
        let mut position = at;
        while let Some(record) = self.originated.get(&position) {
            chain.insert(position);
            position = record.before;
        }
        chain
    }

    /// Writes that are part of the stream at rest, by sequence.
    pub(crate) fn survivors(&self) -> BTreeMap<Value, Sequence> {
        let mut survivors = BTreeMap::new();
        for position in &self.stream {
            for (_, value) in self
                .originated
                .get(position)
                .map_or(&[][..], |record| &record.puts)
            {
                survivors.insert(*value, position.1);
            }
        }
        survivors
    }
}
