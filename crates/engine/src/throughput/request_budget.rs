//! The consistency level, metering and memory share with which a request is served.

use std::time::Duration;

use orrery_memory::MemoryShare;
use orrery_model::{ConsistencyLevel, PriorityLevel, limits};

/// The terms of a request, apart from its operation.
#[derive(Debug, Clone)]
pub struct RequestBudget {
    pub level: ConsistencyLevel,
    pub metering: Metering,
    /// The memory share from which the client borrows.
    pub share: MemoryShare,
    /// How long the client waits for an answer that may be shorter: a page ends after this time,
    /// and so do the waits of a bulk request for budget.
    pub patience: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metering {
    /// Internal work of the server, which neither waits for budget nor uses any.
    Unmetered,
    Metered {
        priority: PriorityLevel,
        /// A throughput bucket, from 1 to 5.
        bucket: Option<u8>,
    },
}

impl RequestBudget {
    /// The patience of a client that waits longer than the service lets a page run.
    pub const PATIENCE: Duration = Duration::from_secs(limits::EXECUTION_SECONDS_MAX);

    /// Terms for data that is loaded before the server accepts clients.
    pub fn unmetered(level: ConsistencyLevel) -> RequestBudget {
        RequestBudget {
            level,
            metering: Metering::Unmetered,
            share: MemoryShare::unlimited(),
            patience: RequestBudget::PATIENCE,
        }
    }
}

/// The terms of a client that names only a consistency level.
impl From<ConsistencyLevel> for RequestBudget {
    fn from(level: ConsistencyLevel) -> RequestBudget {
        RequestBudget {
            level,
            metering: Metering::Metered {
                priority: PriorityLevel::default(),
                bucket: None,
            },
            share: MemoryShare::unlimited(),
            patience: RequestBudget::PATIENCE,
        }
    }
}

/// The terms of a point read. It borrows no memory, because its answer is a slice of stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadBudget {
    pub level: ConsistencyLevel,
    pub metering: Metering,
}

impl From<ConsistencyLevel> for ReadBudget {
    fn from(level: ConsistencyLevel) -> ReadBudget {
        RequestBudget::from(level).into()
    }
}

impl From<RequestBudget> for ReadBudget {
    fn from(budget: RequestBudget) -> ReadBudget {
        ReadBudget {
            level: budget.level,
            metering: budget.metering,
        }
    }
}
