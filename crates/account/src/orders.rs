//! Carrying out an operator's order. Each order returns when its result is true in the account, not
//! when the order has been passed on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::ReplicationRole;
use orrery_regions::{AccountMode, Epoch, Force, MemberStatus, RegionId, Sequence};
use tokio::time::sleep;

use crate::account::LocalRegion;
use crate::control::LinkLag;
use crate::partition_orders::partition_reports;
use crate::{
    Account, AccountReport, ControlError, LinkOrder, LinkReport, OperatorOrder, RegionReport,
    RegionState,
};

pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a region may take to catch up before the old write region resumes its writes.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(30);
const FORCE_PATIENCE: Duration = Duration::from_secs(15);
const FORCE_AGAIN: Duration = Duration::from_secs(1);

/// Names every region in a link order.
const EVERY: &str = "*";

impl Account {
    /// Carries out an order, and returns when it is complete (a failover: when the other region
    /// writes).
    pub async fn carry_out(&self, order: OperatorOrder) -> Result<(), ControlError> {
        match order {
            OperatorOrder::Failover {
                to,
                forced: false,
                offline,
                ..
            } if offline.is_empty() => self.hand_over(&to).await,
            OperatorOrder::Failover {
                to,
                accepts_loss,
                offline,
                ..
            } => self.force(&to, accepts_loss, &offline).await,
            OperatorOrder::Remove { region, forced } => self.remove(&region, forced).await,
            OperatorOrder::TakeDown { region } => {
                self.here(&region)?.shared.set_down(true);
                Ok(())
            }
            OperatorOrder::BringUp { region } => self.here(&region)?.bring_up(),
            OperatorOrder::MovePartition {
                to,
                partition,
                forced,
            } => self.move_partition(&to, &partition, forced).await,
            OperatorOrder::TakeDownPartition { region, partition } => {
                self.set_partition(&region, &partition, false).await
            }
            OperatorOrder::BringUpPartition { region, partition } => {
                self.set_partition(&region, &partition, true).await
            }
            OperatorOrder::Link { from, to, order } => self.shape(&from, &to, order),
        }
    }

