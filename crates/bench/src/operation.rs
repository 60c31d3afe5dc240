//! The operations that workloads consist of.

/// One step of a workload, on the item with this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read(u64),
    Create(u64),
    Upsert(u64),
    Replace(u64),
    /// One page of the item feed with at most this many items.
    Scan(u64),
    /// A query for the item within its logical partition.
    Query(u64),
    /// A read and a replacement of the item, measured as one latency.
    ReadModifyWrite(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OperationKind {
    Read,
    Create,
    Upsert,
    Replace,
    Scan,
    Query,
    ReadModifyWrite,
}

impl Operation {
    pub(crate) fn kind(self) -> OperationKind {
        match self {
            Self::Read(_) => OperationKind::Read,
            Self::Create(_) => OperationKind::Create,
            Self::Upsert(_) => OperationKind::Upsert,
            Self::Replace(_) => OperationKind::Replace,
            Self::Scan(_) => OperationKind::Scan,
            Self::Query(_) => OperationKind::Query,
            Self::ReadModifyWrite(_) => OperationKind::ReadModifyWrite,
        }
    }
}

impl OperationKind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Read,
        Self::Create,
        Self::Upsert,
        Self::Replace,
        Self::Scan,
        Self::Query,
        Self::ReadModifyWrite,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Upsert => "upsert",
            Self::Replace => "replace",
            Self::Scan => "scan",
            Self::Query => "query",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}
