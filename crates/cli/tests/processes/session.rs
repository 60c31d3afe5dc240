//! The reads that the session of one client must have: its own writes, and nothing older than an
//! earlier read.
//!
//! Values of an item only rise, because each write replaces the value that it read, or fails.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) item: usize,
    pub(crate) value: u64,
    pub(crate) how: How,
    /// The session token after this answer.
    pub(crate) token: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The client received an acknowledgement of its write.
    Wrote,
    Read {
        region: usize,
    },
    /// A read after the last fault, equal in all regions.
    AtRest,
}

/// In the order in which the client was answered.
pub(crate) fn check(session: &[Seen]) -> Result<(), String> {
    let mut newest: BTreeMap<usize, &Seen> = BTreeMap::new();
    for seen in session {
        if let Some(before) = newest.insert(seen.item, seen)
            && before.value > seen.value
        {
            return Err(format!("{seen:?} after {before:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(how: How, item: usize, value: u64) -> Seen {
        let token = None;
        Seen {
            item,
            value,
            how,
            token,
        }
    }

    #[test]
    fn sessions_see_their_writes_and_never_go_back() {
        let wrote = |item, value| seen(How::Wrote, item, value);
        let read = |item, value| seen(How::Read { region: 1 }, item, value);
        let good = [
            read(0, 1),
            wrote(0, 2),
            read(0, 2),
            read(1, 1),
            read(0, 5),
            read(0, 5),
        ];
        assert_eq!(check(&good), Ok(()));
        for bad in [
            [wrote(0, 2), read(0, 1)],
            [read(1, 9), read(1, 8)],
            [wrote(0, 2), seen(How::AtRest, 0, 1)],
        ] {
            let error = format!("{:?} after {:?}", bad[1], bad[0]);
            assert_eq!(check(&bad), Err(error));
        }
    }
}
