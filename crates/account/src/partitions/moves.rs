//! The record of the account stream that gives a range of keys to a region.

use orrery_engine::KeyRange;
use orrery_regions::RegionId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeMove {
    pub(crate) keys: KeyRange,
    /// Whoever is the write region, if none.
    pub(crate) owner: Option<RegionId>,
    /// Whether the write region did it because the keys were down, and takes them back by itself.
    pub(crate) is_automatic: bool,
}
