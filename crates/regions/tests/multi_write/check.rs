//! Decides from a history whether regions agree, and whether sessions hold.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use orrery_regions::{StreamId, VersionKind};

use crate::history::{Action, History, Item, Made, Operation, Value};

pub(crate) type Verdict = Result<(), String>;

/// Every region has every committed change exactly once; or no region has it, and the region that
/// had it has put it aside.
pub(crate) fn exactly_once(history: &History) -> Verdict {
    if !history.forced && !history.put_aside.is_empty() {
        let lost = &history.put_aside;
        return Err(format!("changes {lost:?} were lost by a planned removal"));
    }
    for (region, applied) in &history.applied {
        for value in history.committed.keys() {
            let times = applied.get(value).copied().unwrap_or_default();
            let expected = u32::from(!history.put_aside.contains(value));
            if times != expected {
                return Err(format!(
                    "region {region} applied change {value} {times} times"
                ));
            }
        }
    }
    for operation in &history.operations {
        if let (Action::Write(value), Some(_)) = (&operation.action, operation.ended)
            && !history.committed.contains_key(value)
        {
            return Err(format!("change {value} was acknowledged and is gone"));
        }
    }
    Ok(())
}

/// All regions have the same bytes.
pub(crate) fn converged(history: &History) -> Verdict {
    let mut states = history.states.iter();
    let Some((first, expected)) = states.next() else {
        return Ok(());
    };
    for (region, state) in states {
        if state != expected {
            return Err(format!(
                "region {first} keeps {expected}, region {region} keeps {state}"
            ));
        }
    }
    Ok(())
}

/// Readers see the winner among the maximal changes, which this checker finds by comparing all
/// changes. Items with unique claims are left out, because their visibility depends on each other.
pub(crate) fn resolved(history: &History) -> Verdict {
    let mut expected: BTreeMap<Item, Option<Value>> = BTreeMap::new();
    let items: BTreeSet<Item> = history.made.values().map(|made| made.item).collect();
    for item in items {
        let of_item = |value: &&Value| history.made[value].item == item;
        let changes: Vec<Value> = history.standing().filter(of_item).copied().collect();
        if changes
            .iter()
            .any(|value| !history.made[value].claims.is_empty())
        {
            continue;
        }
        let saw = |later: &Value, earlier: &Value| {
            let (version_id, _) = &history.committed[earlier];
            let (_, deps) = &history.committed[later];
            deps.includes(StreamId::Region(version_id.origin), version_id.sequence)
        };
        let maximal = changes
            .iter()
            .filter(|value| !changes.iter().any(|other| saw(other, value)));
        let best = maximal.max_by(|left, right| {
            let rank = |made: &Made| match made.change {
                VersionKind::Expiry => (0, 0.0),
                VersionKind::Put(number) => (1, number),
                VersionKind::Delete => (2, 0.0),
            };
            let (l, r) = (rank(&history.made[left]), rank(&history.made[right]));
            let origins = (
                history.committed[left].0.origin,
                history.committed[right].0.origin,
            );
            l.0.cmp(&r.0)
                .then(l.1.total_cmp(&r.1))
                .then(origins.1.cmp(&origins.0))
                .then(left.cmp(right))
        });
        let shown = best.filter(|value| matches!(history.made[value].change, VersionKind::Put(_)));
        expected.insert(item, shown.copied());
    }
    for (region, view) in &history.views {
        for (item, value) in &expected {
            if view.get(item) != value.as_ref() {
                let shown = view.get(item);
                return Err(format!(
                    "region {region} shows {shown:?} of item {item}, not {value:?}"
                ));
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Guarantee {
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
}

/// The changes that a session must see, each with the violated guarantee otherwise.
type Known = BTreeMap<Value, Guarantee>;

/// Causality from the clients' view alone: a change comes after everything that its session had
/// written and read. A read must not return a version that a change known to its session replaced.
pub(crate) fn causal(history: &History) -> Verdict {
    let mut sessions: HashMap<u64, Known> = HashMap::new();
    let mut pasts: HashMap<Value, Known> = HashMap::new();
    let mut problems: BTreeMap<Guarantee, String> = BTreeMap::new();
    let mut operations: Vec<&Operation> = history.operations.iter().collect();
    // A change with an unknown outcome has the past that its session had when the change began.
    operations.sort_by_key(|operation| operation.ended.unwrap_or(operation.began));
    for operation in operations {
        let known = sessions.entry(operation.session).or_default();
        match &operation.action {
            Action::Write(value) => {
                pasts.insert(*value, known.clone());
                if operation.ended.is_some() {
                    known.insert(*value, Guarantee::ReadYourWrites);
                }
            }
            Action::Read { region, view } => {
                for value in view.values() {
                    learn(known, *value, &pasts);
                }
                for (wanted, guarantee) in known.iter() {
                    let made = &history.made[wanted];
                    if !made.claims.is_empty() {
                        continue;
                    }
                    if is_behind(history, made.item, *wanted, view.get(&made.item), &pasts) {
                        let shown = view.get(&made.item);
                        problems.entry(*guarantee).or_insert(format!(
                            "{guarantee:?}: session {} read {shown:?} of item {} in region {region}, and \
                             knew of {wanted}",
                            operation.session, made.item
                        ));
                    }
                }
            }
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.into_values().collect::<Vec<_>>().join("; "))
    }
}

fn learn(known: &mut Known, value: Value, pasts: &HashMap<Value, Known>) {
    known.entry(value).or_insert(Guarantee::MonotonicReads);
    for (earlier, why) in pasts.get(&value).into_iter().flatten() {
        let guarantee = match why {
            Guarantee::ReadYourWrites | Guarantee::MonotonicWrites => Guarantee::MonotonicWrites,
            Guarantee::MonotonicReads | Guarantee::WritesFollowReads => {
                Guarantee::WritesFollowReads
            }
        };
        known.entry(*earlier).or_insert(guarantee);
    }
}

/// Whether the value that a read returned cannot follow a change of the item.
fn is_behind(
    history: &History,
    item: Item,
    wanted: Value,
    shown: Option<&Value>,
    pasts: &HashMap<Value, Known>,
) -> bool {
    let past: HashSet<Value> = pasts
        .get(&wanted)
        .into_iter()
        .flatten()
        .map(|(value, _)| *value)
        .collect();
    match shown {
        Some(shown) => past.contains(shown),
        // The item was deleted by this change or by a concurrent one.
        None => !history.committed.keys().any(|value| {
            let made = &history.made[value];
            let is_removal = !matches!(made.change, VersionKind::Put(_));
            made.item == item && is_removal && !past.contains(value)
        }),
    }
}
