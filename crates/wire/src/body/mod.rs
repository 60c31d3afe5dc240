//! The JSON body of each resource of the protocol.

mod account;
mod change;
mod conflict;
mod container;
mod database;
mod feed;
mod item;
mod object;
mod partition_key_range;
mod partitions;
mod permission;
mod query;
mod repartitioning;
mod request_log;
mod script;
mod user;

pub use account::{AccountDescription, RegionLocation, Staleness};
pub use change::{
    CHANGED_ITEM_BYTES, ChangeDescription, ChangeEvent, ChangeOperation, change_envelope,
    write_changed_item,
};
pub use conflict::{ConflictDescription, conflict_body};
pub use container::{ContainerSystem, RangeStatistics, container_body, container_self_link};
pub use database::{database_body, database_self_link, parse_id_body};
pub use feed::{FeedKind, FeedWriter, feed_body};
pub use item::without_excluded_properties;
pub(crate) use object::{ObjectWriter, array_of};
pub use partition_key_range::{PartitionKeyRangeDescription, partition_key_range_body};
pub use partitions::{HotKeyDescription, PartitionDescription, PartitionsDescription};
pub use permission::{PermissionRequest, permission_body};
pub use query::{QueryBody, ResumeFilter};
pub use repartitioning::{RepartitioningRequest, SplitAt};
pub use request_log::{LoggedRequest, request_log_body};
pub use script::{ScriptRequest, parse_arguments, script_body};
pub use user::user_body;

use orrery_json::Value;
use orrery_model::{Failure, limits};

/// Parses a body of the control plane.
pub fn parse_body(body: &[u8]) -> Result<Value, Failure> {
    if body.len() > limits::REQUEST_BYTES_MAX {
        return Err(Failure::TooLarge(format!(
            "Request size is too large. A request may have {} bytes.",
            limits::REQUEST_BYTES_MAX
        )));
    }
    orrery_json::parse(body).map_err(|error| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. The body is not valid JSON: {error}."
        ))
    })
}
