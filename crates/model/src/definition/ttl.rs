//! Time to live of items and of their analytical copies.

use super::fields::{DefinitionFields, invalid_input};
use super::indexing::IndexingMode;
use super::verbatim_path::VerbatimPath;
use crate::{Failure, limits};

/// The default time to live. Absent turns expiry off; -1 turns it on without a default; otherwise
/// the time is in seconds.
pub(super) fn parse_default(body: &DefinitionFields<'_>) -> Result<Option<i32>, Failure> {
    let Some(seconds) = body.integer("defaultTtl")? else {
        return Ok(None);
    };
    // Zero is refused: an item would expire at once.
    let valid = seconds == -1 || (1..=limits::TTL_SECONDS_MAX).contains(&seconds);
    match i32::try_from(seconds) {
        Ok(seconds) if valid => Ok(Some(seconds)),
        _ => Err(invalid_input(format!(
            "'defaultTtl' must be -1 or a whole number of seconds from 1 to {}, not {seconds}.",
            limits::TTL_SECONDS_MAX
        ))),
    }
}

pub(super) fn parse_analytical(body: &DefinitionFields<'_>) -> Result<Option<i64>, Failure> {
    match body.integer("analyticalStorageTtl")? {
        Some(seconds) if seconds < -1 => Err(invalid_input(format!(
            "'analyticalStorageTtl' must be -1, 0 or a whole number of seconds, not {seconds}."
        ))),
        other => Ok(other),
    }
}

/// The old property whose time replaces the time of the last write.
pub(super) fn parse_property(
    body: &DefinitionFields<'_>,
    default: Option<i32>,
) -> Result<Option<VerbatimPath>, Failure> {
    let Some(text) = body.text("ttlPropertyPath")? else {
        return Ok(None);
    };
    // Without expiry the property would have no effect.
    if default.is_none() {
        return Err(invalid_input(
            "'ttlPropertyPath' needs 'defaultTtl' to be set.",
        ));
    }
    let path = VerbatimPath::parse(text)
        .map_err(|error| invalid_input(format!("'ttlPropertyPath': {error}.")))?;
    Ok(Some(path))
}

/// Refuses a time to live without an index, because the sweeper finds expired items through the
/// index.
pub(super) fn check_mode(default: Option<i32>, mode: IndexingMode) -> Result<(), Failure> {
    match (default, mode) {
        (Some(_), IndexingMode::None) => Err(invalid_input(
            "'defaultTtl' cannot be set while the indexing mode is none. Use the mode \
             consistent, and exclude '/*' to index nothing.",
        )),
        (Some(_), IndexingMode::Consistent) | (None, _) => Ok(()),
    }
}
