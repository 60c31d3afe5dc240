//! May a write begin now, and when may it be acknowledged?
//!
//! | level | begins | is acknowledged |
//! |---|---|---|
//! | strong | in the write region | kept by a majority and by every region of the read quorum |
//! | bounded | while no region would fall out of the bound by it | kept by the write region |
//! | others | in the write region | kept by the write region |
//!
//! A region counts for the bound for as long as it may still be answering reads under it: while it
//! is a member, and after that until it has been silent for the bound's time, since a region
//! answers no bounded read that long after it last heard of the write region.

use crate::{Bound, Level, Millis, Sequence};

/// What the write region knows of another, as far as writes are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follows {
    /// None until it has spoken in this epoch.
    pub kept: Option<Sequence>,
    pub applied: Option<Sequence>,
    /// When the oldest record was written that its readers do not see.
    pub oldest_missing: Option<Millis>,
    /// Whether strong writes wait for it.
    pub in_read_quorum: bool,
    /// Whether it votes and counts for majorities.
    pub is_full: bool,
}

/// Why a write cannot begin here now.
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
    level: Level,
    now: Millis,
    last: Sequence,
    others: impl IntoIterator<Item = &'a Follows>,
) -> Result<(), WriteRefusal> {
    let Level::Bounded(Bound { versions, millis }) = level else {
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

/// What a majority keeps, the write region included.
pub fn majority_kept<'a>(
    own: Sequence,
    others: impl IntoIterator<Item = &'a Follows>,
    majority: usize,
) -> Sequence {
    let full = others.into_iter().filter(|other| other.is_full);
    let mut kept: Vec<Sequence> = full.map(|other| other.kept.unwrap_or_default()).collect();
    kept.push(own);
    kept.sort_unstable_by(|left, right| right.cmp(left));
    let index = majority.saturating_sub(1);
    kept.get(index).copied().unwrap_or_default()
}

/// Up to which record writes may be acknowledged.
pub fn settled<'a>(
    level: Level,
    own: Sequence,
    commit: Sequence,
    others: impl IntoIterator<Item = &'a Follows>,
) -> Sequence {
    match level {
        Level::Strong => others
            .into_iter()
            .filter(|other| other.in_read_quorum)
            .map(|other| other.kept.unwrap_or_default())
            .fold(commit, Sequence::min),
        Level::Bounded(_) | Level::Session | Level::ConsistentPrefix | Level::Eventual => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(kept: u64) -> Follows {
        Follows {
            kept: Some(Sequence(kept)),
            applied: Some(Sequence(kept)),
            oldest_missing: None,
            in_read_quorum: true,
            is_full: true,
        }
    }

    #[test]
    fn strong_waits_for_the_majority_and_the_read_quorum() {
        let slow = Follows {
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
            let kept = majority_kept(own, &others, majority);
            assert_eq!(kept, Sequence(commit), "{others:?}");
            assert_eq!(
                settled(Level::Strong, own, kept, &others),
                Sequence(acknowledged)
            );
            assert_eq!(settled(Level::Session, own, kept, &others), own);
        }
    }

    #[test]
    fn bounded_writes_stop_before_the_bound_breaks() {
        let level = Level::Bounded(Bound {
            versions: 5,
            millis: 100,
        });
        let unheard = Follows {
            applied: None,
            ..at(9)
        };
        let late = |since| Follows {
            oldest_missing: Some(Millis(since)),
            ..at(9)
        };
        let begin = |level, other: Follows| may_begin(level, Millis(200), Sequence(10), [&other]);
        assert_eq!(begin(level, at(6)), Ok(()));
        assert_eq!(begin(level, at(5)), Err(WriteRefusal::VersionBound(6)));
        assert_eq!(begin(level, late(101)), Ok(()));
        assert_eq!(begin(level, late(100)), Err(WriteRefusal::TimeBound(100)));
        assert_eq!(begin(level, unheard), Err(WriteRefusal::Unheard));
        assert_eq!(begin(Level::Session, unheard), Ok(()));
    }
}
