//! The part of a container that a request names: its partition key, its range.

use std::borrow::Cow;

use orrery_keys::{EpkRange, PartitionKey};
use orrery_model::{Failure, RangeId};

use super::key_range::KeyRangeHeaders;

/// The selection of the headers. It is not a permission: a server gives it only to the code that
/// checks permissions ([`RequestHeaders::take_selection`](super::RequestHeaders::take_selection)).
#[derive(Debug, Clone, Default)]
pub struct Selection<'a> {
    /// The JSON text, which [`partition_key`](Self::partition_key) parses.
    pub(super) partition_key_text: Option<Cow<'a, str>>,
    pub(super) key_range: KeyRangeHeaders<'a>,
}

impl Selection<'_> {
    /// The partition key that the request names, if it names one.
    pub fn partition_key(&self) -> Result<Option<PartitionKey>, Failure> {
        let Some(text) = self.partition_key_text.as_deref() else {
            return Ok(None);
        };
        PartitionKey::parse_header(text).map(Some).map_err(|error| {
            Failure::BadRequest(format!(
                "Partition key {text} is invalid. One of the input values is invalid: {error}."
            ))
        })
    }

    /// The physical partition. An id that never existed counts as a range that is gone.
    pub fn range(&self) -> Result<Option<RangeId>, Failure> {
        self.key_range.range()
    }

    /// The range of effective partition keys that the client selects.
    pub fn epk_range(&self) -> Result<Option<EpkRange>, Failure> {
        self.key_range.epk_range()
    }
}
