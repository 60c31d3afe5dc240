//! Changing who belongs to the account: one region at a time, as records of the stream.
//!
//! A change holds from its record on, and the next one waits until it is committed, which takes a
//! majority of the members before and of those after. A region that is down leaves an account of
//! two only by force ([`crate::Force`]): who can tell which of the two is down is the operator.

use super::Replica;
use crate::{
    Body, Membership, MembershipError, Millis, RegionId, Sequence, Standing, StreamRecord,
};

impl Replica {
    /// Adds a region that copies first. The record is to be appended to the log, as with
    /// [`Replica::write`].
    pub fn add_region(
        &mut self,
        now: Millis,
        id: RegionId,
        name: &str,
    ) -> Result<StreamRecord, MembershipError> {
        let members = self.members().with_learner(id, name)?;
        self.set_members(now, members)
    }

    /// Lists a region that has been copied.
    pub fn admit_region(
        &mut self,
        now: Millis,
        id: RegionId,
    ) -> Result<StreamRecord, MembershipError> {
        let members = self.members().with_full(id)?;
        if self.kept_by(id).is_none_or(|kept| kept < self.commit()) {
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

    /// Where every member writes: a region begins to leave, as planned or as one that is lost.
    pub fn let_region_leave(
        &mut self,
        now: Millis,
        id: RegionId,
        how: Standing,
    ) -> Result<StreamRecord, MembershipError> {
        if id == self.me {
            return Err(MembershipError::Writes(id));
        }
        let members = self.members().with_leaving(id, how)?;
        self.set_members(now, members)
    }

    /// Where every member writes: a region has left, and its stream ends with this record.
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
            return Err(MembershipError::Unsettled);
        }
        Ok(self.originate(now, Body::Members(members)))
    }

    pub(super) fn can_change_members(&self) -> bool {
        let first = self.ledger.lineage().first_of(self.current);
        let settled = first.map(|first| first.max(self.ledger.members_since()));
        let is_free = self.is_write_region() && !self.is_handing_over();
        is_free && settled.is_some_and(|settled| self.commit >= settled)
    }
}
