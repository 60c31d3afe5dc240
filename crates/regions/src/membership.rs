//! The regions of an account, in their order of failover priority.

use std::collections::BTreeMap;

use crate::{RegionId, Sequence};

/// The regions of an account by priority. The first region that is able to becomes the write
/// region, or the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    pub regions: Vec<Member>,
    /// Regions that were removed and may not have received the removal: they may still answer
    /// reads.
    pub former: Vec<RegionId>,
    pub mode: AccountMode,
    /// Multi-write accounts only: the last stream record of each removed region. A region that was
    /// added again continues its stream after this record.
    pub ends: BTreeMap<RegionId, Sequence>,
}

/// Which regions of an account take writes. The mode is decided when the account is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccountMode {
    /// One region writes, and the others follow its log.
    #[default]
    OneRegionWrites,
    /// Every member writes items in a stream of its own.
    EveryRegionWrites,
    /// Every member has a stream of its own, and each logical partition key has a single owner that
    /// takes its writes. The owner is the write region, or the region to which the key was moved.
    ByOwner,
}

impl AccountMode {
    /// Whether each member has a stream of its own for items, beside the account stream: a
    /// multi-write account in the sense of the store and the protocol between regions.
    pub fn has_region_streams(self) -> bool {
        match self {
            AccountMode::OneRegionWrites => false,
            AccountMode::EveryRegionWrites | AccountMode::ByOwner => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: RegionId,
    pub name: String,
    pub status: MemberStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    /// Copies and follows. The account does not list a learner, a learner does not vote, and no
    /// write waits for it.
    Learner,
    Voter,
    /// Multi-write accounts only: the region writes no more. It leaves when the others have applied
    /// its stream.
    Leaving,
    /// Multi-write accounts only: the region is gone. It leaves when the others agree on the last
    /// record of its stream.
    Lost,
}

/// Why a membership change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    #[error("region {0} is a member already")]
    AlreadyMember(RegionId),
    #[error("region {0} is not a member")]
    Unknown(RegionId),
    #[error("region {0} writes; hand over to another region first")]
    Writes(RegionId),
    #[error(
        "the change before this one is not committed yet, or the write region is being changed"
    )]
    ChangeInProgress,
    #[error("region {0} has not caught up yet")]
    Behind(RegionId),
}

