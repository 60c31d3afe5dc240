//! How long the change feed keeps every version and delete.

use orrery_json::Value;

use super::fields::{Fields, object, refused};
use crate::Failure;

/// Minutes; 0 asks for the default.
pub(super) fn parse(body: &Fields<'_>) -> Result<Option<i64>, Failure> {
    let Some(policy) = body.object("changeFeedPolicy")? else {
        return Ok(None);
    };
    match policy.integer("retentionDuration")? {
        Some(minutes) if minutes < 0 => Err(refused(format!(
            "'{}' must be a whole number of minutes, not {minutes}.",
            policy.name("retentionDuration")
        ))),
        other => Ok(other),
    }
}

pub(super) fn to_value(minutes: Option<i64>) -> Value {
    minutes.map_or(Value::Undefined, |minutes| {
        object([("retentionDuration", Value::from(minutes))])
    })
}
