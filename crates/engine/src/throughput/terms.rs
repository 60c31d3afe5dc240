//! On which terms a request is served.

use orrery_memory::Share;
use orrery_model::{ConsistencyLevel, PriorityLevel};

/// What a request says of itself beside what it asks for.
#[derive(Debug, Clone)]
pub struct Terms {
    pub level: ConsistencyLevel,
    pub metering: Metering,
    /// What the client borrows memory through.
    pub share: Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metering {
    /// Work of the server's own, which waits for no budget and uses none.
    Unmetered,
    Metered {
        priority: PriorityLevel,
        /// A throughput bucket, from 1 to 5.
        bucket: Option<u8>,
    },
}

impl Terms {
    /// For data that is loaded before anybody is served.
    pub fn unmetered(level: ConsistencyLevel) -> Terms {
        Terms {
            level,
            metering: Metering::Unmetered,
            share: Share::unlimited(),
        }
    }
}

/// The terms of a client that names nothing but a level.
impl From<ConsistencyLevel> for Terms {
    fn from(level: ConsistencyLevel) -> Terms {
        Terms {
            level,
            metering: Metering::Metered {
                priority: PriorityLevel::default(),
                bucket: None,
            },
            share: Share::unlimited(),
        }
    }
}

/// The terms of a point read, which borrows no memory: its answer is a part of what the store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTerms {
    pub level: ConsistencyLevel,
    pub metering: Metering,
}

impl From<ConsistencyLevel> for ReadTerms {
    fn from(level: ConsistencyLevel) -> ReadTerms {
        Terms::from(level).into()
    }
}

impl From<Terms> for ReadTerms {
    fn from(terms: Terms) -> ReadTerms {
        ReadTerms {
            level: terms.level,
            metering: terms.metering,
        }
    }
}
