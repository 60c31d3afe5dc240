//! The expected contents of regions, computed by comparing all changes ever made.
//!
//! For each change the model knows the acknowledged outcome, the version id, and the applied vector
//! of the region that made it. No state carries over from one computation to the next.

use std::collections::{BTreeMap, BTreeSet};

use orrery_json::{Number, Value};
use orrery_regions::{RegionId, Sequence, StreamId, VersionVector};

use crate::support::json;

/// How a container resolves conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Time,
    Number,
    Custom,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Put(String),
    Delete,
    Expiry,
}

#[derive(Debug, Clone)]
struct Change {
    origin: RegionId,
    sequence: Sequence,
    /// The position among the changes of one record.
    ordinal: usize,
    deps: VersionVector,
    effect: Effect,
}

/// Partition key value and id.
pub(crate) type ItemKey = (String, String);

/// The changes of one container.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) policy: Policy,
    pub(crate) has_keys: bool,
    changes: BTreeMap<ItemKey, Vec<Change>>,
}

/// The visible documents of a container in one region, and the conflicts that await a decision.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RegionContents {
    pub(crate) documents: BTreeMap<ItemKey, String>,
    pub(crate) contested: BTreeSet<ItemKey>,
    /// Texts that are not shown.
    pub(crate) conflicts: BTreeSet<String>,
}

impl Change {
    fn has_seen(&self, other: &Change) -> bool {
        let is_same = (self.origin, self.sequence) == (other.origin, other.sequence);
        if is_same {
            return self.ordinal > other.ordinal;
        }
        self.deps
            .includes(StreamId::Region(other.origin), other.sequence)
    }
}

impl Expected {
    pub(crate) fn new(policy: Policy, has_keys: bool) -> Expected {
        Expected {
            policy,
            has_keys,
            changes: BTreeMap::new(),
        }
    }

    /// Registers a record that a region has made.
    pub(crate) fn made(
        &mut self,
        origin: RegionId,
        sequence: Sequence,
        deps: &VersionVector,
        effects: Vec<(ItemKey, Effect)>,
    ) {
        for (ordinal, (place, effect)) in effects.into_iter().enumerate() {
            let change = Change {
                origin,
                sequence,
                ordinal,
                deps: deps.clone(),
                effect,
            };
            self.changes.entry(place).or_default().push(change);
        }
    }

    /// The contents that a region with this version vector shows.
    pub(crate) fn shown(&self, progress: &VersionVector) -> RegionContents {
        let mut standing: BTreeMap<ItemKey, &Change> = BTreeMap::new();
        let mut shown = RegionContents::default();
        for (place, changes) in &self.changes {
            let known = |change: &&Change| {
                progress.includes(StreamId::Region(change.origin), change.sequence)
            };
            let known: Vec<&Change> = changes.iter().filter(known).collect();
            let is_maximal = |change: &&&Change| !known.iter().any(|other| other.has_seen(change));
            let maximal: Vec<&Change> = known.iter().filter(is_maximal).copied().collect();
            let best = maximal
                .iter()
                .copied()
                .max_by(|left, right| self.rank(left).partial_cmp(&self.rank(right)).unwrap());
            let Some(best) = best else {
                continue;
            };
            if matches!(best.effect, Effect::Put(_)) {
                standing.insert(place.clone(), best);
            }
            for other in maximal {
                if let (Effect::Put(text), true) = (&other.effect, other.effect != best.effect) {
                    shown.conflicts.insert(text.clone());
                }
            }
        }
        let mut by_rank: Vec<(ItemKey, &Change)> = standing.into_iter().collect();
        by_rank.sort_by(|left, right| {
            let order = self.rank(right.1).partial_cmp(&self.rank(left.1)).unwrap();
            order.then_with(|| left.0.cmp(&right.0))
        });
        let mut taken = BTreeSet::new();
        for (place, change) in by_rank {
            let Effect::Put(text) = &change.effect else {
                continue;
            };
            if self.has_keys && !taken.insert((place.0.clone(), claim(text))) {
                shown.conflicts.insert(text.clone());
                shown.contested.insert(place);
            } else {
                shown.documents.insert(place, text.clone());
            }
        }
        if self.policy != Policy::Custom {
            shown.conflicts.clear();
        }
        shown
    }

    fn rank(&self, change: &Change) -> (u8, f64, i16, u64) {
        let (rank, number) = match &change.effect {
            Effect::Delete => (2, 0.0),
            Effect::Put(text) => (1, self.number(text)),
            Effect::Expiry => (0, 0.0),
        };
        let origin = -i16::from(change.origin.0);
        (rank, number, origin, change.sequence.0)
    }

    fn number(&self, text: &str) -> f64 {
        let document = json(text);
        let number = |name: &str| document.get(name).as_number().map(Number::as_f64);
        let own = number("n").filter(|_| self.policy == Policy::Number);
        own.unwrap_or_else(|| number("_ts").unwrap())
    }
}

/// The value of the unique key.
pub(crate) fn claim(text: &str) -> String {
    match json(text).get("u") {
        Value::String(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// Whether a document has expired, in containers with TTL.
pub(crate) fn has_expired(text: &str, now_seconds: u64) -> bool {
    let document = json(text);
    let number = |name: &str| document.get(name).as_number().and_then(Number::as_i64);
    let expires = number("ttl").map(|ttl| number("_ts").unwrap() + ttl);
    expires.is_some_and(|expires| u64::try_from(expires).unwrap() <= now_seconds)
}
