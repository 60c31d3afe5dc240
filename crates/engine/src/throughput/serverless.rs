//! Serverless accounts: they have no offers and refuse requests that set throughput.

use orrery_model::{Failure, Throughput};

use super::ThroughputMode;
use crate::Engine;

impl Engine {
    pub(crate) fn throughput_mode(&self) -> ThroughputMode {
        self.throughput.options.mode
    }

    pub(crate) fn is_serverless(&self) -> bool {
        self.throughput_mode() == ThroughputMode::Serverless
    }

    /// Refuses a throughput setting in a serverless account.
    pub(crate) fn check_throughput(&self, asked: Option<Throughput>) -> Result<(), Failure> {
        match asked {
            Some(_) if self.is_serverless() => Err(Failure::bad_request(
                "Setting offer throughput or autopilot on container is not supported for serverless accounts.",
            )),
            _ => Ok(()),
        }
    }
}
