//! What clients are told of the regions.

/// Where clients may go, in order of failover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    pub writable: Vec<Location>,
    pub readable: Vec<Location>,
    /// Whether every region takes writes.
    pub multi_write: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub name: String,
    /// Base URL as clients reach it.
    pub endpoint: String,
}
