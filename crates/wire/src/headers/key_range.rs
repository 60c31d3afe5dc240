//! The physical partition of a request, or the part of a partition that it names.

use orrery_keys::{Epk, EpkRange};
use orrery_model::{Failure, GoneKind, RangeId};

use super::header::invalid_value;
use super::names;

/// The part of the key space that the client selects.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyRangeHeaders<'a> {
    /// The range id, without the container's resource id that some SDKs put before it.
    pub(super) range_id: Option<&'a str>,
    pub(super) start_epk: Option<&'a str>,
    pub(super) end_epk: Option<&'a str>,
    pub(super) key_type: Option<&'a str>,
}

impl KeyRangeHeaders<'_> {
    pub(super) fn check(&self) -> Result<(), Failure> {
        let is_range = self
            .key_type
            .is_some_and(|kind| kind.eq_ignore_ascii_case("EffectivePartitionKeyRange"));
        let has_bounds = self.start_epk.is_some() || self.end_epk.is_some();
        // The key type says what the bounds are; without it the bounds have no meaning.
        if has_bounds && !is_range {
            return Err(Failure::bad_request(
                "One of the input values is invalid. x-ms-start-epk and x-ms-end-epk need \
                 x-ms-read-key-type: EffectivePartitionKeyRange.",
            ));
        }
        Ok(())
    }

    /// The range id as a number. An id that never existed counts as a range that is gone, so that
    /// the client refreshes its ranges.
    pub(super) fn range(&self) -> Result<Option<RangeId>, Failure> {
        // SDKs refresh their ranges after 410 and repeat the request.
        let gone = || Failure::Gone(GoneKind::PartitionKeyRange);
        match self.range_id {
            Some(text) => {
                let id = text.parse().map_err(|_| gone())?;
                Ok(Some(RangeId(id)))
            }
            None => Ok(None),
        }
    }

    /// The range of effective partition keys that the client selects.
    pub(super) fn epk_range(&self) -> Result<Option<EpkRange>, Failure> {
        if self.start_epk.is_none() && self.end_epk.is_none() {
            return Ok(None);
        }
        let bound = |name, text: Option<&str>, default: Epk| match text {
            Some(text) => Epk::from_hex(text).map_err(|_| invalid_value(name, text)),
            None => Ok(default),
        };
        let min = bound(names::START_EPK, self.start_epk, Epk::min())?;
        let max = bound(names::END_EPK, self.end_epk, Epk::max())?;
        // A missing bound is the end of the whole key space.
        Ok(Some(EpkRange::new(min, max)))
    }
}
