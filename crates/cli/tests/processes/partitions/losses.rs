//! Whether every acknowledged version survives, and whether two regions accepted writes of one item
//! that should have excluded each other.  A version may disappear only when a region that stores
//! this version replaces it. For the version that was shown, the etag proves which version was
//! replaced; for versions that lost a conflict, the session token of the answer proves it, since
//! the token names how many records of each stream the region had. So starting from the versions at
//! the end, shown or in the conflict feed, the checker must reach every version that was ever
//! acknowledged.
//!
//! Two regions may each accept a write over the same version only where one of them was silent: not
//! in eras without a fault, and one region never accepts two such writes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::history::{Event, Token, Value};
use super::lineage::{Lineage, Version};
use crate::account::REGIONS;

/// What all regions have at the end, by item.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) items: BTreeMap<String, Value>,
    pub(super) conflicts: BTreeMap<String, Vec<Value>>,
}

/// What a history had in it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) acknowledged: usize,
    /// Versions over which two regions wrote.
    pub(super) forks: usize,
    /// Versions that lost a conflict and are in the conflict feed.
    pub(super) listed: usize,
    /// Versions that lost a conflict and that the author of another version had read.
    pub(super) replaced: usize,
}

pub(super) fn check(
    events: &[Event],
    end: &End,
    is_fault_free: impl Fn(&str) -> bool,
) -> Result<Tally, String> {
    let mut by_item: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        by_item.entry(&event.item).or_default().push(event);
    }
    for item in end.items.keys().chain(end.conflicts.keys()) {
        if !by_item.contains_key(item.as_str()) {
            return Err(format!("{item}: nobody wrote it"));
        }
    }
    let floors = Floors::new(events);
    let mut tally = Tally::default();
    for (item, events) in by_item {
        let shown = end.items.get(item).copied();
        let listed = end.conflicts.get(item).map_or(&[][..], |listed| listed);
        check_item(
            &events,
            shown,
            listed,
            is_fault_free(item),
            &floors,
            &mut tally,
        )
        .map_err(|error| format!("{item}: {error}"))?;
    }
    Ok(tally)
}

fn check_item(
    events: &[&Event],
    shown: Option<Value>,
    listed: &[Value],
    is_fault_free: bool,
    floors: &Floors,
    tally: &mut Tally,
) -> Result<(), String> {
    let found: Vec<Value> = shown.iter().chain(listed).copied().collect();
    let lineage = Lineage::new(events, &found)?;
    if shown.is_none() && !lineage.made.is_empty() {
        return Err(format!("it is gone with {:?}", lineage.made));
    }
    check_owners(&lineage, is_fault_free, tally)?;
    if is_fault_free && !listed.is_empty() {
        return Err(format!("{listed:?} lost without a fault"));
    }
    let mut there: BTreeSet<Value> = BTreeSet::new();
    let mut next = found;
    while let Some(value) = next.pop() {
        if !there.insert(value) {
            continue;
        }
        let version = &lineage.versions[&value];
        next.extend(version.over);
        for other in lineage.made.difference(&there) {
            if has_seen(version, &lineage.versions[other], floors) && version.over != Some(*other) {
                tally.replaced += usize::from(!lineage.is_older(*other, value));
                next.push(*other);
            }
        }
    }
    tally.listed += listed.len();
    let acknowledged = lineage.versions.values();
    tally.acknowledged += acknowledged
        .filter(|version| version.is_acknowledged)
        .count();
    match lineage.made.difference(&there).next() {
        Some(lost) => Err(format!(
            "{lost} is lost: {:?}; there are {shown:?} and in the feed {listed:?}",
            lineage.versions[lost]
        )),
        None => Ok(()),
    }
}

/// Whether a region can have received `version` when it made `other`.
fn has_seen(version: &Version, other: &Version, floors: &Floors) -> bool {
    let least = floors.before(other.begun)[other.region] + 1;
    version
        .had
        .is_none_or(|Token(had)| had[other.region] >= least)
}

fn check_owners(lineage: &Lineage, is_fault_free: bool, tally: &mut Tally) -> Result<(), String> {
    let mut children: BTreeMap<Option<Value>, Vec<(usize, Value)>> = BTreeMap::new();
    for value in &lineage.made {
        let version = &lineage.versions[value];
        let children = children.entry(version.over).or_default();
        let same = children
            .iter()
            .find(|(region, _)| *region == version.region);
        if let Some((region, first)) = same {
            let region = REGIONS[*region];
            return Err(format!(
                "{region} took {first} and {value} over one version"
            ));
        }
        children.push((version.region, *value));
    }
    for (over, children) in children {
        if children.len() > 1 {
            tally.forks += 1;
            if is_fault_free {
                return Err(format!("over {over:?} without a fault: {children:?}"));
            }
        }
    }
    Ok(())
}

/// How far each stream certainly was, at any time: as far as an answer had said.
struct Floors(Vec<(Duration, [u64; REGIONS.len()])>);