    /// Hands the writes over to another region, without loss.
    async fn hand_over(&self, to: &str) -> Result<(), ControlError> {
        let id = self.id(to)?;
        let writer = self.writer()?;
        if writer.shared.me == id {
            return Ok(());
        }
        let now = writer.shared.now();
        // From here on the write region takes no writes. The timeout below must cancel the
        // hand-over, or the account would stay without a writer.
        let asked = writer.shared.lock().replica.hand_over(now, id);
        asked.map_err(|error| ControlError::Refused(error.to_string()))?;
        writer.shared.wake();
        let target = self.local(to);
        let begun = Instant::now();
        while begun.elapsed() < HAND_OVER_PATIENCE {
            let is_done = match &target {
                Some(target) => writes(target),
                None => writer.shared.lock().replica.write_region() == Some(id),
            };
            if is_done {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
        writer.shared.lock().replica.cancel_hand_over();
        Err(ControlError::Failed(format!(
            "region '{to}' did not catch up within {} s; writes go on in '{}'. Is the link paused or cut? A \
             forced failover does not wait for it",
            HAND_OVER_PATIENCE.as_secs(),
            writer.region.name(),
        )))
    }

    /// Promotes a region without the consent of the write region.
    async fn force(
        &self,
        to: &str,
        accepts_loss: bool,
        offline: &[String],
    ) -> Result<(), ControlError> {
        let target = self.here(to)?;
        let mut force = Force {
            offline: Vec::new(),
            accepts_loss,
        };
        for region in offline {
            force.offline.push(self.id(region)?);
        }
        let begun = Instant::now();
        let mut forced: Option<Instant> = None;
        let before = target.shared.lock().replica.epoch();
        while begun.elapsed() < FORCE_PATIENCE {
            let is_new = target.writes_after(before);
            if is_new && writes(&target) {
                return Ok(());
            }
            if !is_new && forced.is_none_or(|at| at.elapsed() >= FORCE_AGAIN) {
                forced = Some(Instant::now());
                let now = target.shared.now();
                let asked = target.shared.lock().replica.promote_by_force(now, &force);
                asked.map_err(|error| ControlError::Refused(error.to_string()))?;
                target.shared.wake();
            }
            sleep(LOOK_AGAIN).await;
        }
        // The promotion must not succeed after the operator has received an error.
        target.shared.lock().replica.give_up(target.shared.now());
        target.shared.wake();
        Err(ControlError::Failed(format!(
            "region '{to}' did not get the votes it needs: at this consistency level a majority of the regions \
             must be reached and have no more than it has. Name the regions that are lost as offline, or \
             accept that acknowledged writes may be missing"
        )))
    }

    fn shape(&self, from: &str, to: &str, order: LinkOrder) -> Result<(), ControlError> {
        if from != EVERY {
            self.here(from)?;
        }
        if to != EVERY {
            self.id(to)?;
        }
        for local in self.locals() {
            if from != EVERY && local.region.name() != from {
                continue;
            }
            for (id, name) in self.names() {
                if to != EVERY && name != to {
                    continue;
                }
                let Some(shape) = local.links.link(id) else {
                    continue;
                };
                match order {
                    LinkOrder::Pause => shape.pause(),
                    LinkOrder::Resume => shape.resume(),
                    LinkOrder::Cut => shape.cut(),
                    LinkOrder::Delay(delay) => shape.delay(delay),
                    LinkOrder::Step(records) => shape.step(records),
                }
            }
        }
        Ok(())
    }

    /// The state of the account, as the write region of this process sees it, or else another
    /// region of this process.
    pub fn report(&self) -> AccountReport {
        let locals = self.locals();
        let is_up = |local: &&Arc<LocalRegion>| !local.shared.is_down();
        let writer = locals
            .iter()
            .filter(is_up)
            .find(|local| local.shared.lock().replica.is_write_region());
        let view = writer.or_else(|| locals.iter().find(is_up));
        let Some(view) = view.or_else(|| locals.first()) else {
            return AccountReport::default();
        };
        let now = view.shared.now();
        let (members, write_region, epoch, last, lags) = {
            // The values are read under one lock, so that epoch, members and lags belong together.
            let core = view.shared.lock();
            let replica = &core.replica;
            (
                replica.members().clone(),
                replica.write_region(),
                replica.epoch(),
                replica.last(),
                replica.lags(now),
            )
        };
        let is_everywhere = members.mode == AccountMode::EveryRegionWrites;
        let name_of = |id: RegionId| members.get(id).map(|member| member.name.clone());
        let mut names = self.names();
        for member in &members.regions {
            if !names.iter().any(|(id, _)| *id == member.id) {
                names.push((member.id, member.name.clone()));
            }
        }
        let regions = names.iter().map(|(id, name)| {
            let standing = members.get(*id).map(|member| member.status);
            let local = self.local(name);
            let cause = match &local {
                Some(local) => local.cause(),
                None => self.endpoints.problem(name),
            };
            let state = match standing {
                _ if cause.is_some() => RegionState::Broken,
                _ if local.as_ref().is_some_and(|local| local.shared.is_down()) => {
                    RegionState::Down
                }
                None => RegionState::Removed,
                Some(MemberStatus::Learner) => RegionState::Joining,
                Some(MemberStatus::Leaving | MemberStatus::Lost) => RegionState::Leaving,
                Some(MemberStatus::Voter) if is_everywhere || write_region == Some(*id) => {
                    RegionState::Write
                }
                Some(MemberStatus::Voter) => RegionState::Read,
            };
            let endpoint = self.endpoints.get(name);
            let Some(local) = local else {
                let lag = lags.iter().find(|(other, _)| other == id);
                let lag = lag.map(|(_, lag)| (lag.records, lag.millis));
                return report_of_another(name, (state, cause), endpoint, last, lag);
            };
            report_of(name, (state, cause), endpoint, &local)
        });
        let regions = regions.collect();
        let mut links = Vec::new();
        for local in &locals {
            for (to, name) in &names {
                let Some(shape) = local.links.link(*to) else {
                    continue;
                };
                let shape = shape.report();
                let is_writer = write_region == Some(local.shared.me);
                let lag = lags.iter().find(|(id, _)| is_writer && id == to);
                let behind = lag.map(|(_, lag)| LinkLag {
                    records: lag.records,
                    bytes: lag.bytes,
                    millis: lag.millis,
                });
                let behind = if members.mode.has_region_streams() {
                    local.lack_of(*to)
                } else {
                    behind
                };
                links.push(LinkReport {
                    from: local.region.name().to_owned(),
                    to: name.clone(),
                    delay: shape.delay,
                    is_paused: shape.is_paused,
                    is_cut: shape.is_cut,
                    behind,
                });
            }
        }
        AccountReport {
            write_region: write_region.and_then(name_of),
            multi_write: is_everywhere,
            per_partition_failover: members.mode == AccountMode::ByOwner,
            epoch: epoch.to_string(),
            regions,
            links,
            partitions: partition_reports(view),
        }
    }

    /// The regions that this process knows, with their ids.
    fn names(&self) -> Vec<(RegionId, String)> {
        let mut names: Vec<(RegionId, String)> = Vec::new();
        for local in self.locals() {
            names.push((local.shared.me, local.region.name().to_owned()));
        }
        for local in self.locals() {
            for member in local.shared.members().regions {
                if !names.iter().any(|(id, _)| *id == member.id) {
                    names.push((member.id, member.name));
                }
            }
        }
        names
    }

    pub(crate) fn id(&self, region: &str) -> Result<RegionId, ControlError> {
        let names = self.names();
        let found = names.iter().find(|(_, name)| name == region);
        found.map(|(id, _)| *id).ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|(_, name)| &name[..]).collect();
            ControlError::UnknownRegion(region.to_owned(), names.join(", "))
        })
    }

    /// A region that this process serves.
    pub(crate) fn here(&self, region: &str) -> Result<Arc<LocalRegion>, ControlError> {
        self.id(region)?;
        self.local(region).ok_or_else(|| self.elsewhere(region))
    }

    fn elsewhere(&self, region: &str) -> ControlError {
        let endpoint = self.endpoints.get(region);
        let place = endpoint.map_or_else(
            || "which has not said yet where it is".to_owned(),
            |endpoint| format!("which serves clients at {endpoint}"),
        );
        ControlError::Elsewhere(region.to_owned(), place)
    }

    /// The write region, if this process serves it and it is not down.
    pub(crate) fn writer(&self) -> Result<Arc<LocalRegion>, ControlError> {
        let mut locals = self.locals().into_iter();
        let writes = |local: &Arc<LocalRegion>| {
            !local.shared.is_down() && local.shared.lock().replica.is_write_region()
        };
        if let Some(local) = locals.find(writes) {
            return Ok(local);
        }
        let named = self.report().write_region;
        Err(named.filter(|name| self.local(name).is_none()).map_or_else(
            || {
                let text =
                    "the write region is down or not known: fail over to another region first";
                ControlError::Refused(text.to_owned())
            },
            |name| self.elsewhere(&name),
        ))
    }
}

