//! Who belongs to the account, in the order in which regions take over.

use std::collections::BTreeMap;

use crate::{RegionId, Sequence};

/// The regions of an account by priority: the first that is able to writes, or is the hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    pub regions: Vec<Member>,
    /// Regions that left and may not know it yet: they may still be answering reads.
    pub former: Vec<RegionId>,
    /// Whether every member writes items in a stream of its own.
    pub multi_write: bool,
    /// Whether of each key one member alone takes the writes all the same: the write region, or
    /// whoever it was moved to. Only where each has a stream of its own.
    pub per_partition: bool,
    /// Where every member writes: the last records of regions that left. One that was added again goes
    /// on after its own.
    pub ends: BTreeMap<RegionId, Sequence>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub id: RegionId,
    pub name: String,
    pub standing: Standing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Copies and follows; is not listed, does not vote, and nothing waits for it.
    Learner,
    Full,
    /// Where every member writes: writes no more, and leaves when the others have what it wrote.
    Leaving,
    /// Where every member writes: leaves without being asked, when the others agree what they have of it.
    Lost,
}

/// Why members cannot be changed as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    #[error("region {0} is a member already")]
    Known(RegionId),
    #[error("region {0} is not a member")]
    Unknown(RegionId),
    #[error("region {0} writes; hand over to another region first")]
    Writes(RegionId),
    #[error(
        "the change before this one is not committed yet, or the write region is being changed"
    )]
    Unsettled,
    #[error("region {0} has not caught up yet")]
    Behind(RegionId),
}

impl Membership {
    /// Members in full standing, in order of priority.
    pub fn new<'a>(regions: impl IntoIterator<Item = (RegionId, &'a str)>) -> Membership {
        let member = |(id, name): (RegionId, &str)| Member {
            id,
            name: name.to_owned(),
            standing: Standing::Full,
        };
        Membership {
            regions: regions.into_iter().map(member).collect(),
            former: Vec::new(),
            multi_write: false,
            per_partition: false,
            ends: BTreeMap::new(),
        }
    }

    pub fn get(&self, region: RegionId) -> Option<&Member> {
        self.regions.iter().find(|member| member.id == region)
    }

    pub fn is_full(&self, region: RegionId) -> bool {
        self.full().any(|member| member == region)
    }

    /// Those that vote, are listed and are waited for.
    pub fn full(&self) -> impl Iterator<Item = RegionId> + '_ {
        self.regions
            .iter()
            .filter(|member| member.standing == Standing::Full)
            .map(|member| member.id)
    }

    /// Those whose writes may still be on their way, where every member writes.
    pub fn writers(&self) -> impl Iterator<Item = RegionId> + '_ {
        let regions = self.regions.iter();
        let writers = regions.filter(|member| member.standing != Standing::Learner);
        writers.map(|member| member.id)
    }

    pub fn all(&self) -> impl Iterator<Item = RegionId> + '_ {
        self.regions.iter().map(|member| member.id)
    }

    pub fn majority(&self) -> usize {
        self.full().count() / 2 + 1
    }

    /// How many regions know everything that could have been committed: a majority, or either of
    /// two, since with two everything is committed by both.
    ///
    /// With four, two would meet every majority of the four, but not every majority of the three
    /// that may be left by a removal which these two have not heard of.
    pub fn witnesses(&self) -> usize {
        match self.full().count() {
            2 => 1,
            _ => self.majority(),
        }
    }

    /// The place in the order of priority among those that vote.
    pub fn rank(&self, region: RegionId) -> Option<usize> {
        self.full().position(|member| member == region)
    }

    /// With a new region that copies.
    pub fn with_learner(&self, id: RegionId, name: &str) -> Result<Membership, MembershipError> {
        if self.get(id).is_some() {
            return Err(MembershipError::Known(id));
        }
        let mut members = self.clone();
        members.former.retain(|region| *region != id);
        members.regions.push(Member {
            id,
            name: name.to_owned(),
            standing: Standing::Learner,
        });
        Ok(members)
    }

    /// With a region that has copied in full standing.
    pub fn with_full(&self, id: RegionId) -> Result<Membership, MembershipError> {
        let mut members = self.clone();
        let found = members.regions.iter_mut().find(|member| member.id == id);
        found.ok_or(MembershipError::Unknown(id))?.standing = Standing::Full;
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

    /// With a region that is on its way out: [`Standing::Leaving`] or [`Standing::Lost`]. A region that
    /// has only copied leaves at once, it wrote nothing.
    pub fn with_leaving(&self, id: RegionId, how: Standing) -> Result<Membership, MembershipError> {
        let mut members = self.clone();
        let found = members.regions.iter_mut().find(|member| member.id == id);
        let member = found.ok_or(MembershipError::Unknown(id))?;
        if member.standing == Standing::Learner {
            return self.without(id);
        }
        member.standing = how;
        Ok(members)
    }

    /// Without a region whose stream ends with this record.
    pub fn with_end(&self, id: RegionId, last: Sequence) -> Result<Membership, MembershipError> {
        let mut members = self.without(id)?;
        members.ends.insert(id, last);
        Ok(members)
    }

    /// Without these regions, as far as they are members; where every member writes, as soon as it is
    /// known where their streams end.
    #[must_use]
    pub fn without_any(&self, gone: &[RegionId]) -> Membership {
        let mut members = self.clone();
        if self.multi_write {
            for id in gone {
                // Who is no member is not there already.
                if let Ok(lost) = members.with_leaving(*id, Standing::Lost) {
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
    fn witnesses_meet_every_majority() {
        for (count, majority, witnesses) in [(1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 3, 3), (5, 3, 3)]
        {
            let members = Membership::new((0..count).map(|id| (RegionId(id), "r")));
            assert_eq!(
                (members.majority(), members.witnesses()),
                (majority, witnesses)
            );
            assert!(majority + witnesses > usize::from(count));
        }
    }

    #[test]
    fn learners_do_not_count() {
        let members = Membership::new([(RegionId(0), "a")]);
        let members = members.with_learner(RegionId(1), "b").unwrap();
        assert_eq!((members.majority(), members.rank(RegionId(1))), (1, None));
        let members = members.with_full(RegionId(1)).unwrap();
        assert_eq!(
            (members.majority(), members.rank(RegionId(1))),
            (2, Some(1))
        );
        let again = members.with_learner(RegionId(1), "b");
        assert_eq!(again, Err(MembershipError::Known(RegionId(1))));
        assert_eq!(members.without(RegionId(1)).unwrap().majority(), 1);
    }

    #[test]
    fn where_every_region_writes_one_leaves_when_its_stream_ends() {
        let regions = [(RegionId(0), "a"), (RegionId(1), "b"), (RegionId(2), "c")];
        let mut members = Membership::new(regions);
        assert_eq!(members.without_any(&[RegionId(2)]).all().count(), 2);
        members.multi_write = true;
        let lost = members.without_any(&[RegionId(2)]);
        let leaving = members.with_leaving(RegionId(2), Standing::Leaving);
        for left in [lost, leaving.unwrap()] {
            assert_eq!((left.all().count(), left.full().count()), (3, 2));
            let ended = left.with_end(RegionId(2), Sequence(7)).unwrap();
            assert_eq!(
                (ended.all().count(), ended.ends[&RegionId(2)]),
                (2, Sequence(7))
            );
            let again = ended.with_learner(RegionId(2), "c").unwrap();
            assert_eq!(again.ends[&RegionId(2)], Sequence(7));
            let gone = again.with_leaving(RegionId(2), Standing::Lost).unwrap();
            assert_eq!(gone.all().count(), 2);
        }
    }
}
