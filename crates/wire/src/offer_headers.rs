//! Throughput in headers: asked for when a database or a container is created, migrated when an
//! offer is replaced.

use orrery_model::{Failure, Migrate, Throughput};

/// What the throughput headers say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferHeaders {
    pub throughput: Option<Throughput>,
    pub migrate: Option<Migrate>,
}

impl OfferHeaders {
    pub(crate) fn ask(&mut self, throughput: Throughput) -> Result<(), Failure> {
        if self.throughput.replace(throughput).is_some() {
            return Err(Failure::bad_request(
                "One of the specified inputs is invalid. x-ms-offer-throughput and \
                 x-ms-cosmos-offer-autopilot-settings may not be given together.",
            ));
        }
        Ok(())
    }

    pub(crate) fn ask_migration(&mut self, migrate: Migrate) -> Result<(), Failure> {
        if self.migrate.replace(migrate).is_some() {
            return Err(Failure::bad_request(
                "One of the specified inputs is invalid. An offer is migrated to autoscale or to \
                 manual throughput, not to both.",
            ));
        }
        Ok(())
    }
}