impl LocalRegion {
    /// The records of this region's stream that another region lacks, in a multi-write account.
    fn lack_of(&self, region: RegionId) -> Option<LinkLag> {
        let core = self.shared.lock();
        let (_, records) = core.lags.iter().find(|(id, _)| *id == region)?;
        Some(LinkLag {
            records: *records,
            bytes: 0,
            millis: 0,
        })
    }

    /// The failure that stopped this region's replication.
    fn cause(&self) -> Option<String> {
        self.shared.lock().broken.clone()
    }

    /// A region that stopped after a failure may have broken a promise to the other regions, so it
    /// must not resume with its current state.
    fn bring_up(&self) -> Result<(), ControlError> {
        if let Some(cause) = self.cause().filter(|_| self.shared.is_down()) {
            return Err(ControlError::Refused(format!(
                "region '{}' broke down and comes back with its process only, when this is mended: {cause}",
                self.region.name()
            )));
        }
        self.shared.set_down(false);
        Ok(())
    }

    fn writes_after(&self, epoch: Epoch) -> bool {
        let core = self.shared.lock();
        core.replica.epoch() > epoch && core.replica.is_write_region()
    }
}

fn writes(local: &LocalRegion) -> bool {
    local.shared.lock().replica.is_write_region()
        && local.region.engine().role() == ReplicationRole::Writer
}

fn report_of(
    name: &str,
    (state, cause): (RegionState, Option<String>),
    endpoint: Option<String>,
    local: &LocalRegion,
) -> RegionReport {
    let now = local.shared.now();
    let core = local.shared.lock();
    let (appended, applied) = (core.replica.last().0, core.replica.metadata().sequence.0);
    let (committed, own_lag) = (core.replica.commit().0, core.replica.own_lag(now));
    drop(core);
    let false_progress = local.diverged_suffix.lock();
    let false_progress = false_progress.unwrap_or_else(std::sync::PoisonError::into_inner);
    RegionReport {
        name: name.to_owned(),
        endpoint,
        state,
        cause,
        appended: Some(appended),
        applied: Some(applied),
        committed: Some(committed),
        own_lag,
        diverged_records: Some(false_progress.count()),
    }
}

/// The report on a region of another process, from the position that the write region has heard.
fn report_of_another(
    name: &str,
    (state, cause): (RegionState, Option<String>),
    endpoint: Option<String>,
    last: Sequence,
    lag: Option<(u64, u64)>,
) -> RegionReport {
    RegionReport {
        name: name.to_owned(),
        endpoint,
        state,
        cause,
        appended: None,
        applied: lag.map(|(records, _)| last.0.saturating_sub(records)),
        committed: None,
        own_lag: lag,
        diverged_records: None,
    }
}
