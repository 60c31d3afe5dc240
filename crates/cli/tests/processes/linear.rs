//! Whether what clients saw of one item can be put in one order that agrees with time.
//!
//! Every write has a value of its own, so a read shows which write it saw. A write and its reads
//! form a cluster, and between the first end and the last begin of a cluster the item must have had
//! that value. A linear order exists exactly when every two such spans are disjoint, and no cluster
//! that fits anywhere in its span lies within the span of another cluster (Gibbons and Korach,
//! 1997).

use std::collections::BTreeMap;

pub(crate) type Nanos = u64;

/// The value of the item before anybody wrote.
pub(crate) const INITIAL: u64 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) is_write: bool,
    pub(crate) value: u64,
    pub(crate) begun: Nanos,
    /// None if the write has no answer: such a write happened at an unknown time or never.
    pub(crate) ended: Option<Nanos>,
}

#[derive(Debug, Clone, Copy)]
struct Cluster {
    value: u64,
    write_begun: Nanos,
    first_end: Nanos,
    last_begin: Nanos,
}

impl Cluster {
    fn is_forward(&self) -> bool {
        self.first_end < self.last_begin
    }
}

/// Finds the violation in the history of one item.
pub(crate) fn check(events: &[Event]) -> Result<(), String> {
    let clusters = clusters(events)?;
    for cluster in &clusters {
        if cluster.first_end < cluster.write_begun {
            return Err(format!("{} was read before it was written", cluster.value));
        }
    }
    let mut spans: Vec<Cluster> = clusters
        .iter()
        .copied()
        .filter(Cluster::is_forward)
        .collect();
    spans.sort_by_key(|span| span.first_end);
    for pair in spans.windows(2) {
        let [a, b] = pair else { continue };
        if b.first_end < a.last_begin {
            return Err(format!(
                "{} and {} were there at the same time: {a:?} {b:?}",
                a.value, b.value
            ));
        }
    }
    for inner in clusters.iter().filter(|cluster| !cluster.is_forward()) {
        let after = spans.partition_point(|span| span.first_end < inner.last_begin);
        let Some(outer) = after.checked_sub(1).and_then(|at| spans.get(at)) else {
            continue;
        };
        if inner.first_end < outer.last_begin {
            return Err(format!(
                "{} cannot have been there while {} was: {inner:?} {outer:?}",
                inner.value, outer.value
            ));
        }
    }
    Ok(())
}

fn clusters(events: &[Event]) -> Result<Vec<Cluster>, String> {
    let initial = Cluster {
        value: INITIAL,
        write_begun: 0,
        first_end: 0,
        last_begin: 0,
    };
    let mut clusters = BTreeMap::from([(INITIAL, initial)]);
    for write in events.iter().filter(|event| event.is_write) {
        let cluster = Cluster {
            value: write.value,
            write_begun: write.begun,
            first_end: write.ended.unwrap_or(Nanos::MAX),
            last_begin: write.begun,
        };
        if clusters.insert(write.value, cluster).is_some() {
            return Err(format!("{} was written twice", write.value));
        }
    }
    for read in events.iter().filter(|event| !event.is_write) {
        let Some(cluster) = clusters.get_mut(&read.value) else {
            return Err(format!("{} was read and never written", read.value));
        };
        cluster.first_end = cluster.first_end.min(read.ended.unwrap_or(Nanos::MAX));
        cluster.last_begin = cluster.last_begin.max(read.begun);
    }
    // A write without acknowledgement and without a read may never have happened, so the checker
    // ignores it.
    clusters.retain(|_, cluster| cluster.first_end < Nanos::MAX);
    Ok(clusters.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(value: u64, begun: Nanos, ended: Nanos) -> Event {
        let ended = Some(ended);
        Event {
            is_write: true,
            value,
            begun,
            ended,
        }
    }

    fn lost(value: u64, begun: Nanos) -> Event {
        Event {
            is_write: true,
            value,
            begun,
            ended: None,
        }
    }

    fn read(value: u64, begun: Nanos, ended: Nanos) -> Event {
        let ended = Some(ended);
        Event {
            is_write: false,
            value,
            begun,
            ended,
        }
    }

    #[test]
    fn histories_that_one_order_explains() {
        for events in [
            vec![],
            vec![read(0, 1, 2), write(1, 3, 4), read(1, 5, 6)],
            // Two reads beside a write see it and not.
            vec![write(1, 1, 9), read(1, 2, 3), read(0, 2, 4)],
            // Writes beside each other, in either order.
            vec![write(1, 1, 5), write(2, 2, 6), read(1, 7, 8)],
            vec![write(1, 1, 5), write(2, 2, 6), read(2, 7, 8)],
            // A write whose answer never came: lost, late, or immediate.
            vec![lost(1, 1), read(0, 5, 6)],
            vec![lost(1, 1), write(2, 2, 3), read(2, 4, 5), read(1, 6, 7)],
        ] {
            assert_eq!(check(&events), Ok(()), "{events:?}");
        }
    }

    #[test]
    fn histories_that_no_order_explains() {
        for (events, phrase) in [
            (vec![write(1, 1, 2), read(0, 3, 4)], "while 0 was"),
            (
                vec![write(1, 1, 2), write(2, 3, 4), read(1, 5, 6)],
                "while 1 was",
            ),
            (
                vec![write(1, 1, 9), read(1, 2, 3), read(0, 4, 5)],
                "while 0 was",
            ),
            (
                vec![read(0, 5, 6), write(1, 1, 2), read(1, 7, 8), read(0, 9, 10)],
                "at the same time",
            ),
            (vec![read(1, 1, 2), write(1, 3, 4)], "before it was written"),
            (vec![read(7, 1, 2)], "never written"),
            (vec![write(1, 1, 2), write(1, 3, 4)], "written twice"),
            // It came late, and then went.
            (
                vec![write(1, 1, 2), lost(2, 3), read(2, 4, 5), read(1, 6, 7)],
                "while 1 was",
            ),
            (
                vec![lost(1, 1), write(2, 2, 3), read(1, 4, 5), read(2, 6, 7)],
                "while 2 was",
            ),
        ] {
            let found = check(&events).expect_err("no order");
            assert!(found.contains(phrase), "{events:?}: {found}");
        }
    }
}
