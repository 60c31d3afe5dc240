//! The resource that a frame addresses, as the path of a URL.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orrery_model::Failure;
use orrery_rntbd::{OperationType, ResourceType};
use orrery_wire::encode_component;

/// The names and the resource id of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AddressTokens<'t> {
    pub(super) database: Option<&'t str>,
    pub(super) container: Option<&'t str>,
    pub(super) user: Option<&'t str>,
    /// The name of the item, permission, script or conflict.
    pub(super) child: Option<&'t str>,
    pub(super) rid: Option<&'t [u8]>,
}

/// The bytes in the resource ids of databases, of containers and users, and of what is in these.
const RID_BYTES: [usize; 3] = [4, 8, 16];

impl AddressTokens<'_> {
    /// Whether the names count. The .NET SDKs send the resource id of the container beside them.
    pub(super) fn is_by_name(&self) -> bool {
        self.database.is_some()
    }

    /// The path of the resource, or of the feed that an operation goes to.
    pub(super) fn path(
        &self,
        resource: ResourceType,
        operation: OperationType,
    ) -> Result<String, Failure> {
        let keywords = keywords(resource).ok_or_else(|| unknown(resource))?;
        let mut path = String::with_capacity(64);
        let mut write = |segment: &str| {
            path.push('/');
            path.push_str(segment);
        };
        let ids = if self.is_by_name() {
            self.names(resource)
        } else {
            self.rids()?
        };
        // The id of the last keyword is missing in the address of a feed.
        let parents = keywords.len() - usize::from(is_of_feed(operation));
        for (index, keyword) in keywords.iter().enumerate() {
            write(keyword);
            if index < parents {
                let id = ids.get(index).and_then(Option::as_deref);
                write(id.ok_or_else(|| missing(keyword))?);
            }
        }
        Ok(path)
    }

    fn names(&self, resource: ResourceType) -> [Option<String>; 3] {
        let owner = match resource {
            ResourceType::User | ResourceType::Permission => self.user,
            _ => self.container,
        };
        [self.database, owner, self.child].map(|name| name.map(encode_component))
    }

    /// The resource ids of the database, of the container or user, and of what is in it: each one
    /// begins with the bytes of the one before.
    fn rids(&self) -> Result<[Option<String>; 3], Failure> {
        let bytes = self.rid.unwrap_or_default();
        if !bytes.is_empty() && !RID_BYTES.contains(&bytes.len()) {
            return Err(Failure::bad_request(
                "One of the input values is invalid. The resource id has another length than any resource id.",
            ));
        }
        Ok(RID_BYTES.map(|length| {
            let rid = STANDARD.encode(bytes.get(..length)?);
            Some(encode_component(&rid.replace('/', "-")))
        }))
    }
}

/// The keywords of the path to a resource; None for a resource that has no path in direct mode.
fn keywords(resource: ResourceType) -> Option<&'static [&'static str]> {
    Some(match resource {
        ResourceType::Database => &["dbs"],
        ResourceType::Collection => &["dbs", "colls"],
        ResourceType::User => &["dbs", "users"],
        ResourceType::Permission => &["dbs", "users", "permissions"],
        ResourceType::Document => &["dbs", "colls", "docs"],
        ResourceType::StoredProcedure => &["dbs", "colls", "sprocs"],
        ResourceType::Trigger => &["dbs", "colls", "triggers"],
        ResourceType::UserDefinedFunction => &["dbs", "colls", "udfs"],
        ResourceType::Conflict => &["dbs", "colls", "conflicts"],
        ResourceType::PartitionKeyRange => &["dbs", "colls", "pkranges"],
        _ => return None,
    })
}

/// Whether the operation addresses a feed, and not one resource of a feed.
fn is_of_feed(operation: OperationType) -> bool {
    matches!(
        operation,
        OperationType::Create
            | OperationType::Upsert
            | OperationType::ReadFeed
            | OperationType::HeadFeed
            | OperationType::Query
            | OperationType::SQLQuery
            | OperationType::Batch
    )
}

fn unknown(resource: ResourceType) -> Failure {
    Failure::NotImplemented(format!(
        "Resources of type {resource:?} are not built into the direct mode of this version of Orrery; see COMPAT.md."
    ))
}

fn missing(keyword: &str) -> Failure {
    Failure::BadRequest(format!(
        "One of the input values is invalid. The request has no name and no resource id for '{keyword}'."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_resource_ids_become_paths() {
        let names = AddressTokens {
            database: Some("d é"),
            container: Some("c/%"),
            user: Some("u"),
            child: Some("x"),
            // The resource id of the container, which .NET adds.
            rid: Some(&[1, 2, 3, 4, 129, 0, 0, 0]),
        };
        let rid = |bytes| AddressTokens {
            rid: Some(bytes),
            ..AddressTokens::default()
        };
        for (tokens, resource, operation, expected) in [
            (
                names,
                ResourceType::Document,
                OperationType::Read,
                "/dbs/d%20%C3%A9/colls/c%2F%25/docs/x",
            ),
            (
                names,
                ResourceType::Document,
                OperationType::Query,
                "/dbs/d%20%C3%A9/colls/c%2F%25/docs",
            ),
            (
                names,
                ResourceType::StoredProcedure,
                OperationType::ExecuteJavaScript,
                "/dbs/d%20%C3%A9/colls/c%2F%25/sprocs/x",
            ),
            (
                names,
                ResourceType::Permission,
                OperationType::ReadFeed,
                "/dbs/d%20%C3%A9/users/u/permissions",
            ),
            (
                names,
                ResourceType::Collection,
                OperationType::Head,
                "/dbs/d%20%C3%A9/colls/c%2F%25",
            ),
            (
                AddressTokens::default(),
                ResourceType::Database,
                OperationType::HeadFeed,
                "/dbs",
            ),
            (
                rid(&[1, 2, 3, 4]),
                ResourceType::Collection,
                OperationType::ReadFeed,
                "/dbs/AQIDBA%3D%3D/colls",
            ),
            (
                rid(&[255, 255, 255, 4, 129, 0, 0, 0]),
                ResourceType::Document,
                OperationType::Create,
                "/dbs/----BA%3D%3D/colls/----BIEAAAA%3D/docs",
            ),
        ] {
            assert_eq!(
                tokens.path(resource, operation).unwrap(),
                expected,
                "{resource:?} {operation:?}"
            );
        }
    }

    #[test]
    fn incomplete_addresses_are_refused() {
        for (rid, resource, operation) in [
            (&[][..], ResourceType::Document, OperationType::Read),
            (&[1, 2, 3, 4], ResourceType::Document, OperationType::Create),
            (&[1, 2, 3], ResourceType::Database, OperationType::Read),
            (&[], ResourceType::Attachment, OperationType::Read),
        ] {
            let tokens = AddressTokens {
                rid: Some(rid),
                ..AddressTokens::default()
            };
            assert!(tokens.path(resource, operation).is_err(), "{resource:?}");
        }
    }
}
