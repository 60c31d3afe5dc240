//! Permissions. The mode is compared without regard to case, and answers repeat the client's
//! spelling.

use orrery_keys::PartitionKey;
use orrery_model::{Failure, Permission, PermissionMode};

use super::database::id_of;
use super::user::user_self_link;
use super::{ObjectWriter, parse_body};

/// The body that creates or replaces a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    pub id: String,
    pub mode: PermissionMode,
    pub mode_text: String,
    pub resource: String,
    pub partition_key: Option<PartitionKey>,
}

impl PermissionRequest {
    pub fn parse(body: &[u8]) -> Result<PermissionRequest, Failure> {
        let body = parse_body(body)?;
        let id = id_of(&body)?.to_owned();
        // SDKs expect the name of the missing property in the message.
        let required = |name: &'static str| {
            body.get(name)
                .as_str()
                .filter(|text| !text.is_empty())
                .ok_or(Failure::MissingProperty(name))
        };
        let mode_text = required("permissionMode")?.to_owned();
        let mode = match mode_text.as_str() {
            text if text.eq_ignore_ascii_case("read") => PermissionMode::Read,
            text if text.eq_ignore_ascii_case("all") => PermissionMode::All,
            _ => {
                return Err(Failure::BadRequest(format!(
                    "One of the input values is invalid. The permission mode '{mode_text}' is \
                     neither Read nor All."
                )));
            }
        };
        let key = body.get("resourcePartitionKey");
        // A null counts as an absent partition key.
        let is_absent = key.is_undefined() || matches!(key, orrery_json::Value::Null);
        let partition_key = if is_absent {
            None
        } else {
            Some(partition_key(key)?)
        };
        let resource = required("resource")?.to_owned();
        // A link of slashes alone names nothing.
        if resource.split('/').all(str::is_empty) {
            return Err(Failure::MissingProperty("resource"));
        }
        Ok(PermissionRequest {
            id,
            mode,
            mode_text,
            resource,
            partition_key,
        })
    }
}

/// The body of a permission, with a token made for this answer.
pub fn permission_body(permission: &Permission, token: &str) -> Vec<u8> {
    let link = user_self_link(permission.rid.user());
    let body = ObjectWriter::new()
        .text("id", &permission.id)
        .text("permissionMode", &permission.mode_text)
        .text("resource", &permission.resource);
    let body = match &permission.partition_key {
        Some(key) => body.raw("resourcePartitionKey", key.to_json().as_bytes()),
        None => body,
    };
    body.display("_rid", permission.rid)
        .text("_self", &format!("{link}permissions/{}/", permission.rid))
        .text("_etag", permission.etag.as_str())
        .text("_token", token)
        .literal("_ts", permission.modified_seconds)
        .finish()
}

/// The partition key that limits a permission.
fn partition_key(value: &orrery_json::Value) -> Result<PartitionKey, Failure> {
    PartitionKey::from_json(value).map_err(|error| {
        Failure::BadRequest(format!(
            "One of the input values is invalid. 'resourcePartitionKey': {error}."
        ))
    })
}

#[cfg(test)]
mod tests {
    use orrery_keys::{DatabaseRid, PermissionRid, UserRid};
    use orrery_model::Etag;

    use super::*;

    #[test]
    fn permissions_read_and_write() {
        let text = br#"{"id":"p","permissionMode":"read","resource":"dbs/d/colls/c","resourcePartitionKey":["a"]}"#;
        let request = PermissionRequest::parse(text).unwrap();
        assert_eq!(request.mode, PermissionMode::Read);
        let database = DatabaseRid::new(1);
        let user = UserRid::new(database, 2);
        let rid = PermissionRid::new(user, 3);
        let permission = Permission {
            rid,
            id: request.id,
            etag: Etag::of_write(0, 1, 0, 2),
            modified_seconds: 5,
            mode: request.mode,
            mode_text: request.mode_text,
            resource: request.resource,
            partition_key: request.partition_key,
        };
        let expected = format!(
            r#"{{"id":"p","permissionMode":"read","resource":"dbs/d/colls/c","resourcePartitionKey":["a"],"_rid":"{rid}","_self":"dbs/{database}/users/{user}/permissions/{rid}/","_etag":"\"00000000-0001-0000-0000-000000020000\"","_token":"t","_ts":5}}"#
        );
        assert_eq!(
            String::from_utf8(permission_body(&permission, "t")).unwrap(),
            expected
        );
    }

    #[test]
    fn incomplete_permissions_are_refused() {
        for (body, expected) in [
            (r#"{"permissionMode":"All","resource":"dbs/d"}"#, "id"),
            (r#"{"id":"p","resource":"dbs/d"}"#, "permissionMode"),
            (r#"{"id":"p","permissionMode":"All"}"#, "resource"),
            (
                r#"{"id":"p","permissionMode":"All","resource":"/"}"#,
                "resource",
            ),
        ] {
            let failure = PermissionRequest::parse(body.as_bytes()).unwrap_err();
            assert_eq!(failure, Failure::MissingProperty(expected), "{body}");
        }
        for body in [
            r#"{"id":"p","permissionMode":"Write","resource":"dbs/d"}"#,
            r#"{"id":"p","permissionMode":"All","resource":"dbs/d","resourcePartitionKey":[[]]}"#,
        ] {
            let failure = PermissionRequest::parse(body.as_bytes()).unwrap_err();
            assert!(matches!(failure, Failure::BadRequest(_)), "{body}");
        }
    }
}
