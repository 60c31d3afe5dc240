//! What newer clients ask for instead of a level: how to read, whatever the account's level is.

use orrery_model::{ConsistencyLevel, Failure};

use super::header::invalid_value;
use super::names;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadStrategy {
    Eventual,
    Session,
    /// The newest that this region has, whatever others have.
    LatestCommitted,
    /// The newest of all regions, in accounts that are strong.
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
