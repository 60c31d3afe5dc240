//! How many request units one run may use: what its physical partition is given in the time that a
//! run may take. Operations beyond that are not accepted, and the run ends in order.

use orrery_model::{Charge, ContainerAddress, Failure, Throughput, limits};
use orrery_partition::Container;

use crate::catalogue::Catalogue;

pub(super) fn allowance(catalogue: &Catalogue, container: &Container) -> Result<Charge, Failure> {
    let (database, entry) = catalogue.container(ContainerAddress::Rid(container.rid))?;
    let offer = entry.offer.or(database.database.offer);
    let throughput = match offer {
        Some(rid) => catalogue.offer(rid)?.throughput,
        None => Throughput::Manual(limits::MANUAL_RUS_MIN),
    };
    let partitions = container.partitions.len().max(1) as f64;
    let seconds = limits::EXECUTION_SECONDS_MAX as f64;
    let units = f64::from(throughput.max()) / partitions * seconds;
    Ok(Charge::from_units(units))
}
