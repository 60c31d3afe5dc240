//! The read strategy, which newer SDKs send in place of a consistency level. A strategy ignores the
//! consistency level of the account.

use orrery_model::{ConsistencyLevel, Failure};

use super::header::invalid_value;
use super::names;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadStrategy {
    Eventual,
    Session,
    /// The newest version that this region has committed, without regard to other regions.
    LatestCommitted,
    /// The newest version of all regions. Only accounts with strong consistency have it.
    GlobalStrong,
}

impl ReadStrategy {
    const ALL: [(&'static str, ReadStrategy); 4] = [
        ("Eventual", ReadStrategy::Eventual),
        ("Session", ReadStrategy::Session),
        ("LatestCommitted", ReadStrategy::LatestCommitted),
        ("GlobalStrong", ReadStrategy::GlobalStrong),
    ];

    pub(crate) fn parse(text: &str) -> Option<ReadStrategy> {
        let mut known = ReadStrategy::ALL.into_iter();
        let found = known.find(|(name, _)| name.eq_ignore_ascii_case(text));
        found.map(|(_, strategy)| strategy)
    }

    /// The level at which such a read is checked and charged.
    pub(crate) fn level(self, account: ConsistencyLevel) -> Result<ConsistencyLevel, Failure> {
        match self {
            ReadStrategy::Eventual => Ok(ConsistencyLevel::Eventual),
            ReadStrategy::Session => Ok(ConsistencyLevel::Session),
            ReadStrategy::LatestCommitted => Ok(ConsistencyLevel::BoundedStaleness),
            ReadStrategy::GlobalStrong if account == ConsistencyLevel::Strong => Ok(account),
            ReadStrategy::GlobalStrong => Err(invalid_value(
                names::READ_CONSISTENCY_STRATEGY,
                "GlobalStrong",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_read_at_their_level() {
        use ConsistencyLevel::{BoundedStaleness, Eventual, Session, Strong};
        for (text, account, expected) in [
            ("Eventual", Strong, Some(Eventual)),
            ("session", Eventual, Some(Session)),
            ("LatestCommitted", Eventual, Some(BoundedStaleness)),
            ("GlobalStrong", Strong, Some(Strong)),
            ("GlobalStrong", Session, None),
        ] {
            let strategy = ReadStrategy::parse(text).unwrap();
            assert_eq!(strategy.level(account).ok(), expected, "{text}");
        }
        assert_eq!(ReadStrategy::parse("Strong"), None);
    }
}
