//! The progress of a region, in the form of session tokens.

/// The session state of a region when it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionSession {
    /// The version. It rises with each change of the write region and of the members.
    pub version: i64,
    /// The progress of every stream, in a multi-write account. There the positions of partitions
    /// are the region's own, so tokens contain the applied position of each stream instead.
    pub vector: Option<SessionVector>,
}

/// The applied position of every stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionVector {
    /// The position of the account stream.
    pub global: u64,
    /// The position of each region's stream, by the number of the region. All tokens of one version
    /// have the same regions.
    pub locals: Vec<(u8, u64)>,
}

impl RegionSession {
    /// The session of a region that is the whole account.
    pub const SINGLE_REGION: RegionSession = RegionSession {
        version: -1,
        vector: None,
    };
}
