//! The request units that one run may use: the throughput of its physical partition over the
//! maximal run time. The host refuses further operations then, and the script can end in order.

use orrery_model::{Charge, ContainerAddress, Failure, limits};
use orrery_partition::Container;

use crate::{Engine, ThroughputMode};

/// The limit, or `None` if throughput is not limited.
pub(super) fn charge_limit(
    engine: &Engine,
    container: &Container,
) -> Result<Option<Charge>, Failure> {
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
