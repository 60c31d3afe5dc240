//! Orders about who belongs to the account: regions come and go while it is used.
//!
//! Where one region writes, a removal is one record. Where every region writes, one that leaves has a
//! stream of its own, which must come to its end first: see `driver/mesh_members.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_regions::{
    MembershipError, Millis, RegionId, Replica, Sequence, Standing, StreamRecord,
};
use tokio::time::sleep;

use crate::account::{Local, read_place};
use crate::link::Links;
use crate::orders::LOOK_AGAIN;
use crate::{Account, ControlError, Region, RegionOptions};

const MEMBERS_PATIENCE: Duration = Duration::from_secs(15);
/// For a new region to copy everything.
const COPY_PATIENCE: Duration = Duration::from_hours(1);

impl Account {
    /// Adds a region to this process: it is copied, then listed. Returns when it is a full member, and
    /// writes if every region does.
    pub async fn add(&self, options: RegionOptions) -> Result<Arc<Region>, ControlError> {
        let local = match self.local(&options.name) {
            Some(local) => local,
            None => self.open_added(options)?,
        };
        let (id, name) = (local.shared.me, local.region.name().to_owned());
        if self.writer()?.shared.members().is_full(id) {
            return Err(ControlError::Refused(format!(
                "region '{name}' is a member already"
            )));
        }
        self.add_member(id, &name).await?;
        if self.multi_write {
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

    /// Opens a region that the account does not have, under a number that it never had.
    fn open_added(&self, options: RegionOptions) -> Result<Arc<Local>, ControlError> {
        let failed = |error: &dyn std::error::Error| ControlError::Failed(error.to_string());
        let kept = read_place(&options).map_err(|error| failed(&error))?;
        let id = kept.map_or_else(|| self.next_number(), |kept| Ok(kept.id))?;
        self.open(options, id, kept, None, Links::new(id))
            .map_err(|error| failed(&error))
    }

    /// Adds a region that a process of its own has, which is linked with this one and joins. Returns
    /// when it is a full member.
    pub async fn add_peer(&self, name: &str) -> Result<(), ControlError> {
        let id = self.number_of_peer(name)?;
        self.add_member(id, name).await
    }

    /// The number of a region of another process: the one that it had before, if it was ever there.
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
        match known.get(id).map(|member| member.standing) {
            None => {
                self.change_members(MEMBERS_PATIENCE, |replica, now| {
                    replica.add_region(now, id, name)
                })
                .await?;
            }
            Some(Standing::Learner | Standing::Full) => {}
            Some(Standing::Leaving | Standing::Lost) => {
                return Err(ControlError::Refused(format!(
                    "region '{name}' is leaving; it can be added again when it has left"
                )));
            }
        }
        if self.multi_write {
            self.wait_until(COPY_PATIENCE, |local| {
                local.shared.lock().copied.contains(&id)
            })
            .await?;
        }
        self.change_members(COPY_PATIENCE, |replica, now| replica.admit_region(now, id))
            .await
    }

    /// A number that no region of the account ever had.
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
        if self.multi_write {
            return self.let_leave(region, id, forced).await;
        }
        self.change_members(MEMBERS_PATIENCE, |replica, now| {
            replica.remove_region(now, id)
        })
        .await
    }

    /// Where every region writes: lets one leave, with everything that it wrote, or with what the others
    /// have of it.
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
            Standing::Lost
        } else {
            Standing::Leaving
        };
        let standing = writer
            .shared
            .members()
            .get(id)
            .map(|member| member.standing);
        if standing != Some(how) {
            self.change_members(MEMBERS_PATIENCE, |replica, now| {
                replica.let_region_leave(now, id, how)
            })
            .await?;
        }
        let has_left = |local: &Local| {
            let members = local.shared.lock().replica.head().members;
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

    /// Waits until this holds in the write region.
    async fn wait_until(
        &self,
        patience: Duration,
        holds: impl Fn(&Local) -> bool,
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

    /// Changes the members in the write region, and waits until that is committed.
    async fn change_members(
        &self,
        patience: Duration,
        change: impl Fn(&mut Replica, Millis) -> Result<StreamRecord, MembershipError>,
    ) -> Result<(), ControlError> {
        let begun = Instant::now();
        let mut noted = None;
        while begun.elapsed() < patience {
            let writer = self.writer()?;
            if let Some(sequence) = noted {
                if writer.shared.lock().replica.commit() >= sequence {
                    return Ok(());
                }
            } else {
                noted = writer.change_members(self.multi_write, &change)?;
            }
            sleep(LOOK_AGAIN).await;
        }
        Err(disagreed())
    }
}

impl Local {
    /// Changes the members; none if that must wait. Gives the record that does.
    fn change_members(
        &self,
        multi_write: bool,
        change: impl Fn(&mut Replica, Millis) -> Result<StreamRecord, MembershipError>,
    ) -> Result<Option<Sequence>, ControlError> {
        let now = self.shared.now();
        let mut core = self.shared.lock();
        let record = match change(&mut core.replica, now) {
            Ok(record) => record,
            // It may be settled, or copied, in a moment.
            Err(MembershipError::Unsettled | MembershipError::Behind(_)) => return Ok(None),
            Err(error) => return Err(ControlError::Refused(error.to_string())),
        };
        let sequence = record.sequence;
        if multi_write {
            core.appending.push(record);
            drop(core);
            self.shared.wake();
            return Ok(Some(sequence));
        }
        core.add_note(&record);
        drop(core);
        self.region.engine().append_notes();
        self.shared.moved();
        Ok(Some(sequence))
    }
}

fn disagreed() -> ControlError {
    ControlError::Failed(
        "the regions did not agree on the change in time; see which of them can be reached"
            .to_owned(),
    )
}
