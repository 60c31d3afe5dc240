//! How an account with regions is set up.

use orrery_engine::EngineOptions;
use orrery_model::ConsistencyLevel;

pub struct AccountOptions {
    pub level: ConsistencyLevel,
    /// Of bounded staleness.
    pub bound: Bound,
    /// The regions of this process. The first writes when the account is new.
    pub regions: Vec<RegionOptions>,
    /// Whether every region takes writes.
    pub multi_write: bool,
    /// Whether single partitions fail over: of each, one region alone takes the writes.
    pub per_partition_failover: bool,
    /// Whether regions promote another when the write region is silent.
    pub service_managed_failover: bool,
    /// Bytes of records that a region keeps for others that are away; none for as much as is sensible. A
    /// region that lacks more is copied.
    pub kept_bytes_max: Option<u64>,
}

pub struct RegionOptions {
    pub name: String,
    /// Its directory is that of the region alone.
    pub engine: EngineOptions,
}

/// How far a region may be behind at bounded staleness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    pub versions: u64,
    pub seconds: u64,
}
