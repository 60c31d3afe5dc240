//! The five consistency levels, strongest first.

use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsistencyLevel {
    Strong,
    BoundedStaleness,
    Session,
    ConsistentPrefix,
    Eventual,
}

impl ConsistencyLevel {
    pub const ALL: [ConsistencyLevel; 5] = [
        ConsistencyLevel::Strong,
        ConsistencyLevel::BoundedStaleness,
        ConsistencyLevel::Session,
        ConsistencyLevel::ConsistentPrefix,
        ConsistencyLevel::Eventual,
    ];

    /// The name in headers and account properties.
    pub fn name(self) -> &'static str {
        match self {
            ConsistencyLevel::Strong => "Strong",
            ConsistencyLevel::BoundedStaleness => "BoundedStaleness",
            ConsistencyLevel::Session => "Session",
            ConsistencyLevel::ConsistentPrefix => "ConsistentPrefix",
            ConsistencyLevel::Eventual => "Eventual",
        }
    }

    /// The charge factor of reads. In Cosmos DB reads at the two strong levels ask two replicas,
    /// and weaker reads ask one.
    pub fn read_factor(self) -> f64 {
        match self {
            ConsistencyLevel::Strong | ConsistencyLevel::BoundedStaleness => 2.0,
            ConsistencyLevel::Session
            | ConsistencyLevel::ConsistentPrefix
            | ConsistencyLevel::Eventual => 1.0,
        }
    }

    /// Whether this level is stronger. A request may weaken the level of the account and never
    /// strengthen it.
    pub fn is_stronger_than(self, other: ConsistencyLevel) -> bool {
        // The variants are declared from the strongest to the weakest level.
        self < other
    }
}

impl FromStr for ConsistencyLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ConsistencyLevel::ALL
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| {
                format!(
                    "'{text}' is not a consistency level; use one of Strong, BoundedStaleness, Session, \
                     ConsistentPrefix, Eventual"
                )
            })
    }
}
