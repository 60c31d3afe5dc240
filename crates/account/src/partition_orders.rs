//! Orders about single partitions, and the reports about those partitions for operators.

use std::sync::Arc;
use std::time::{Duration, Instant};

use orrery_engine::{Container, KeyRange};
use orrery_model::{ContainerAddress, RangeId};
use orrery_regions::{RegionId, Sequence};
use tokio::time::{sleep, timeout};

use crate::account::LocalRegion;
use crate::codec::encode_move;
use crate::driver::propose;
use crate::partitions::{FailoverBoard, RangeMove};
use crate::{Account, ControlError, PartitionAddress, PartitionReport};

const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a region may take to catch up before a partition returns to its old owner.
const MOVE_PATIENCE: Duration = Duration::from_secs(30);
/// For the other regions to learn that a partition goes down.
const ANNOUNCED: Duration = Duration::from_millis(100);
/// For a majority to make a record of the account stream durable.
const RECORD_PATIENCE: Duration = Duration::from_secs(10);

impl Account {
    /// Makes another region the owner of a partition, and returns when that region takes its
    /// writes. No write is lost: the new owner begins only when it has applied every write of the
    /// old owner. With `forced` the order also moves a partition whose owner is silent; the old
    /// owner's remaining writes are merged when it returns.
    pub(crate) async fn move_partition(
        &self,
        to: &str,
        partition: &PartitionAddress,
        forced: bool,
    ) -> Result<(), ControlError> {
        let target = self.id(to)?;
        let hub = self.writer()?;
        let board = board_of(&hub)?;
        let keys = keys_of(&hub, partition)?;
        let members = hub.shared.members();
        let status = board.status();
        let moved = status.moved.iter().rev();
        let moved = moved.filter(|moved| moved.keys.contains(keys.container, &keys.min));
        let owner = moved
            .map(|moved| moved.owner)
            .next()
            .unwrap_or(hub.shared.me);
        let refused = |text: String| Err(ControlError::Refused(text));
        if !members.is_voter(target) {
            return refused(format!("region '{to}' is not a member in full standing"));
        }
        let is_down = status.down.get(&target);
        if is_down.is_some_and(|down| down.iter().any(|down| down.overlaps(&keys))) {
            return refused(format!("partition {partition} is down in region '{to}'"));
        }
        if owner == target {
            return Ok(());
        }
        if status.silent.contains(&owner) && !forced {
            let name = members.get(owner).map_or("?", |member| &member.name);
            return refused(format!(
                "region '{name}', which takes the writes of partition {partition}, is silent, and others may not \
                 have all of them. A forced failover does not wait for it"
            ));
        }
        let since = write_move(&hub, &keys, target).await?;
        let begun = Instant::now();
        while begun.elapsed() < MOVE_PATIENCE {
            let opened = board.status().opened;
            if opened.get(&target).is_some_and(|opened| *opened >= since) {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
        // The old owner gets the partition back with another record: the first record is committed
        // and cannot be withdrawn.
        write_move(&hub, &keys, owner).await?;
        Err(ControlError::Failed(format!(
            "region '{to}' did not catch up within {} s; the writes of partition {partition} go on where they \
             were. Is a link paused or cut?",
            MOVE_PATIENCE.as_secs(),
        )))
    }

    /// Takes a partition down in one region, or brings it up again.
    pub(crate) async fn set_partition(
        &self,
        region: &str,
        partition: &PartitionAddress,
        is_up: bool,
    ) -> Result<(), ControlError> {
        let local = self.here(region)?;
        let board = board_of(&local)?;
        let keys = keys_of(&local, partition)?;
        if is_up {
            board.bring_up(&keys);
        } else {
            // A client that gets a refusal retries in another region at once. The other regions
            // learn of the outage first, so that the retry waits there instead of being refused
            // again.
            board.announce(&keys);
            local.shared.wake();
            sleep(ANNOUNCED).await;
            board.take_down(&keys);
        }
        local.shared.wake();
        let begun = Instant::now();
        let is_seen = || {
            let status = board.status();
            let down = status.down.get(&local.shared.me);
            down.is_some_and(|down| down.iter().any(|down| down.overlaps(&keys))) != is_up
        };
        while !local.shared.is_down() && !is_seen() && begun.elapsed() < RECORD_PATIENCE {
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }
}

/// Partitions with another owner than the write region, and partitions that are down in some
/// region.
pub(crate) fn partition_reports(view: &LocalRegion) -> Vec<PartitionReport> {
    let Some(board) = &view.board else {
        return Vec::new();
    };
    let (status, members) = (board.status(), view.shared.members());
    let name_of = |id: RegionId| members.get(id).map(|member| member.name.clone());
    let catalogue = view.region.engine().catalogue();
    let mut reports = Vec::new();
    for (database, entry) in &catalogue.databases {
        for (name, container) in &entry.containers {
            let container = &container.container;
            for partition in &container.partitions {
                let keys = KeyRange::of(container, partition);
                let mut moved = status.moved.iter().rev();
                let moved = moved.find(|moved| moved.keys.overlaps(&keys));
                let down = status.down.iter();
                let down = down.filter(|(_, down)| down.iter().any(|down| down.overlaps(&keys)));
                let down: Vec<String> = down.filter_map(|(id, _)| name_of(*id)).collect();
                if moved.is_none() && down.is_empty() {
                    continue;
                }
                reports.push(PartitionReport {
                    address: PartitionAddress {
                        database: database.clone(),
                        container: name.clone(),
                        range: partition.id.0,
                    },
                    owner: moved.and_then(|moved| name_of(moved.owner)),
                    is_automatic: moved.is_some_and(|moved| moved.is_automatic),
                    down,
                });
            }
        }
    }
    reports
}

/// Writes the record that makes a region the owner of keys; returns its sequence when the write
/// region has applied it.
async fn write_move(
    hub: &LocalRegion,
    keys: &KeyRange,
    to: RegionId,
) -> Result<Sequence, ControlError> {
    let range_move = RangeMove {
        keys: keys.clone(),
        owner: (to != hub.shared.me).then_some(to),
        is_automatic: false,
    };
    let failed = |text: String| ControlError::Failed(text);
    let proposed = propose(&hub.shared, encode_move(&range_move));
    let (sequence, applied) = proposed.map_err(|failure| failed(failure.to_string()))?;
    match timeout(RECORD_PATIENCE, applied).await {
        Ok(Ok(_)) => Ok(sequence),
        Ok(Err(_)) | Err(_) => Err(failed(
            "too few regions agreed on it in time, and it may still happen when they are back; see which of them \
             can be reached"
                .to_owned(),
        )),
    }
}

fn board_of(local: &LocalRegion) -> Result<Arc<FailoverBoard>, ControlError> {
    local.board.clone().ok_or_else(|| {
        ControlError::Refused(
            "single partitions fail over only in an account that was started with --per-partition-failover"
                .to_owned(),
        )
    })
}

/// The key range of a partition in a region's catalogue.
fn keys_of(local: &LocalRegion, partition: &PartitionAddress) -> Result<KeyRange, ControlError> {
    let catalogue = local.region.engine().catalogue();
    let address = ContainerAddress::Name {
        database: &partition.database,
        container: &partition.container,
    };
    let unknown = || ControlError::Refused(format!("there is no partition {partition}"));
    let (_, entry) = catalogue.container(address).map_err(|_| unknown())?;
    let container: &Arc<Container> = &entry.container;
    let found = container.partition(RangeId(partition.range));
    let found = found.ok_or_else(unknown)?;
    Ok(KeyRange::of(container, found))
}
