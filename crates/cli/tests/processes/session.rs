//! What the session of one client must have seen: its own writes, and nothing older than before.
//!
//! Values of an item only rise, because each is written over the one before it or not at all.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The client was told that its write is done.
    Wrote {
        item: usize,
        value: u64,
    },
    Read {
        item: usize,
        value: u64,
    },
}

/// In the order in which the client was answered.
pub(crate) fn check(session: &[Seen]) -> Result<(), String> {
    let mut newest: BTreeMap<usize, Seen> = BTreeMap::new();
    for seen in session {
        let (item, value) = parts(*seen);
        if let Some(before) = newest.get(&item)
            && parts(*before).1 > value
        {
            return Err(format!("{seen:?} after {before:?}"));
        }
        newest.insert(item, *seen);
    }
    Ok(())
}

fn parts(seen: Seen) -> (usize, u64) {
    match seen {
        Seen::Wrote { item, value } | Seen::Read { item, value } => (item, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_see_their_writes_and_never_go_back() {
        let wrote = |item, value| Seen::Wrote { item, value };
        let read = |item, value| Seen::Read { item, value };
        let good = [
            read(0, 1),
            wrote(0, 2),
            read(0, 2),
            read(1, 1),
            read(0, 5),
            read(0, 5),
        ];
        assert_eq!(check(&good), Ok(()));
        for (bad, expected) in [
            (
                [wrote(0, 2), read(0, 1)],
                "Read { item: 0, value: 1 } after Wrote { item: 0, value: 2 }",
            ),
            (
                [read(1, 9), read(1, 8)],
                "Read { item: 1, value: 8 } after Read { item: 1, value: 9 }",
            ),
        ] {
            assert_eq!(check(&bad), Err(expected.to_owned()));
        }
    }
}
