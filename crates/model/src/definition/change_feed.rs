//! How long the change feed retains every version and delete, and whether it contains previous
//! images.

use orrery_json::Value;

use super::fields::{DefinitionFields, invalid_input, object};
use crate::Failure;

/// The policy `changeFeedPolicy` of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeFeedPolicy {
    /// The retention in minutes. 0 requests the default.
    pub retention_minutes: Option<i64>,
    /// Whether the change feed contains the previous image of an item beside the new version.
    /// Cosmos DB has this setting outside of the protocol.
    pub previous_images: bool,
}

impl ChangeFeedPolicy {
    pub(super) fn parse(body: &DefinitionFields<'_>) -> Result<ChangeFeedPolicy, Failure> {
        let Some(policy) = body.object("changeFeedPolicy")? else {
            return Ok(ChangeFeedPolicy::default());
        };
        let retention_minutes = policy.integer("retentionDuration")?;
        if let Some(minutes) = retention_minutes.filter(|minutes| *minutes < 0) {
            return Err(invalid_input(format!(
                "'{}' must be a whole number of minutes, not {minutes}.",
                policy.name("retentionDuration")
            )));
        }
        Ok(ChangeFeedPolicy {
            retention_minutes,
            previous_images: policy.boolean("previousImages")?.unwrap_or(false),
        })
    }

    pub(super) fn to_value(self) -> Value {
        if self == ChangeFeedPolicy::default() {
            // A container without this policy has no such property in its body.
            return Value::Undefined;
        }
        let minutes = self.retention_minutes.map_or(Value::Undefined, Value::from);
        let images = if self.previous_images {
            Value::from(true)
        } else {
            Value::Undefined
        };
        object([("retentionDuration", minutes), ("previousImages", images)])
    }
}
