//! Decides from a history whether what was promised held.

use std::collections::{BTreeMap, HashSet};

use orrery_regions::{Sequence, StalenessBound};

use crate::history::{Action, History, Key, Operation, Position, ReadLevel, Value, View};

pub(crate) type Verdict = Result<(), String>;

/// Each strong read and write took effect at one moment between its beginning and its end.
pub(crate) fn linearisable(history: &History) -> Verdict {
    let mut by_key: BTreeMap<Key, Vec<Step>> = BTreeMap::new();
    let mut keys: Vec<Key> = Vec::new();
    for operation in &history.operations {
        if let Action::Write { puts, .. } = &operation.action {
            keys.extend(puts.iter().map(|(key, _)| *key));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    for operation in &history.operations {
        let step = |does| Step {
            began: operation.began,
            ended: operation.ended.unwrap_or(u64::MAX),
            does,
        };
        match &operation.action {
            Action::Write { puts, .. } => {
                for (key, value) in puts {
                    by_key
                        .entry(*key)
                        .or_default()
                        .push(step(Does::Write(*value)));
                }
            }
            Action::Read { level, view, .. } if *level == ReadLevel::Strong => {
                for key in &keys {
                    let value = view.get(key).map_or(0, |seen| seen.value);
                    by_key
                        .entry(*key)
                        .or_default()
                        .push(step(Does::Read(value)));
                }
            }
            Action::Read { .. } => {}
        }
    }
    for (key, steps) in &mut by_key {
        // What was never read and never acknowledged explains nothing.
        let read: HashSet<Value> = steps.iter().filter_map(Step::read).collect();
        steps.retain(|step| match step.does {
            Does::Write(value) => step.ended != u64::MAX || read.contains(&value),
            Does::Read(_) => true,
        });
        steps.sort_by_key(|step| step.began);
        if !has_order(steps) {
            // Report only the steps up to the first failure: every operation that ended by then.
            let mut ends: Vec<u64> = steps.iter().map(|step| step.ended).collect();
            ends.sort_unstable();
            let until = |end: u64| -> Vec<Step> {
                let known = steps.iter().filter(|step| step.began <= end);
                known
                    .filter(|step| step.ended <= end || matches!(step.does, Does::Write(_)))
                    .map(|step| Step {
                        ended: if step.ended <= end {
                            step.ended
                        } else {
                            u64::MAX
                        },
                        ..*step
                    })
                    .collect()
            };
            let end = ends
                .into_iter()
                .find(|end| !has_order(&until(*end)))
                .unwrap_or_default();
            let mut shown = until(end);
            let recent = shown.split_off(shown.len().saturating_sub(12));
            return Err(format!(
                "key {key}: no order explains the end of {recent:?}"
            ));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
struct Step {
    began: u64,
    ended: u64,
    does: Does,
}

#[derive(Clone, Copy, Debug)]
enum Does {
    Write(Value),
    Read(Value),
}

impl Step {
    fn read(&self) -> Option<Value> {
        match self.does {
            Does::Read(value) => Some(value),
            Does::Write(_) => None,
        }
    }
}

/// Wing and Gong's search, remembering what was tried: which steps are done, and the value.
fn has_order(steps: &[Step]) -> bool {
    let needed = steps.iter().filter(|step| step.ended != u64::MAX).count();
    let mut tried = HashSet::new();
    let mut stack = vec![(vec![false; steps.len()], 0, 0)];
    while let Some((done, value, finished)) = stack.pop() {
        if finished == needed {
            return true;
        }
        let open = || (0..steps.len()).filter(|index| !done[*index]);
        let first_end = open()
            .map(|index| steps[index].ended)
            .min()
            .unwrap_or(u64::MAX);
        for index in open().filter(|index| steps[*index].began <= first_end) {
            let next = match steps[index].does {
                Does::Write(written) => written,
                Does::Read(seen) if seen == value => value,
                Does::Read(_) => continue,
            };
            let mut after = done.clone();
            after[index] = true;
            if tried.insert((after.clone(), next)) {
                let finished = finished + usize::from(steps[index].ended != u64::MAX);
                stack.push((after, next, finished));
            }
        }
    }
    false
}

/// Every read shows exactly what some prefix of a history shows: the one that its token names.
/// Since views count writes, this is also whether each was applied once.
pub(crate) fn prefix(history: &History) -> Verdict {
    let prefixes = history.prefixes();
    for operation in &history.operations {
        if let Action::Read {
            view, at, region, ..
        } = &operation.action
        {
            let expected = &prefixes[at];
            if view != expected {
                return Err(format!(
                    "region {region} showed {view:?} at {at:?}, where {expected:?} was written"
                ));
            }
        }
    }
    Ok(())
}

/// Which of the four guarantees of a session a read broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Guarantee {
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
}

/// What a session must see: the newest write of each key, and the guarantee that requires it.
type Known = BTreeMap<Key, (Sequence, Guarantee)>;

/// Read your writes, monotonic reads, monotonic writes, writes follow reads. Writes that a failover
/// took back require nothing.
pub(crate) fn session(history: &History) -> Verdict {
    let survivors = history.survivors();
    // The first breach of each guarantee.
    let mut problems: BTreeMap<Guarantee, String> = BTreeMap::new();
    let mut sessions: BTreeMap<u64, Known> = BTreeMap::new();
    // What the author of a write knew when it wrote.
    let mut behind: BTreeMap<Value, Known> = BTreeMap::new();
    let mut operations: Vec<&Operation> = history.operations.iter().collect();
    operations.sort_by_key(|operation| operation.ended.unwrap_or(u64::MAX));
    for operation in operations {
        let known = sessions.entry(operation.session).or_default();
        match &operation.action {
            Action::Write { puts, .. } => {
                let mut all = known.clone();
                for (key, value) in puts {
                    if let Some(sequence) = survivors.get(value) {
                        learn(&mut all, *key, *sequence, Guarantee::ReadYourWrites);
                    }
                }
                for (_, value) in puts {
                    behind.insert(*value, all.clone());
                }
                if operation.ended.is_some() {
                    *known = all;
                }
            }
            Action::Read {
                level: ReadLevel::Session,
                view,
                region,
                ..
            } => {
                // What a read shows binds it at once: a write without what its author knew.
                learn_view(known, view, &survivors, &behind);
                for (key, (wanted, guarantee)) in known.iter() {
                    let value = view.get(key).map_or(0, |seen| seen.value);
                    let seen = survivors.get(&value).copied();
                    // The read may have returned a write that a failover took back later.
                    let is_lost = value != 0 && seen.is_none();
                    if !is_lost && seen.unwrap_or_default() < *wanted {
                        problems.entry(*guarantee).or_insert(format!(
                            "{guarantee:?}: session {} read {seen:?} of key {key} in region {region}, \
                             and knew of {wanted}",
                            operation.session
                        ));
                    }
                }
            }
            Action::Read { .. } => {}
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems.into_values().collect::<Vec<_>>().join("; "))
    }
}

fn learn(known: &mut Known, key: Key, sequence: Sequence, guarantee: Guarantee) {
    let entry = known.entry(key).or_insert((sequence, guarantee));
    if sequence > entry.0 {
        *entry = (sequence, guarantee);
    }
}

fn learn_view(
    known: &mut Known,
    view: &View,
    survivors: &BTreeMap<Value, Sequence>,
    behind: &BTreeMap<Value, Known>,
) {
    for (key, seen) in view {
        if let Some(sequence) = survivors.get(&seen.value) {
            if known.get(key).is_none_or(|(earlier, _)| sequence > earlier) {
                known.insert(*key, (*sequence, Guarantee::MonotonicReads));
            }
            for (other, (earlier, why)) in behind.get(&seen.value).into_iter().flatten() {
                let guarantee = match why {
                    Guarantee::ReadYourWrites | Guarantee::MonotonicWrites => {
                        Guarantee::MonotonicWrites
                    }
                    Guarantee::MonotonicReads | Guarantee::WritesFollowReads => {
                        Guarantee::WritesFollowReads
                    }
                };
                learn(known, *other, *earlier, guarantee);
            }
        }
    }
}

/// A bounded read misses fewer than so many versions, and nothing older than so long.
pub(crate) fn bounded(history: &History, bound: StalenessBound) -> Verdict {
    let stream: HashSet<_> = history.stream.iter().copied().collect();
    let mut acknowledged: Vec<(Position, u64)> = Vec::new();
    for operation in &history.operations {
        if let Action::Write {
            acknowledged: Some(position),
            ..
        } = &operation.action
            && let Some(ended) = operation.ended
            && stream.contains(position)
        {
            acknowledged.push((*position, ended));
        }
    }
    for operation in &history.operations {
        let Action::Read {
            level: ReadLevel::Bounded,
            region,
            at,
            ..
        } = &operation.action
        else {
            continue;
        };
        let shown = history.chain(*at);
        let before = || {
            acknowledged
                .iter()
                .filter(|(_, ended)| *ended < operation.began)
        };
        // An operator may have begun an epoch without records that another operator, with as little
        // knowledge, made part of the history again: no bound holds between the two epochs.
        let is_taken_back = !stream.contains(at);
        let is_missed =
            |position: &Position| !(shown.contains(position) || is_taken_back && position.0 < at.0);
        for (missed, ended) in before().filter(|(position, _)| is_missed(position)) {
            let versions = before().filter(|(other, _)| other >= missed).count() as u64;
            let age = operation.began - ended;
            if versions > bound.versions || age > bound.millis {
                return Err(format!(
                    "region {region} at {at:?} missed {missed:?}, {versions} versions and {age} ms old"
                ));
            }
        }
    }
    Ok(())
}

/// How many acknowledged writes a promotion may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Nothing,
    /// Only writes that a region put aside as false progress when it rejoined.
    HandedOut,
}

pub(crate) fn durable(history: &History, loss: Loss) -> Verdict {
    let stream: HashSet<_> = history.stream.iter().copied().collect();
    for operation in &history.operations {
        if let Action::Write {
            acknowledged: Some(position),
            puts,
        } = &operation.action
            && !stream.contains(position)
            && (loss == Loss::Nothing || !history.false_progress.contains(position))
        {
            return Err(format!(
                "{puts:?} was acknowledged at {position:?} and is gone"
            ));
        }
    }
    Ok(())
}

/// At rest every region shows the whole stream, each record once.
pub(crate) fn converged(history: &History) -> Verdict {
    let last = history.stream.last().copied().unwrap_or_default();
    let expected = &history.prefixes()[&last];
    for (region, view) in &history.views {
        if view != expected {
            return Err(format!(
                "region {region} rests at {view:?}, not at {expected:?}"
            ));
        }
    }
    Ok(())
}
