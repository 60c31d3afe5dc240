//! Whether each session read its own writes, and never a version older than one that it had read.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Event, Value, What};
use super::lineage::Lineage;

/// The events of each session are in its order.
pub(super) fn check(events: &[Event]) -> Result<(), String> {
    let mut by_item: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        by_item.entry(&event.item).or_default().push(event);
    }
    for (item, events) in by_item {
        let lineage = Lineage::new(&events, &[]).map_err(|error| format!("{item}: {error}"))?;
        let mut known: BTreeMap<(usize, usize), BTreeSet<Value>> = BTreeMap::new();
        for event in events {
            let known = known.entry(event.session).or_default();
            match event.what {
                What::Wrote { value, .. } if event.token.is_some() => {
                    known.insert(value);
                }
                What::Wrote { .. } => {}
                What::Read(None) => {
                    if let Some(before) = known.last() {
                        return Err(format!("{event:?} does not find {before}"));
                    }
                }
                What::Read(Some(value)) => {
                    let newer = known
                        .iter()
                        .find(|before| lineage.is_older(value, **before));
                    if let Some(newer) = newer {
                        return Err(format!("{event:?} is older than {newer}"));
                    }
                    known.insert(value);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::history::Token;
    use super::*;

    fn event(session: usize, what: What) -> Event {
        Event {
            session: (0, session),
            item: "x".to_owned(),
            region: 0,
            begun: Duration::ZERO,
            ended: Duration::ZERO,
            what,
            token: Some(Token([0; 3])),
        }
    }

    fn wrote(session: usize, value: Value, over: Option<Value>) -> Event {
        event(session, What::Wrote { value, over })
    }

    fn read(session: usize, value: Value) -> Event {
        event(session, What::Read(Some(value)))
    }

    #[test]
    fn sessions_go_on_and_new_ones_may_begin_behind() {
        let made = [
            wrote(0, 1, None),
            wrote(0, 2, Some(1)),
            wrote(0, 3, Some(1)),
        ];
        let with = |more: &[Event]| [&made[..], more].concat();
        for (events, is_right) in [
            (with(&[read(0, 2), read(0, 3)]), true),
            (
                with(&[read(1, 1), read(1, 2), read(1, 3), read(1, 2)]),
                true,
            ),
            (with(&[read(0, 1)]), false),
            (with(&[read(1, 2), read(1, 3), read(1, 1)]), false),
            (with(&[event(0, What::Read(None))]), false),
            (with(&[event(1, What::Read(None)), read(1, 1)]), true),
            (with(&[read(1, 1), event(1, What::Read(None))]), false),
        ] {
            let found = check(&events);
            assert_eq!(found.is_ok(), is_right, "{found:?}");
        }
    }
}
