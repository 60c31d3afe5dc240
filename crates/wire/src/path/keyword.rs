//! The words of a path.

/// Children of a container that are neither items nor ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptKind {
    StoredProcedure,
    Trigger,
    UserDefinedFunction,
    Conflict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Databases,
    Containers,
    Items,
    PartitionKeyRanges,
    Script(ScriptKind),
    Users,
    Permissions,
    ClientEncryptionKeys,
    Offers,
    Addresses,
    Operations,
}

const KEYWORDS: [(&str, Keyword); 14] = [
    ("dbs", Keyword::Databases),
    ("colls", Keyword::Containers),
    ("docs", Keyword::Items),
    ("pkranges", Keyword::PartitionKeyRanges),
    ("sprocs", Keyword::Script(ScriptKind::StoredProcedure)),
    ("triggers", Keyword::Script(ScriptKind::Trigger)),
    ("udfs", Keyword::Script(ScriptKind::UserDefinedFunction)),
    ("conflicts", Keyword::Script(ScriptKind::Conflict)),
    ("users", Keyword::Users),
    ("permissions", Keyword::Permissions),
    ("clientencryptionkeys", Keyword::ClientEncryptionKeys),
    ("offers", Keyword::Offers),
    ("addresses", Keyword::Addresses),
    ("operations", Keyword::Operations),
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
            // Replicas are resolved for the items of a container.
            Keyword::Items | Keyword::Addresses => "docs",
            Keyword::PartitionKeyRanges => "pkranges",
            Keyword::Script(kind) => kind.keyword(),
            Keyword::Users => "users",
            Keyword::Permissions => "permissions",
            Keyword::ClientEncryptionKeys => "clientencryptionkeys",
            Keyword::Offers => "offers",
            Keyword::Operations => "partitionkey",
        }
    }
}

impl ScriptKind {
    pub fn keyword(self) -> &'static str {
        match self {
            ScriptKind::StoredProcedure => "sprocs",
            ScriptKind::Trigger => "triggers",
            ScriptKind::UserDefinedFunction => "udfs",
            ScriptKind::Conflict => "conflicts",
        }
    }
}

pub(super) fn is(segment: &str, keyword: &str) -> bool {
    segment.eq_ignore_ascii_case(keyword)
}
