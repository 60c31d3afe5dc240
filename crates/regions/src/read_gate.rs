//! May this region answer a read, what must it wait for, or is it behind?

use crate::{
    Bound, Level, Lineage, Millis, Progress, Sequence, SessionToken, StreamId, TokenVerdict,
};

/// What a region knows of itself when a read comes.
#[derive(Clone, Copy, Debug)]
pub struct Readable<'a> {
    pub lineage: &'a Lineage,
    pub applied: &'a Progress,
    /// At this time the region is known to have had everything that was acknowledged.
    pub fresh: Option<Millis>,
    pub is_member: bool,
    /// Of the account. A read may ask for less, never for more.
    pub account: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadVerdict {
    Answer,
    /// Ask what is committed first, and wait until it is applied.
    Confirm,
    /// Wait for this record, or let the client ask another region.
    Behind(StreamId, Sequence),
    /// The session saw records that a forced failover took back; a new session must begin.
    SessionLost,
    /// Not known to be within the bound; waiting until something is heard may help.
    TooStale,
    /// The level asked for is above that of the account.
    AboveTheAccount,
    /// The region is not a member of the account, or is still being copied.
    NotAMember,
}

/// Decides on a read at a level, with the token of its session if it has one.
pub fn may_read(
    region: Readable<'_>,
    now: Millis,
    level: Level,
    token: Option<&SessionToken>,
) -> ReadVerdict {
    if !region.is_member {
        return ReadVerdict::NotAMember;
    }
    if level.strength() > region.account.strength() {
        return ReadVerdict::AboveTheAccount;
    }
    match level {
        Level::Strong => ReadVerdict::Confirm,
        Level::Bounded(Bound { millis, .. }) => {
            let is_fresh = |fresh: Millis| now.since(fresh) < millis;
            if region.fresh.is_some_and(is_fresh) {
                ReadVerdict::Answer
            } else {
                ReadVerdict::TooStale
            }
        }
        Level::Session => match token.map(|token| token.verdict(region.lineage, region.applied)) {
            None | Some(TokenVerdict::Reached) => ReadVerdict::Answer,
            Some(TokenVerdict::Behind(stream, sequence)) => ReadVerdict::Behind(stream, sequence),
            Some(TokenVerdict::Lost) => ReadVerdict::SessionLost,
        },
        Level::ConsistentPrefix | Level::Eventual => ReadVerdict::Answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoch, TokenVersion};

    #[test]
    fn levels_decide() {
        let lineage: Lineage = [(Epoch(1), Sequence(1))].into_iter().collect();
        let applied: Progress = [(StreamId::Account, Sequence(8))].into_iter().collect();
        let bounded = Level::Bounded(Bound {
            versions: 5,
            millis: 100,
        });
        let read = |account, level, fresh, seen| {
            let region = Readable {
                lineage: &lineage,
                applied: &applied,
                fresh,
                is_member: true,
                account,
            };
            let token = SessionToken {
                version: TokenVersion::new(Epoch(1), 0),
                global: Sequence(seen),
                ..SessionToken::default()
            };
            may_read(region, Millis(200), level, Some(&token))
        };
        for (account, level, fresh, seen, verdict) in [
            (Level::Strong, Level::Strong, None, 9, ReadVerdict::Confirm),
            (
                Level::Session,
                Level::Strong,
                None,
                1,
                ReadVerdict::AboveTheAccount,
            ),
            (bounded, bounded, Some(Millis(101)), 9, ReadVerdict::Answer),
            (
                bounded,
                bounded,
                Some(Millis(100)),
                1,
                ReadVerdict::TooStale,
            ),
            (bounded, bounded, None, 1, ReadVerdict::TooStale),
            (Level::Strong, Level::Session, None, 8, ReadVerdict::Answer),
            (
                Level::Session,
                Level::Session,
                None,
                9,
                ReadVerdict::Behind(StreamId::Account, Sequence(9)),
            ),
            (
                Level::Session,
                Level::Eventual,
                None,
                9,
                ReadVerdict::Answer,
            ),
        ] {
            assert_eq!(read(account, level, fresh, seen), verdict, "{level:?}");
        }
    }
}
