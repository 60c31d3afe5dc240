//! Session tokens: what a client has seen, as a minimum for what it is shown.
//!
//! A token names the topology it was made in ([`TokenVersion`]), how much of the account stream had
//! been applied, and in a multi-write account how much of every region's stream. Within a version
//! tokens list the same regions and merge by maxima, as clients do it. A token of an earlier epoch
//! is worth what survived of that epoch: if its sequence lies beyond, it speaks of writes that were
//! lost, and no region can ever honour it.

use std::collections::BTreeMap;

use crate::{Epoch, Head, Lineage, Progress, RegionId, Sequence, StreamId};

/// Rises with every epoch and every change of members, and is never the same for two topologies:
/// the epoch in the high bits, the changes of members within it in the low sixteen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenVersion(pub u64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionToken {
    pub version: TokenVersion,
    /// Of the account stream.
    pub global: Sequence,
    /// Of the streams of the regions; empty in a single-write account.
    pub locals: BTreeMap<RegionId, Sequence>,
}

/// Whether a region may answer under a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenVerdict {
    Reached,
    /// The region lacks this record, or a topology that the token knows.
    Behind(StreamId, Sequence),
    /// The token speaks of records that a forced failover took back.
    Lost,
}

impl TokenVersion {
    pub fn new(epoch: Epoch, changes: u16) -> TokenVersion {
        TokenVersion(epoch.0 << 16 | u64::from(changes))
    }

    pub fn of(head: &Head) -> TokenVersion {
        TokenVersion::new(head.lineage.newest(), head.changes)
    }

    pub fn epoch(self) -> Epoch {
        Epoch(self.0 >> 16)
    }
}

impl SessionToken {
    /// The token of an answer from a region that has applied so much.
    pub fn new(head: &Head, progress: &Progress) -> SessionToken {
        let members = head.members.full().filter(|_| head.members.multi_write);
        let local = |region| (region, progress.of(StreamId::Region(region)));
        SessionToken {
            version: TokenVersion::of(head),
            global: progress.of(StreamId::Account),
            locals: members.map(local).collect(),
        }
    }

    /// What a client keeps of two tokens: the regions of the newer version, maxima where both know.
    pub fn merge(&mut self, other: &SessionToken) {
        let (newer, older) = if other.version > self.version {
            (other.clone(), std::mem::replace(self, other.clone()))
        } else {
            (self.clone(), other.clone())
        };
        *self = newer;
        // A sequence of an epoch before may have been taken back and given again.
        if older.version.epoch() == self.version.epoch() {
            self.global = self.global.max(older.global);
        }
        for (region, sequence) in &mut self.locals {
            let known = older.locals.get(region).copied().unwrap_or_default();
            *sequence = (*sequence).max(known);
        }
    }

    /// Whether a region with this history, applied so far, may answer.
    pub fn verdict(&self, lineage: &Lineage, applied: &Progress) -> TokenVerdict {
        let account = applied.of(StreamId::Account);
        let epoch = self.version.epoch();
        if epoch > lineage.newest() {
            return TokenVerdict::Behind(StreamId::Account, self.global);
        }
        if epoch != Epoch::NONE {
            let survived = lineage.last_of(epoch, Sequence(u64::MAX));
            if survived.is_none_or(|last| self.global > last) {
                return TokenVerdict::Lost;
            }
        }
        if self.global > account {
            return TokenVerdict::Behind(StreamId::Account, self.global);
        }
        let locals = self.locals.iter();
        let wanted = locals.map(|(region, sequence)| (StreamId::Region(*region), *sequence));
        match applied.lacks(&wanted.collect()) {
            Some((stream, sequence)) => TokenVerdict::Behind(stream, sequence),
            None => TokenVerdict::Reached,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(epoch: u64, global: u64) -> SessionToken {
        SessionToken {
            version: TokenVersion::new(Epoch(epoch), 0),
            global: Sequence(global),
            locals: BTreeMap::new(),
        }
    }

    #[test]
    fn tokens_are_worth_what_survived_of_their_epoch() {
        let lineage: Lineage = [(Epoch(1), Sequence(1)), (Epoch(3), Sequence(6))]
            .into_iter()
            .collect();
        let applied: Progress = [(StreamId::Account, Sequence(8))].into_iter().collect();
        let behind = |sequence| TokenVerdict::Behind(StreamId::Account, Sequence(sequence));
        for (token, verdict) in [
            (SessionToken::default(), TokenVerdict::Reached),
            (token(1, 5), TokenVerdict::Reached),
            (token(1, 6), TokenVerdict::Lost),
            (token(2, 1), TokenVerdict::Lost),
            (token(3, 8), TokenVerdict::Reached),
            (token(3, 9), behind(9)),
            (token(4, 2), behind(2)),
        ] {
            assert_eq!(token.verdict(&lineage, &applied), verdict, "{token:?}");
        }
    }

    #[test]
    fn merging_takes_the_newer_version_and_maxima() {
        let with = |version, global, locals: &[(u8, u64)]| SessionToken {
            version: TokenVersion::new(Epoch(version), 0),
            global: Sequence(global),
            locals: locals
                .iter()
                .map(|(r, s)| (RegionId(*r), Sequence(*s)))
                .collect(),
        };
        for (left, right, merged) in [
            (
                with(1, 5, &[(0, 3), (1, 9)]),
                with(1, 4, &[(0, 7), (1, 2)]),
                with(1, 5, &[(0, 7), (1, 9)]),
            ),
            (
                with(1, 9, &[(0, 3)]),
                with(2, 4, &[(0, 1), (1, 2)]),
                with(2, 4, &[(0, 3), (1, 2)]),
            ),
        ] {
            let (mut a, mut b) = (left.clone(), right.clone());
            a.merge(&right);
            b.merge(&left);
            assert_eq!((&a, &b), (&merged, &merged));
        }
    }
}
