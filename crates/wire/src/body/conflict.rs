//! Versions that lost a conflict and wait for a decision.

use orrery_keys::{ChildRid, ItemRid};
use orrery_model::Etag;

use super::ObjectWriter;
use super::container::container_self_link;

/// One conflict. Its id is its resource id.
#[derive(Debug, Clone, Copy)]
pub struct ConflictDescription<'c> {
    pub rid: ChildRid,
    /// Whether the losing version was the create of another item with the same id.
    pub is_create: bool,
    /// The resource id of the item in conflict.
    pub resource: ItemRid,
    /// The losing version, as JSON text.
    pub content: &'c [u8],
    pub lsn: u64,
    pub etag: &'c Etag,
    pub modified_seconds: u64,
}

pub fn conflict_body(conflict: &ConflictDescription<'_>) -> Vec<u8> {
    let rid = conflict.rid;
    let parent = container_self_link(rid.container());
    let operation = if conflict.is_create {
        "create"
    } else {
        "replace"
    };
    ObjectWriter::new()
        .display("id", rid)
        .display("_rid", rid)
        .text("_self", &format!("{parent}conflicts/{rid}/"))
        .text("_etag", conflict.etag.as_str())
        .literal("_ts", conflict.modified_seconds)
        .text("resourceType", "document")
        .text("operationType", operation)
        .display("resourceId", conflict.resource)
        .text("content", &String::from_utf8_lossy(conflict.content))
        .literal("conflict_lsn", conflict.lsn)
        .finish()
}

#[cfg(test)]
mod tests {
    use orrery_keys::{ChildKind, ContainerRid, DatabaseRid};

    use super::*;

    #[test]
    fn the_version_is_text_in_text() {
        let container = ContainerRid::new(DatabaseRid::new(1), 2);
        let rid = ChildRid::new(container, ChildKind::Conflict, 3);
        let resource = ItemRid::new(container, 4);
        for (is_create, operation) in [(true, "create"), (false, "replace")] {
            let body = conflict_body(&ConflictDescription {
                rid,
                is_create,
                resource,
                content: br#"{"id":"1"}"#,
                lsn: 9,
                etag: &Etag::from_stored("\"e\""),
                modified_seconds: 5,
            });
            let link = container_self_link(container);
            let expected = format!(
                r#"{{"id":"{rid}","_rid":"{rid}","_self":"{link}conflicts/{rid}/","_etag":"\"e\"","_ts":5,"#
            ) + &format!(
                r#""resourceType":"document","operationType":"{operation}","resourceId":"{resource}","#
            ) + r#""content":"{\"id\":\"1\"}","conflict_lsn":9}"#;
            assert_eq!(String::from_utf8(body).unwrap(), expected);
        }
    }
}
