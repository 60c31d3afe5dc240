//! Changing the members of the account: one region at a time, as records of the stream.
//!
//! A membership change takes effect with its record, before the record is committed. The next
//! change waits until a majority of the old members and a majority of the new members have
//! committed this one. A region that is down leaves an account of two members only by force
//! ([`crate::Force`]): only an operator can tell which of the two is down.

use super::Replica;
use crate::{
    MemberStatus, Membership, MembershipError, Millis, RecordBody, RegionId, Sequence, StreamRecord,
};

impl Replica {
    /// Adds a region as a learner, which copies first. The driver appends the record to the log, as
    /// with [`Replica::write`].
    pub fn add_region(
        &mut self,
        now: Millis,
        id: RegionId,
        name: &str,
    ) -> Result<StreamRecord, MembershipError> {
        let members = self.members().with_learner(id, name)?;
        self.set_members(now, members)
    }

    /// Makes a learner that has copied a voter.
    pub fn admit_region(
        &mut self,
        now: Millis,
        id: RegionId,
    ) -> Result<StreamRecord, MembershipError> {
        let members = self.members().with_voter(id)?;
        // A voter that lacks committed records would let a majority form without those records.
        if self
            .durable_at(id)
            .is_none_or(|durable| durable < self.commit())
        {
            return Err(MembershipError::Behind(id));
        }
        self.set_members(now, members)
    }

    pub fn remove_region(
        &mut self,
        now: Millis,
        id: RegionId,
    ) -> Result<StreamRecord, MembershipError> {
        if id == self.me {
            return Err(MembershipError::Writes(id));
        }
        let members = self.members().without(id)?;
        self.set_members(now, members)
    }

    /// Multi-write accounts: begins the removal of a region, planned or lost.
    pub fn let_region_leave(
        &mut self,
        now: Millis,
        id: RegionId,
        how: MemberStatus,
    ) -> Result<StreamRecord, MembershipError> {
        if id == self.me {
            return Err(MembershipError::Writes(id));
        }
        let members = self.members().with_leaving(id, how)?;
        self.set_members(now, members)
    }

    /// Multi-write accounts: completes a removal; the stream of the region ends with this record.
    pub fn end_region(
        &mut self,
        now: Millis,
        id: RegionId,
        last: Sequence,
    ) -> Result<StreamRecord, MembershipError> {
        let members = self.members().with_end(id, last)?;
        self.set_members(now, members)
    }

    fn set_members(
        &mut self,
        now: Millis,
        members: Membership,
    ) -> Result<StreamRecord, MembershipError> {
        if !self.can_change_members() {
            return Err(MembershipError::ChangeInProgress);
        }
        Ok(self.originate(now, RecordBody::Members(members)))
    }

    pub(super) fn can_change_members(&self) -> bool {
        // Two changes in flight at once could have majorities that do not intersect. A change also
        // waits for the first record of the epoch, which settles the changes of the epochs before.
        let first = self.log_summary.lineage().first_of(self.current);
        let settled = first.map(|first| first.max(self.log_summary.members_since()));
        let is_free = self.is_write_region() && !self.is_handing_over();
        is_free && settled.is_some_and(|settled| self.commit >= settled)
    }
}
