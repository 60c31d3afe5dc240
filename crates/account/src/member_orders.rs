//! Orders that add regions to the account or remove them while the account is in use.
//!
//! In an account with one write region, a removal is one record. In a multi-write account, a region
//! that leaves has a stream of its own, which must end first: see `driver/every_region/members.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_regions::{
    MemberStatus, MembershipError, Millis, RegionId, Replica, Sequence, StreamRecord,
};
use tokio::time::sleep;

use crate::account::{LocalRegion, read_region_metadata};
use crate::link::Links;
use crate::orders::LOOK_AGAIN;
use crate::{Account, ControlError, Region, RegionOptions};

const MEMBERS_PATIENCE: Duration = Duration::from_secs(15);
/// For a new region to copy the whole state.
const COPY_PATIENCE: Duration = Duration::from_hours(1);

impl Account {
    /// Adds a region to this process: the region copies the state, then the account lists it.
    /// Returns when the region is a voter, and in a multi-write account when it writes.
    pub async fn add(&self, options: RegionOptions) -> Result<Arc<Region>, ControlError> {
        let local = match self.local(&options.name) {
            Some(local) => local,
            None => self.open_added(options)?,
        };
        let (id, name) = (local.shared.me, local.region.name().to_owned());
        if self.writer()?.shared.members().is_voter(id) {
            return Err(ControlError::Refused(format!(
                "region '{name}' is a member already"
            )));
        }
        self.add_member(id, &name).await?;
        if self.mode.has_region_streams() {
            let begun = Instant::now();
            while local.region.check_write().is_err() {
                if begun.elapsed() > MEMBERS_PATIENCE {
                    return Err(ControlError::Failed(format!(
                        "region '{name}' is a member, but writes only when it has heard of every other one; see \
                         which of them can be reached, and remove those that are lost"
                    )));
                }
                sleep(LOOK_AGAIN).await;
            }
        }
        Ok(Arc::clone(&local.region))
    }

    /// Opens a region that is no member, with an id that no region of the account has had.
    fn open_added(&self, options: RegionOptions) -> Result<Arc<LocalRegion>, ControlError> {
        let failed = |error: &dyn std::error::Error| ControlError::Failed(error.to_string());
        let metadata = read_region_metadata(&options).map_err(|error| failed(&error))?;
        let id = metadata.map_or_else(|| self.next_number(), |metadata| Ok(metadata.id))?;
        self.open(options, id, metadata, None, Links::new(id))
            .map_err(|error| failed(&error))
    }

    /// Adds a region that runs in a process of its own and joins through a link with this process.
    /// Returns when the region is a voter.
    pub async fn add_peer(&self, name: &str) -> Result<(), ControlError> {
        let id = self.number_of_peer(name)?;
        self.add_member(id, name).await
    }

    /// The id of a region in another process: its earlier id if it was a member before.
    fn number_of_peer(&self, name: &str) -> Result<RegionId, ControlError> {
        let writer = self.writer()?;
        let known = writer.shared.members();
        let mut regions = known.regions.iter();
        let member = regions.find(|member| member.name == name);
        let known = member.map(|member| member.id);
        let known = known.or_else(|| writer.links.number(name));
        known.map_or_else(|| self.next_number(), Ok)
    }

    async fn add_member(&self, id: RegionId, name: &str) -> Result<(), ControlError> {
        let known = self.writer()?.shared.members();
        match known.get(id).map(|member| member.status) {
            None => {
                self.change_members(MEMBERS_PATIENCE, |replica, now| {
                    replica.add_region(now, id, name)
                })
                .await?;
            }
            Some(MemberStatus::Learner | MemberStatus::Voter) => {}
            Some(MemberStatus::Leaving | MemberStatus::Lost) => {
                return Err(ControlError::Refused(format!(
                    "region '{name}' is leaving; it can be added again when it has left"
                )));
            }
        }
        if self.mode.has_region_streams() {
            self.wait_until(COPY_PATIENCE, |local| {
                local.shared.lock().copied.contains(&id)
            })
            .await?;
        }
        self.change_members(COPY_PATIENCE, |replica, now| replica.admit_region(now, id))
            .await
    }

