//! What regions should show, found by comparing all changes that were ever made.
//!
//! It knows of a change what its client was told, its stamp, and what had been applied where it was
//! made. Nothing is carried from one answer to the next.

use std::collections::{BTreeMap, BTreeSet};

use orrery_json::{Number, Value};
use orrery_regions::{Progress, RegionId, Sequence, StreamId};

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
    /// Among the changes of the same record.
    ordinal: usize,
    deps: Progress,
    effect: Effect,
}

/// Partition key value and id.
pub(crate) type Place = (String, String);

/// The changes of one container.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) policy: Policy,
    pub(crate) has_keys: bool,
    changes: BTreeMap<Place, Vec<Change>>,
}

/// What a region shows of a container, and what waits there for a decision.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Shown {
    pub(crate) documents: BTreeMap<Place, String>,
    pub(crate) contested: BTreeSet<Place>,
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
            .has(StreamId::Region(other.origin), other.sequence)
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

    /// A record that a region has made.
    pub(crate) fn made(
        &mut self,
        origin: RegionId,
        sequence: Sequence,
        deps: &Progress,
        effects: Vec<(Place, Effect)>,
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

    /// What somebody shows who has applied so much.
    pub(crate) fn shown(&self, progress: &Progress) -> Shown {
        let mut standing: BTreeMap<Place, &Change> = BTreeMap::new();
        let mut shown = Shown::default();
        for (place, changes) in &self.changes {
            let known =
                |change: &&Change| progress.has(StreamId::Region(change.origin), change.sequence);
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
        let mut by_rank: Vec<(Place, &Change)> = standing.into_iter().collect();
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

/// Whether the time of a document is over, in containers where items may have one.
pub(crate) fn has_expired(text: &str, now_seconds: u64) -> bool {
    let document = json(text);
    let number = |name: &str| document.get(name).as_number().and_then(Number::as_i64);
    let expires = number("ttl").map(|ttl| number("_ts").unwrap() + ttl);
    expires.is_some_and(|expires| u64::try_from(expires).unwrap() <= now_seconds)
}
