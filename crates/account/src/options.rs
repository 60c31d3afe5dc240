//! The settings of an account with several regions.

use orrery_engine::EngineOptions;
use orrery_model::ConsistencyLevel;
use orrery_regions::AccountMode;

pub struct AccountOptions {
    pub level: ConsistencyLevel,
    /// The bound of bounded staleness.
    pub bound: StalenessPolicy,
    /// The regions of this process. The first one is the write region of a new account.
    pub regions: Vec<RegionOptions>,
    pub mode: AccountMode,
    /// Whether the regions promote another one when the write region is silent.
    pub service_managed_failover: bool,
    /// Bytes of log records that a region retains for regions that are disconnected; none for a
    /// limit that the region computes. A region that lacks more records needs a snapshot.
    pub kept_bytes_max: Option<u64>,
}

pub struct RegionOptions {
    pub name: String,
    /// The directory in the options must belong to this region alone.
    pub engine: EngineOptions,
}

/// How far a region may be behind at bounded staleness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StalenessPolicy {
    pub versions: u64,
    pub seconds: u64,
}
