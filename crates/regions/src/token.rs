//! Session tokens: a client sends what its session has seen as a minimum for its next read.
//!
//! A token names the topology in which it was issued ([`TokenVersion`]), how much of the account
//! stream was applied, and in a multi-write account how much of every region's stream. Tokens of
//! the same version list the same regions, so clients merge them by maxima. A token of an earlier
//! epoch is worth what survived of that epoch: if its sequence lies beyond, the session saw writes
//! that were lost, and no region can ever honour the token.

use std::collections::BTreeMap;

use crate::{Epoch, Lineage, RegionId, Sequence, SnapshotMetadata, StreamId, VersionVector};

/// Rises with every epoch and every membership change, and no two topologies share a version: the
/// epoch is in the high bits, the count of membership changes within it in the low sixteen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenVersion(pub u64);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionToken {
    pub version: TokenVersion,
    /// The last record of the account stream.
    pub global: Sequence,
    /// The last record of each region's stream; empty in a single-write account.
    pub locals: BTreeMap<RegionId, Sequence>,
}

/// Whether a region may answer a read under a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenVerdict {
    Reached,
    /// The region lacks this record, or a topology that the token knows.
    Behind(StreamId, Sequence),
    /// A forced failover took back records that the token's session has seen.
    Lost,
}

impl TokenVersion {
    pub fn new(epoch: Epoch, changes: u16) -> TokenVersion {
        TokenVersion(epoch.0 << 16 | u64::from(changes))
    }

    pub fn of(head: &SnapshotMetadata) -> TokenVersion {
        TokenVersion::new(head.lineage.newest(), head.changes)
    }

    pub fn epoch(self) -> Epoch {
        Epoch(self.0 >> 16)
    }
}

impl SessionToken {
    /// The token of an answer from a region with this applied progress.
    pub fn new(head: &SnapshotMetadata, progress: &VersionVector) -> SessionToken {
        let members = head
            .members
            .voters()
            .filter(|_| head.members.mode.has_region_streams());
        let local = |region| (region, progress.of(StreamId::Region(region)));
        SessionToken {
            version: TokenVersion::of(head),
            global: progress.of(StreamId::Account),
            locals: members.map(local).collect(),
        }
    }

    /// The union of two tokens as a client computes it: the regions of the newer version, with the
    /// maximum where both versions list the region.
    pub fn merge(&mut self, other: &SessionToken) {
        let (newer, older) = if other.version > self.version {
            (other.clone(), std::mem::replace(self, other.clone()))
        } else {
            (self.clone(), other.clone())
        };
        *self = newer;
        // Records of an earlier epoch may have been taken back and their sequences reused.
        if older.version.epoch() == self.version.epoch() {
            self.global = self.global.max(older.global);
        }
        for (region, sequence) in &mut self.locals {
            let known = older.locals.get(region).copied().unwrap_or_default();
            *sequence = (*sequence).max(known);
        }
    }

    /// Whether a region with this history and this applied progress may answer.
    pub fn verdict(&self, lineage: &Lineage, applied: &VersionVector) -> TokenVerdict {
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
        match applied.first_missing(&wanted.collect()) {
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
        let applied: VersionVector = [(StreamId::Account, Sequence(8))].into_iter().collect();
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
