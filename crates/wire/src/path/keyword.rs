//! The keywords of paths.

use orrery_model::ScriptKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Databases,
    Containers,
    Items,
    PartitionKeyRanges,
    Script(ScriptKind),
    Conflicts,
    Users,
    Permissions,
    ClientEncryptionKeys,
    Offers,
    Addresses,
    Operations,
    /// Orrery's own keywords, below `_orrery`.
    Partitions,
    Throughput,
    Requests,
    Metrics,
}

const KEYWORDS: [(&str, Keyword); 18] = [
    ("dbs", Keyword::Databases),
    ("colls", Keyword::Containers),
    ("docs", Keyword::Items),
    ("pkranges", Keyword::PartitionKeyRanges),
    ("sprocs", Keyword::Script(ScriptKind::StoredProcedure)),
    ("triggers", Keyword::Script(ScriptKind::Trigger)),
    ("udfs", Keyword::Script(ScriptKind::Function)),
    ("conflicts", Keyword::Conflicts),
    ("users", Keyword::Users),
    ("permissions", Keyword::Permissions),
    ("clientencryptionkeys", Keyword::ClientEncryptionKeys),
    ("offers", Keyword::Offers),
    ("addresses", Keyword::Addresses),
    ("operations", Keyword::Operations),
    ("partitions", Keyword::Partitions),
    ("throughput", Keyword::Throughput),
    ("metrics", Keyword::Metrics),
    ("requests", Keyword::Requests),
];

impl Keyword {
    pub(super) fn of(segment: &str) -> Option<Keyword> {
        KEYWORDS
            .into_iter()
            .find(|(text, _)| is(segment, text))
            .map(|(_, keyword)| keyword)
    }

    pub(super) fn resource_type(self) -> &'static str {
        match self {
            Keyword::Databases => "dbs",
            Keyword::Containers => "colls",
            // Replica addresses are resolved for the items of a container.
            Keyword::Items | Keyword::Addresses => "docs",
            Keyword::PartitionKeyRanges => "pkranges",
            Keyword::Script(kind) => script_keyword(kind),
            Keyword::Conflicts => "conflicts",
            Keyword::Users => "users",
            Keyword::Permissions => "permissions",
            Keyword::ClientEncryptionKeys => "clientencryptionkeys",
            Keyword::Offers => "offers",
            Keyword::Operations => "partitionkey",
            Keyword::Partitions => "partitions",
            Keyword::Throughput => "throughput",
            Keyword::Metrics => "metrics",
            Keyword::Requests => "requests",
        }
    }
}

/// The path segment before the id of a script.
pub(crate) fn script_keyword(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::StoredProcedure => "sprocs",
        ScriptKind::Trigger => "triggers",
        ScriptKind::Function => "udfs",
    }
}

pub(super) fn is(segment: &str, keyword: &str) -> bool {
    segment.eq_ignore_ascii_case(keyword)
}
