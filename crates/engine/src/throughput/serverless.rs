//! A serverless account has no offers, and nobody may send throughput to it.

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

    /// Refuses throughput where none can be set.
    pub(crate) fn check_throughput(&self, asked: Option<Throughput>) -> Result<(), Failure> {
        match asked {
            Some(_) if self.is_serverless() => Err(Failure::bad_request(
                "Setting offer throughput or autopilot on container is not supported for serverless accounts.",
            )),
            _ => Ok(()),
        }
    }
}
