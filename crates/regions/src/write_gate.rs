//! When may a write begin, and when may the write region acknowledge it?
//!
//! | level | begins | is acknowledged |
//! |---|---|---|
//! | strong | in the write region | durable in a majority and in every region of the read quorum |
//! | bounded | while the write leaves every region within the bound | durable in the write region |
//! | others | in the write region | durable in the write region |
//!
//! A region counts for the bound for as long as it may still answer reads under it: while it is a
//! member, and after its removal until it has been silent for the bound's time, because a region
//! answers no bounded read that long after it last heard the write region.

use crate::{Consistency, Millis, Sequence, StalenessBound};

/// What the write region knows of a follower, as far as writes are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerState {
    /// None until the follower has reported its position in this epoch.
    pub durable: Option<Sequence>,
    pub applied: Option<Sequence>,
    /// When the write region wrote the oldest record that the follower has not applied.
    pub oldest_missing: Option<Millis>,
    /// Whether strong writes wait for the follower.
    pub in_read_quorum: bool,
    /// Whether the follower votes and counts for majorities.
    pub is_voter: bool,
}

/// Why a write cannot begin in this region now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    #[error("another region writes")]
    NotTheWriteRegion,
    #[error("the write region is being changed")]
    HandingOver,
    #[error("a region would be {0} versions behind")]
    VersionBound(u64),
    #[error("a region has been behind for {0} ms")]
    TimeBound(u64),
    #[error("not every region has been heard of since this one began to write")]
    Unheard,
}

/// Whether one more record may be written after `last`.
pub fn may_begin<'a>(
    level: Consistency,
    now: Millis,
    last: Sequence,
    others: impl IntoIterator<Item = &'a FollowerState>,
) -> Result<(), WriteRefusal> {
    let Consistency::Bounded(StalenessBound { versions, millis }) = level else {
        return Ok(());
    };
    for other in others {
        let Some(applied) = other.applied else {
            return Err(WriteRefusal::Unheard);
        };
        let behind = last.next().beyond(applied);
        if behind > versions {
            return Err(WriteRefusal::VersionBound(behind));
        }
        let age = other.oldest_missing.map_or(0, |since| now.since(since));
        if age >= millis {
            return Err(WriteRefusal::TimeBound(age));
        }
    }
    Ok(())
}

/// The last record that a majority has made durable, the write region included.
pub fn majority_durable<'a>(
    own: Sequence,
    others: impl IntoIterator<Item = &'a FollowerState>,
    majority: usize,
) -> Sequence {
    let voters = others.into_iter().filter(|other| other.is_voter);
    let mut durable: Vec<Sequence> = voters
        .map(|other| other.durable.unwrap_or_default())
        .collect();
    durable.push(own);
    durable.sort_unstable_by(|left, right| right.cmp(left));
    let index = majority.saturating_sub(1);
    durable.get(index).copied().unwrap_or_default()
}

/// The last record up to which writes may be acknowledged.
pub fn acknowledge_limit<'a>(
    level: Consistency,
    own: Sequence,
    commit: Sequence,
    others: impl IntoIterator<Item = &'a FollowerState>,
) -> Sequence {
    match level {
        Consistency::Strong => others
            .into_iter()
            .filter(|other| other.in_read_quorum)
            .map(|other| other.durable.unwrap_or_default())
            .fold(commit, Sequence::min),
        Consistency::Bounded(_)
        | Consistency::Session
        | Consistency::ConsistentPrefix
        | Consistency::Eventual => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(durable: u64) -> FollowerState {
        FollowerState {
            durable: Some(Sequence(durable)),
            applied: Some(Sequence(durable)),
            oldest_missing: None,
            in_read_quorum: true,
            is_voter: true,
        }
    }

    #[test]
    fn strong_waits_for_the_majority_and_the_read_quorum() {
        let slow = FollowerState {
            in_read_quorum: false,
            ..at(2)
        };
        for (others, commit, acknowledged) in [
            (vec![at(9), at(4)], 9, 4),
            (vec![at(9), slow], 9, 9),
            (vec![at(5)], 5, 5),
            (vec![], 10, 10),
            (vec![at(3), slow, slow, slow], 2, 2),
        ] {
            let own = Sequence(10);
            let majority = others.len().div_ceil(2) + 1;
            let durable = majority_durable(own, &others, majority);
            assert_eq!(durable, Sequence(commit), "{others:?}");
            assert_eq!(
                acknowledge_limit(Consistency::Strong, own, durable, &others),
                Sequence(acknowledged)
            );
            assert_eq!(
                acknowledge_limit(Consistency::Session, own, durable, &others),
                own
            );
        }
    }

    #[test]
    fn bounded_writes_stop_before_the_bound_breaks() {
        let level = Consistency::Bounded(StalenessBound {
            versions: 5,
            millis: 100,
        });
        let unheard = FollowerState {
            applied: None,
            ..at(9)
        };
        let late = |since| FollowerState {
            oldest_missing: Some(Millis(since)),
            ..at(9)
        };
        let begin =
            |level, other: FollowerState| may_begin(level, Millis(200), Sequence(10), [&other]);
        assert_eq!(begin(level, at(6)), Ok(()));
        assert_eq!(begin(level, at(5)), Err(WriteRefusal::VersionBound(6)));
        assert_eq!(begin(level, late(101)), Ok(()));
        assert_eq!(begin(level, late(100)), Err(WriteRefusal::TimeBound(100)));
        assert_eq!(begin(level, unheard), Err(WriteRefusal::Unheard));
        assert_eq!(begin(Consistency::Session, unheard), Ok(()));
    }
}