    /// A fresh region id, which the account has never used.
    fn next_number(&self) -> Result<RegionId, ControlError> {
        let members = self.writer()?.shared.members();
        let known = members.all().chain(members.former.iter().copied());
        let here = self.locals().into_iter().map(|local| local.shared.me);
        let newest = known.chain(here).map(|RegionId(id)| id).max();
        let next = newest.map_or(Some(0), |id| id.checked_add(1));
        next.map(RegionId).ok_or_else(|| {
            ControlError::Refused("an account has no more than 256 regions in its life".to_owned())
        })
    }

    pub(crate) async fn remove(&self, region: &str, forced: bool) -> Result<(), ControlError> {
        let id = self.id(region)?;
        if self.mode.has_region_streams() {
            return self.let_leave(region, id, forced).await;
        }
        self.change_members(MEMBERS_PATIENCE, |replica, now| {
            replica.remove_region(now, id)
        })
        .await
    }

    /// Multi-write accounts: removes a region with its whole stream, or with the part of the stream
    /// that the other regions have.
    async fn let_leave(
        &self,
        region: &str,
        id: RegionId,
        forced: bool,
    ) -> Result<(), ControlError> {
        let writer = self.writer()?;
        if writer.shared.me == id {
            return Err(ControlError::Refused(format!(
                "region '{region}' is the hub: fail over to another region first"
            )));
        }
        let is_down = self
            .local(region)
            .is_some_and(|local| local.shared.is_down());
        if is_down && !forced {
            return Err(ControlError::Refused(format!(
                "region '{region}' is down and cannot bring the others what only it has: bring it up, or remove it \
                 by force"
            )));
        }
        let how = if forced {
            MemberStatus::Lost
        } else {
            MemberStatus::Leaving
        };
        let standing = writer.shared.members().get(id).map(|member| member.status);
        if standing != Some(how) {
            self.change_members(MEMBERS_PATIENCE, |replica, now| {
                replica.let_region_leave(now, id, how)
            })
            .await?;
        }
        let has_left = |local: &LocalRegion| {
            let members = local.shared.lock().replica.metadata().members;
            members.get(id).is_none()
        };
        let left = self.wait_until(MEMBERS_PATIENCE, has_left).await;
        left.map_err(|error| match error {
            ControlError::Failed(_) if forced => ControlError::Failed(format!(
                "region '{region}' leaves when all others have been heard of and agree where its writes end; see \
                 which of them can be reached, and remove by force those that are lost too"
            )),
            ControlError::Failed(_) => ControlError::Failed(format!(
                "region '{region}' takes no more writes and leaves when all others have what it wrote; if it cannot \
                 be reached any more, remove it by force"
            )),
            other => other,
        })
    }

    /// Waits until a condition is true in the write region.
    async fn wait_until(
        &self,
        patience: Duration,
        holds: impl Fn(&LocalRegion) -> bool,
    ) -> Result<(), ControlError> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if holds(&*self.writer()?) {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
        Err(disagreed())
    }

    /// Changes the members in the write region, and waits until the change is committed.
    async fn change_members(
        &self,
        patience: Duration,
        change: impl Fn(&mut Replica, Millis) -> Result<StreamRecord, MembershipError>,
    ) -> Result<(), ControlError> {
        let begun = Instant::now();
        let mut noted = None;
        while begun.elapsed() < patience {
            // The write region is looked up again in each round, because it may change while the
            // order waits.
            let writer = self.writer()?;
            if let Some(sequence) = noted {
                if writer.shared.lock().replica.commit() >= sequence {
                    return Ok(());
                }
            } else {
                noted = writer.change_members(&change)?;
            }
            sleep(LOOK_AGAIN).await;
        }
        Err(disagreed())
    }
}

impl LocalRegion {
    /// Changes the members, and returns the record of the change; none if the change must wait.
    fn change_members(
        &self,
        change: impl Fn(&mut Replica, Millis) -> Result<StreamRecord, MembershipError>,
    ) -> Result<Option<Sequence>, ControlError> {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        let record = match change(&mut core.replica, now) {
            Ok(record) => record,
            // The earlier change may be committed, or the copy complete, a moment later.
            Err(MembershipError::ChangeInProgress | MembershipError::Behind(_)) => return Ok(None),
            Err(error) => return Err(ControlError::Refused(error.to_string())),
        };
        let sequence = record.sequence;
        core.queue(record);
        drop(core);
        self.shared.wake();
        Ok(Some(sequence))
    }
}

fn disagreed() -> ControlError {
    ControlError::Failed(
        "the regions did not agree on the change in time; see which of them can be reached"
            .to_owned(),
    )
}
