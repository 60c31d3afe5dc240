//! What readers must have seen where staleness is bounded: everything that was acknowledged so long ago,
//! all but so many of the writes since, and writes in the order in which they were made.
//!
//! Each item has one author, who writes rising values in turn into the two items of a pair, the first one
//! first: so each value follows everything that the author has written before.

use std::time::Duration;

/// A value that its author knows to exist since a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) item: usize,
    pub(crate) value: u64,
    pub(crate) since: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) item: usize,
    pub(crate) value: u64,
    pub(crate) region: usize,
    pub(crate) begun: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub(crate) versions: usize,
    pub(crate) time: Duration,
}

pub(crate) fn check(known: &[Known], reads: &[Read], bound: Bound) -> Result<(), String> {
    for read in reads {
        let missed = known.iter().filter(|known| {
            known.item == read.item && known.value > read.value && known.since < read.begun
        });
        let is_old = |known: &&Known| read.begun > known.since + bound.time;
        if let Some(old) = missed.clone().find(is_old) {
            return Err(format!("{read:?} lacks {old:?}"));
        }
        let missed = missed.count();
        if missed > bound.versions {
            return Err(format!("{read:?} lacks {missed} versions"));
        }
    }
    Ok(())
}

/// The values of all items at one moment: those of a pair are as their author wrote them.
pub(crate) fn check_order(values: &[u64]) -> Result<(), String> {
    for (pair, values) in values.chunks_exact(2).enumerate() {
        let (first, second) = (values[0], values[1]);
        if second > first || second + 1 < first {
            return Err(format!("pair {pair} was never {first} and {second}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Bound = Bound {
        versions: 2,
        time: Duration::from_secs(2),
    };

    fn known(value: u64, seconds: u64) -> Known {
        let since = Duration::from_secs(seconds);
        Known {
            item: 0,
            value,
            since,
        }
    }

    fn read(item: usize, value: u64, seconds: u64) -> Read {
        let (region, begun) = (1, Duration::from_secs(seconds));
        Read {
            item,
            value,
            region,
            begun,
        }
    }

    #[test]
    fn readers_may_miss_little_and_not_for_long() {
        let writes = [known(1, 10), known(2, 11), known(3, 12), known(4, 12)];
        for (read, is_right) in [
            (read(0, 4, 90), true),
            (read(0, 0, 12), true),
            (read(0, 1, 13), false),
            (read(0, 2, 14), true),
            (read(0, 2, 15), false),
            (read(0, 3, 15), false),
            (read(1, 0, 90), true),
            (read(0, 0, 13), false),
        ] {
            let found = check(&writes, &[read], BOUND);
            assert_eq!(found.is_ok(), is_right, "{found:?} for {read:?}");
        }
    }

    #[test]
    fn values_of_a_pair_follow_each_other() {
        for (values, is_right) in [
            ([3, 3, 0, 0], true),
            ([4, 3, 1, 0], true),
            ([3, 4, 0, 0], false),
            ([3, 3, 2, 0], false),
        ] {
            assert_eq!(check_order(&values).is_ok(), is_right, "{values:?}");
        }
    }
}
