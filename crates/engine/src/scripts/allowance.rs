//! How many request units one run may use: what its physical partition is given in the time that a
//! run may take. Operations beyond that are not accepted, and the run ends in order.

use orrery_model::{Charge, ContainerAddress, Failure, limits};
use orrery_partition::Container;

use crate::{Engine, ThroughputMode};

/// None where throughput is not limited.
pub(super) fn allowance(engine: &Engine, container: &Container) -> Result<Option<Charge>, Failure> {
    let partitions = container.partitions.len().max(1) as f64;
    let rate = match engine.throughput_mode() {
        ThroughputMode::Off => return Ok(None),
        ThroughputMode::Serverless => f64::from(limits::SERVERLESS_PARTITION_RUS),
        ThroughputMode::Provisioned => {
            let catalogue = engine.catalogue();
            let (database, entry) = catalogue.container(ContainerAddress::Rid(container.rid))?;
            let offer = entry.offer.or(database.database.offer);
            let provisioned = match offer {
                Some(rid) => catalogue.offer(rid)?.throughput.max(),
                None => limits::MANUAL_RUS_MIN,
            };
            f64::from(provisioned) / partitions
        }
    };
    let seconds = limits::EXECUTION_SECONDS_MAX as f64;
    Ok(Some(Charge::from_units(rate * seconds)))
}
