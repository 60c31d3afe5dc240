//! May this region answer a read, must the read wait for a record, or is the region behind?

use crate::{
    Consistency, Lineage, Millis, Sequence, SessionToken, StalenessBound, StreamId, TokenVerdict,
    VersionVector,
};

/// What a region knows about its own copy when a read arrives.
#[derive(Clone, Copy, Debug)]
pub struct ReadContext<'a> {
    pub lineage: &'a Lineage,
    pub applied: &'a VersionVector,
    /// As of this time, the region has applied every acknowledged write.
    pub fresh: Option<Millis>,
    pub is_member: bool,
    /// The default level of the account. A read may request a weaker level, never a stronger one.
    pub account: Consistency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadVerdict {
    Answer,
    /// Fetch the commit index from the write region first, and wait until the state has applied it.
    ReadIndex,
    /// Wait for this record, or return an error on which the client asks another region.
    Behind(StreamId, Sequence),
    /// The session saw records that a forced failover took back; a new session must begin.
    SessionLost,
    /// The region cannot prove that it is within the bound; the next page from the write region may
    /// prove it.
    TooStale,
    /// The read requests a stronger level than the account's.
    AboveTheAccount,
    /// The region is not a voter: its copy is incomplete, or the account removed it.
    NotAMember,
}

/// Decides whether a region may answer a read at a level, with the session token if there is one.
pub fn may_read(
    region: ReadContext<'_>,
    now: Millis,
    level: Consistency,
    token: Option<&SessionToken>,
) -> ReadVerdict {
    if !region.is_member {
        return ReadVerdict::NotAMember;
    }
    if level.strength() > region.account.strength() {
        return ReadVerdict::AboveTheAccount;
    }
    match level {
        Consistency::Strong => ReadVerdict::ReadIndex,
        Consistency::Bounded(StalenessBound { millis, .. }) => {
            let is_fresh = |fresh: Millis| now.since(fresh) < millis;
            if region.fresh.is_some_and(is_fresh) {
                ReadVerdict::Answer
            } else {
                ReadVerdict::TooStale
            }
        }
        Consistency::Session => match token
            .map(|token| token.verdict(region.lineage, region.applied))
        {
            None | Some(TokenVerdict::Reached) => ReadVerdict::Answer,
            Some(TokenVerdict::Behind(stream, sequence)) => ReadVerdict::Behind(stream, sequence),
            Some(TokenVerdict::Lost) => ReadVerdict::SessionLost,
        },
        Consistency::ConsistentPrefix | Consistency::Eventual => ReadVerdict::Answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoch, TokenVersion};

    #[test]
    fn each_level_decides_whether_a_read_is_answered() {
        let lineage: Lineage = [(Epoch(1), Sequence(1))].into_iter().collect();
        let applied: VersionVector = [(StreamId::Account, Sequence(8))].into_iter().collect();
        let bounded = Consistency::Bounded(StalenessBound {
            versions: 5,
            millis: 100,
        });
        let read = |account, level, fresh, seen| {
            let region = ReadContext {
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
            (
                Consistency::Strong,
                Consistency::Strong,
                None,
                9,
                ReadVerdict::ReadIndex,
            ),
            (
                Consistency::Session,
                Consistency::Strong,
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
            (
                Consistency::Strong,
                Consistency::Session,
                None,
                8,
                ReadVerdict::Answer,
            ),
            (
                Consistency::Session,
                Consistency::Session,
                None,
                9,
                ReadVerdict::Behind(StreamId::Account, Sequence(9)),
            ),
            (
                Consistency::Session,
                Consistency::Eventual,
                None,
                9,
                ReadVerdict::Answer,
            ),
        ] {
            assert_eq!(read(account, level, fresh, seen), verdict, "{level:?}");
        }
    }
}
