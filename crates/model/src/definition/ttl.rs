//! Time to live of items and of their analytical copies.

use super::fields::{Fields, refused};
use super::indexing::IndexingMode;
use super::written_path::WrittenPath;
use crate::{Failure, limits};

/// Absent turns expiry off; -1 turns it on without a default; otherwise seconds.
pub(super) fn parse_default(body: &Fields<'_>) -> Result<Option<i32>, Failure> {
    let Some(seconds) = body.integer("defaultTtl")? else {
        return Ok(None);
    };
    let valid = seconds == -1 || (1..=limits::TTL_SECONDS_MAX).contains(&seconds);
    match i32::try_from(seconds) {
        Ok(seconds) if valid => Ok(Some(seconds)),
        _ => Err(refused(format!(
            "'defaultTtl' must be -1 or a whole number of seconds from 1 to {}, not {seconds}.",
            limits::TTL_SECONDS_MAX
        ))),
    }
}

pub(super) fn parse_analytical(body: &Fields<'_>) -> Result<Option<i64>, Failure> {
    match body.integer("analyticalStorageTtl")? {
        Some(seconds) if seconds < -1 => Err(refused(format!(
            "'analyticalStorageTtl' must be -1, 0 or a whole number of seconds, not {seconds}."
        ))),
        other => Ok(other),
    }
}

/// The legacy property that counts in place of the time of the last write.
pub(super) fn parse_property(
    body: &Fields<'_>,
    default: Option<i32>,
) -> Result<Option<WrittenPath>, Failure> {
    let Some(text) = body.text("ttlPropertyPath")? else {
        return Ok(None);
    };
    if default.is_none() {
        return Err(refused("'ttlPropertyPath' needs 'defaultTtl' to be set."));
    }
    let path = WrittenPath::parse(text)
        .map_err(|error| refused(format!("'ttlPropertyPath': {error}.")))?;
    Ok(Some(path))
}

/// Expired items are found through the index, so there has to be one.
pub(super) fn check_mode(default: Option<i32>, mode: IndexingMode) -> Result<(), Failure> {
    match (default, mode) {
        (Some(_), IndexingMode::None) => Err(refused(
            "'defaultTtl' cannot be set while the indexing mode is none. Use the mode \
             consistent, and exclude '/*' to index nothing.",
        )),
        (Some(_), IndexingMode::Consistent) | (None, _) => Ok(()),
    }
}