impl Floors {
    fn new(events: &[Event]) -> Floors {
        let answered = events.iter();
        let mut answered: Vec<(Duration, [u64; REGIONS.len()])> = answered
            .filter_map(|event| Some((event.ended, event.token?.0)))
            .collect();
        answered.sort_unstable();
        let mut most = [0; REGIONS.len()];
        for (_, streams) in &mut answered {
            for (most, stream) in most.iter_mut().zip(streams.iter_mut()) {
                *most = (*most).max(*stream);
                *stream = *most;
            }
        }
        Floors(answered)
    }

    fn before(&self, time: Duration) -> [u64; REGIONS.len()] {
        let count = self.0.partition_point(|(ended, _)| *ended < time);
        let last = count.checked_sub(1).and_then(|last| self.0.get(last));
        last.map_or([0; REGIONS.len()], |(_, streams)| *streams)
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::What;
    use super::*;

    const WEST: usize = 0;
    const NORTH: usize = 1;

    fn wrote(
        at: u64,
        region: usize,
        value: Value,
        over: Option<Value>,
        token: Option<[u64; 3]>,
    ) -> Event {
        Event {
            session: (0, 0),
            item: "x".to_owned(),
            region,
            begun: Duration::from_secs(at),
            ended: Duration::from_millis(at * 1_000 + 500),
            what: What::Wrote { value, over },
            token: token.map(Token),
        }
    }

    fn read(at: u64, value: Value, token: [u64; 3]) -> Event {
        Event {
            what: What::Read(Some(value)),
            ..wrote(at, NORTH, 0, None, Some(token))
        }
    }

    fn found(
        events: &[Event],
        shown: &[Value],
        listed: &[Value],
        is_fault_free: bool,
    ) -> Result<Tally, String> {
        let item = || "x".to_owned();
        let end = End {
            items: shown.iter().map(|value| (item(), *value)).collect(),
            conflicts: [(item(), listed.to_vec())].into(),
        };
        check(events, &end, |_| is_fault_free)
    }

    /// Region west takes 1 and 2, is cut off and takes 3; north continues from 2 with 4.
    fn two_owners() -> Vec<Event> {
        vec![
            wrote(1, WEST, 1, None, Some([1, 0, 0])),
            wrote(2, WEST, 2, Some(1), Some([2, 0, 0])),
            wrote(3, WEST, 3, Some(2), Some([3, 0, 0])),
            wrote(4, NORTH, 4, Some(2), Some([2, 1, 0])),
        ]
    }

    #[test]
    fn what_lost_is_listed_or_was_seen_by_whoever_wrote_then() {
        let events = two_owners();
        let tally = found(&events, &[4], &[3], false).unwrap();
        assert_eq!((tally.acknowledged, tally.forks, tally.listed), (4, 1, 1));
        found(&events, &[3], &[4], false).unwrap();
        let mut healed = events;
        healed.push(wrote(5, NORTH, 5, Some(4), Some([3, 2, 0])));
        assert_eq!(found(&healed, &[5], &[], false).unwrap().replaced, 1);
        // No client received an acknowledgement of these versions, and no client read them.
        healed.push(wrote(6, WEST, 6, Some(5), None));
        healed.push(wrote(6, NORTH, 7, Some(5), None));
        found(&healed, &[5], &[], false).unwrap();
        found(&healed, &[6], &[], false).unwrap();
    }

    #[test]
    fn histories_with_a_loss_or_two_owners_are_found() {
        let events = two_owners();
        let with = |more: &[Event]| [&events[..], more].concat();
        for (events, shown, listed, is_fault_free, phrase) in [
            (events.clone(), &[4][..], &[][..], false, "3 is lost"),
            (events.clone(), &[3], &[], false, "4 is lost"),
            (events.clone(), &[2], &[], false, "is lost"),
            (events.clone(), &[], &[], false, "it is gone"),
            (events.clone(), &[9], &[], false, "9 was never written"),
            (events.clone(), &[4], &[3], true, "without a fault"),
            (
                events[..3].to_vec(),
                &[3],
                &[2],
                true,
                "lost without a fault",
            ),
            // North writes again, still without what west took.
            (
                with(&[wrote(5, NORTH, 5, Some(4), Some([2, 2, 0]))]),
                &[5],
                &[],
                false,
                "3 is lost",
            ),
            (
                with(&[wrote(5, WEST, 5, Some(2), Some([4, 0, 0]))]),
                &[4],
                &[3, 5],
                false,
                "west took 3 and 5",
            ),
            // Version 5 was never acknowledged, but a client has read it.
            (
                with(&[wrote(5, WEST, 5, Some(3), None), read(6, 5, [4, 1, 0])]),
                &[4],
                &[3],
                false,
                "5 is lost",
            ),
            (
                with(&[wrote(5, WEST, 3, Some(2), None)]),
                &[4],
                &[3],
                false,
                "3 was written twice",
            ),
        ] {
            let error = found(&events, shown, listed, is_fault_free).expect_err(phrase);
            assert!(error.contains(phrase), "{phrase}: {error}");
        }
    }
}
