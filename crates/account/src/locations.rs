//! The regions of an account, as the protocol lists them for clients.

/// The regions in which clients may write and read, in failover order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    pub writable: Vec<Location>,
    pub readable: Vec<Location>,
    /// Whether every region takes writes.
    pub multi_write: bool,
    /// Whether partitions may have another owner than the writable region.
    pub per_partition_failover: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub name: String,
    /// The base URL at which clients reach the region.
    pub endpoint: String,
}