impl Membership {
    /// Voters, in order of priority.
    pub fn new<'a>(regions: impl IntoIterator<Item = (RegionId, &'a str)>) -> Membership {
        let member = |(id, name): (RegionId, &str)| Member {
            id,
            name: name.to_owned(),
            status: MemberStatus::Voter,
        };
        Membership {
            regions: regions.into_iter().map(member).collect(),
            former: Vec::new(),
            mode: AccountMode::default(),
            ends: BTreeMap::new(),
        }
    }

    pub fn get(&self, region: RegionId) -> Option<&Member> {
        self.regions.iter().find(|member| member.id == region)
    }

    pub fn is_voter(&self, region: RegionId) -> bool {
        self.voters().any(|member| member == region)
    }

    /// The members that vote and are listed; strong writes wait for these.
    pub fn voters(&self) -> impl Iterator<Item = RegionId> + '_ {
        self.regions
            .iter()
            .filter(|member| member.status == MemberStatus::Voter)
            .map(|member| member.id)
    }

    /// The members whose stream records may still be in flight in a multi-write account.
    pub fn writers(&self) -> impl Iterator<Item = RegionId> + '_ {
        let regions = self.regions.iter();
        let writers = regions.filter(|member| member.status != MemberStatus::Learner);
        writers.map(|member| member.id)
    }

    pub fn all(&self) -> impl Iterator<Item = RegionId> + '_ {
        self.regions.iter().map(|member| member.id)
    }

    pub fn majority(&self) -> usize {
        self.voters().count() / 2 + 1
    }

    /// How many regions together know every record that could have been committed: a majority, or
    /// either of two, since with two members both have every committed record.
    ///
    /// With four members, two regions would intersect every majority of the four, but not every
    /// majority of the three that a removal may have left without the two having received it.
    pub fn recovery_quorum(&self) -> usize {
        match self.voters().count() {
            2 => 1,
            _ => self.majority(),
        }
    }

    /// The rank of a region in the order of priority among voters.
    pub fn rank(&self, region: RegionId) -> Option<usize> {
        self.voters().position(|member| member == region)
    }

    /// The members with a new region that copies first.
    pub fn with_learner(&self, id: RegionId, name: &str) -> Result<Membership, MembershipError> {
        if self.get(id).is_some() {
            return Err(MembershipError::AlreadyMember(id));
        }
        let mut members = self.clone();
        members.former.retain(|region| *region != id);
        members.regions.push(Member {
            id,
            name: name.to_owned(),
            status: MemberStatus::Learner,
        });
        Ok(members)
    }

    /// The members with a learner that has finished copying as a voter.
    pub fn with_voter(&self, id: RegionId) -> Result<Membership, MembershipError> {
        let mut members = self.clone();
        let found = members.regions.iter_mut().find(|member| member.id == id);
        found.ok_or(MembershipError::Unknown(id))?.status = MemberStatus::Voter;
        Ok(members)
    }

    pub fn without(&self, id: RegionId) -> Result<Membership, MembershipError> {
        if self.get(id).is_none() {
            return Err(MembershipError::Unknown(id));
        }
        let mut members = self.clone();
        members.former.push(id);
        members.regions.retain(|member| member.id != id);
        Ok(members)
    }

    /// The members with a region that begins to leave: [`MemberStatus::Leaving`] or
    /// [`MemberStatus::Lost`]. A learner leaves at once, because its stream is empty.
    pub fn with_leaving(
        &self,
        id: RegionId,
        how: MemberStatus,
    ) -> Result<Membership, MembershipError> {
        let mut members = self.clone();
        let found = members.regions.iter_mut().find(|member| member.id == id);
        let member = found.ok_or(MembershipError::Unknown(id))?;
        if member.status == MemberStatus::Learner {
            return self.without(id);
        }
        member.status = how;
        Ok(members)
    }

    /// The members without a region, whose stream ends with this record.
    pub fn with_end(&self, id: RegionId, last: Sequence) -> Result<Membership, MembershipError> {
        let mut members = self.without(id)?;
        members.ends.insert(id, last);
        Ok(members)
    }

    /// The members without these regions, as far as they are members. In a multi-write account each
    /// region stays as [`MemberStatus::Lost`] until the others agree on the end of its stream.
    #[must_use]
    pub fn without_any(&self, gone: &[RegionId]) -> Membership {
        let mut members = self.clone();
        if self.mode.has_region_streams() {
            for id in gone {
                // A region that is no member has no stream to end, so this error is ignored.
                if let Ok(lost) = members.with_leaving(*id, MemberStatus::Lost) {
                    members = lost;
                }
            }
            return members;
        }
        let left = self.all().filter(|region| gone.contains(region));
        members.former.extend(left);
        members.regions.retain(|member| !gone.contains(&member.id));
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_quorums_meet_every_majority() {
        for (count, majority, recovery_quorum) in
            [(1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 3, 3), (5, 3, 3)]
        {
            let members = Membership::new((0..count).map(|id| (RegionId(id), "r")));
            assert_eq!(
                (members.majority(), members.recovery_quorum()),
                (majority, recovery_quorum)
            );
            assert!(majority + recovery_quorum > usize::from(count));
        }
    }

    #[test]
    fn learners_do_not_count() {
        let members = Membership::new([(RegionId(0), "a")]);
        let members = members.with_learner(RegionId(1), "b").unwrap();
        assert_eq!((members.majority(), members.rank(RegionId(1))), (1, None));
        let members = members.with_voter(RegionId(1)).unwrap();
        assert_eq!(
            (members.majority(), members.rank(RegionId(1))),
            (2, Some(1))
        );
        let again = members.with_learner(RegionId(1), "b");
        assert_eq!(again, Err(MembershipError::AlreadyMember(RegionId(1))));
        assert_eq!(members.without(RegionId(1)).unwrap().majority(), 1);
    }

    #[test]
    fn where_every_region_writes_one_leaves_when_its_stream_ends() {
        let regions = [(RegionId(0), "a"), (RegionId(1), "b"), (RegionId(2), "c")];
        let mut members = Membership::new(regions);
        assert_eq!(members.without_any(&[RegionId(2)]).all().count(), 2);
        members.mode = AccountMode::EveryRegionWrites;
        let lost = members.without_any(&[RegionId(2)]);
        let leaving = members.with_leaving(RegionId(2), MemberStatus::Leaving);
        for left in [lost, leaving.unwrap()] {
            assert_eq!((left.all().count(), left.voters().count()), (3, 2));
            let ended = left.with_end(RegionId(2), Sequence(7)).unwrap();
            assert_eq!(
                (ended.all().count(), ended.ends[&RegionId(2)]),
                (2, Sequence(7))
            );
            let again = ended.with_learner(RegionId(2), "c").unwrap();
            assert_eq!(again.ends[&RegionId(2)], Sequence(7));
            let gone = again.with_leaving(RegionId(2), MemberStatus::Lost).unwrap();
            assert_eq!(gone.all().count(), 2);
        }
    }
}
