//! What clients are told of the regions.

/// Where clients may go, in order of failover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    pub writable: Vec<Location>,
    pub readable: Vec<Location>,
    /// Whether every region takes writes.
    pub multi_write: bool,
    /// Whether another region than the writable one may take the writes of a partition.
    pub per_partition_failover: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub name: String,
    /// Base URL as clients reach it.
    pub endpoint: String,
}
