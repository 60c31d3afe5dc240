//! Whether a request reads or writes, which the role of a key and the mode of a token restrict.

use http::Method;
use orrery_model::{AccountKeyRole, Failure};

use crate::headers::{FeedPost, RequestHeaders};
use crate::path::Resource;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reads, feeds, queries and query plans.
    Read,
    Write,
}

impl Action {
    /// The action of a request. Only feeds accept queries: the path of any other `POST` decides its
    /// action, whatever the headers contain.
    pub fn of(method: &Method, resource: Resource<'_>, headers: &RequestHeaders<'_>) -> Action {
        let is_query = *method == Method::POST
            && resource.is_feed()
            && matches!(headers.feed_post(), FeedPost::Query | FeedPost::QueryPlan);
        let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        if reads || is_query {
            Action::Read
        } else {
            Action::Write
        }
    }
}

/// Checks the role of the key. A read-only key neither writes nor reads permissions, whose tokens
/// may allow writes.
pub fn check_role(
    role: AccountKeyRole,
    action: Action,
    resource: Resource<'_>,
) -> Result<(), Failure> {
    // A read of a permission returns a token, and the token may allow writes.
    let hands_out_tokens = matches!(resource, Resource::Permissions(_) | Resource::Permission(_));
    if role == AccountKeyRole::ReadOnly && (action == Action::Write || hands_out_tokens) {
        return Err(Failure::Forbidden(
            "The request cannot be authorized by a read-only key. Sign it with a read-write key."
                .to_owned(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;
    use orrery_model::{ContainerAddress, DatabaseAddress, ScriptKind, UserAddress};

    #[test]
    fn queries_are_reads() {
        let mut map = HeaderMap::new();
        let feed = Resource::Databases;
        let action = |method: &Method, map: &HeaderMap| {
            Action::of(method, feed, &RequestHeaders::parse(map).unwrap())
        };
        assert_eq!(action(&Method::GET, &map), Action::Read);
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(action(&method, &map), Action::Write, "{method}");
        }
        map.insert("x-ms-documentdb-isquery", HeaderValue::from_static("True"));
        assert_eq!(action(&Method::POST, &map), Action::Read);
        assert_eq!(action(&Method::DELETE, &map), Action::Write);
        let container = ContainerAddress::Name {
            database: "d",
            container: "c",
        };
        let procedure = Resource::Script(container, ScriptKind::StoredProcedure, "s");
        for resource in [procedure, Resource::PartitionKeyDelete(container)] {
            let headers = RequestHeaders::parse(&map).unwrap();
            let action = Action::of(&Method::POST, resource, &headers);
            assert_eq!(action, Action::Write, "{resource:?}");
        }
    }

    #[test]
    fn read_only_keys_hand_out_nothing() {
        let database = Resource::Database(DatabaseAddress::Name("d"));
        let permissions = Resource::Permissions(UserAddress::Name {
            database: "d",
            user: "u",
        });
        for (role, action, resource, expected) in [
            (AccountKeyRole::ReadWrite, Action::Write, database, true),
            (AccountKeyRole::ReadWrite, Action::Read, permissions, true),
            (AccountKeyRole::ReadOnly, Action::Read, database, true),
            (AccountKeyRole::ReadOnly, Action::Write, database, false),
            (AccountKeyRole::ReadOnly, Action::Read, permissions, false),
        ] {
            assert_eq!(
                check_role(role, action, resource).is_ok(),
                expected,
                "{role:?} {action:?}"
            );
        }
    }
}
