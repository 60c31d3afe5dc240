//! Throughput in headers: requested when a database or a container is created, and migrated when an
//! offer is replaced.

use orrery_model::{Failure, Throughput, ThroughputMigration};

/// The throughput headers of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferHeaders {
    pub throughput: Option<Throughput>,
    pub migrate: Option<ThroughputMigration>,
}

impl OfferHeaders {
    pub(crate) fn set_throughput(&mut self, throughput: Throughput) -> Result<(), Failure> {
        // Both headers set the throughput, and no order of headers decides between them.
        if self.throughput.replace(throughput).is_some() {
            return Err(Failure::bad_request(
                "One of the specified inputs is invalid. x-ms-offer-throughput and \
                 x-ms-cosmos-offer-autopilot-settings may not be given together.",
            ));
        }
        Ok(())
    }

    pub(crate) fn set_migration(&mut self, migrate: ThroughputMigration) -> Result<(), Failure> {
        if self.migrate.replace(migrate).is_some() {
            return Err(Failure::bad_request(
                "One of the specified inputs is invalid. An offer is migrated to autoscale or to \
                 manual throughput, not to both.",
            ));
        }
        Ok(())
    }
}
