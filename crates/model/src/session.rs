//! How far a region is, as session tokens tell it.

/// What a region knows when it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Rises with each change of the write region and of the members.
    pub version: i64,
    /// Where every region writes. Positions of partitions are the region's own there, so what is
    /// applied of each stream stands in their place.
    pub vector: Option<SessionVector>,
}

/// What is applied of every stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionVector {
    /// Of the account stream.
    pub global: u64,
    /// Of the stream of each region, by its number; one version always has the same regions.
    pub locals: Vec<(u8, u64)>,
}

impl Session {
    /// Of a region that is the whole account.
    pub const ALONE: Session = Session {
        version: -1,
        vector: None,
    };
}
