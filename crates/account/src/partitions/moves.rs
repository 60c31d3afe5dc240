//! An ownership record of the account stream: it gives a key range to a region.

use orrery_engine::KeyRange;
use orrery_regions::RegionId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeMove {
    pub(crate) keys: KeyRange,
    /// The new owner; none for the write region, whichever region that is.
    pub(crate) owner: Option<RegionId>,
    /// Whether the write region made this move because of an outage, and reverts it without an
    /// order.
    pub(crate) is_automatic: bool,
}
