//! Checks whether this region may answer: whether the account contains the region, and whether the
//! region takes the write.
//!
//! Reads wait for their consistency level where they read
//! ([`crate::exchange::Exchange::admit_read`]), so that their refusals name the container and the
//! partition like every other answer about items.

use std::sync::Arc;

use hyper::Method;
use orrery_account::{Availability, Locations, Region};
use orrery_engine::Engine;
use orrery_model::{Failure, RegionSession, ScriptKind};
use orrery_wire::{Action, RequestHeaders, Resource, parse_session_token};

use crate::routes::ACCOUNT_ID;

/// Checks that the region is part of the account and up. Every request passes this check first.
pub(crate) fn check_available(region: &Region) -> Result<(), Failure> {
    match region.availability() {
        // A region that returns refuses reads of data later, in `check_action`; it still answers
        // the account document.
        Availability::Serving | Availability::Returning => Ok(()),
        Availability::Removed => Err(Failure::AccountNotFound(ACCOUNT_ID.to_owned())),
        Availability::Down => {
            let name = region.name();
            // The client cannot act on the difference, but an operator who reads the message can.
            let why = if region.is_broken() {
                "broke down"
            } else {
                "was taken down"
            };
            Err(Failure::Unavailable(format!(
                "Service is currently unavailable. Region '{name}' {why}."
            )))
        }
    }
}

/// Checks whether the region takes an action. Every request passes this check after authorization
/// and before it has an effect. A write may wait here until the region begins to take writes.
pub(crate) async fn check_action(
    region: &Region,
    engine: &Arc<Engine>,
    action: Action,
    method: &Method,
    resource: Resource<'_>,
    headers: &RequestHeaders<'_>,
) -> Result<(), Failure> {
    // The account document is readable while the region returns: clients learn from it where else
    // to read.
    if action == Action::Read && resource != Resource::Account {
        check_history(region)?;
    }
    let is_for_catalogue = action == Action::Write && !writes_items(method, resource);
    if action == Action::Write {
        if is_for_catalogue {
            region.admit_catalogue_write().await?;
        } else {
            region.admit_write().await?;
        }
        // The role of the region may change during the wait, so the session is read after the wait.
        let token = headers.session_token.unwrap_or_default();
        if is_outdated(token, &region.session(engine)) {
            return Err(Failure::WriteForbidden);
        }
    }
    // The hub alone changes the catalogue, or two regions could give one name to two containers.
    let is_for_hub = headers.hub_only || is_for_catalogue;
    if is_for_hub && !is_hub(region.locations().as_ref(), region.name()) {
        return Err(Failure::WriteForbidden);
    }
    Ok(())
}

/// Refuses reads in a region that returns: its data may have a diverged suffix that log repair has
/// not removed yet.
fn check_history(region: &Region) -> Result<(), Failure> {
    if region.availability() == Availability::Returning {
        return Err(Failure::Unavailable(format!(
            "Service is currently unavailable. Region '{}' was away and brings itself up to date. Read in another region.",
            region.name()
        )));
    }
    Ok(())
}

/// Whether the token of a client has a newer version than this region. The client received such a
/// token from the present write region, so this region was superseded without notice. No other
/// write fails because of a token. In a multi-write account no region is superseded: there the
/// write waits ([`crate::exchange::Exchange::admit_write`]).
fn is_outdated(token: &str, session: &RegionSession) -> bool {
    let may_be_replaced = *session != RegionSession::SINGLE_REGION && session.vector.is_none();
    let mut parts = parse_session_token(token).filter_map(Result::ok);
    may_be_replaced && parts.any(|part| part.version > session.version)
}

/// Whether the region is the hub. In a multi-write account all regions write items, and only the
/// hub, the first of them, writes the catalogue.
fn is_hub(locations: Option<&Locations>, name: &str) -> bool {
    let Some(locations) = locations else {
        return true;
    };
    let hub = locations.writable.first();
    hub.is_some_and(|hub| hub.name == name)
}

/// Whether a write changes items. Every other write changes the catalogue.
fn writes_items(method: &Method, resource: Resource<'_>) -> bool {
    match resource {
        Resource::Items(_)
        | Resource::Item(_)
        | Resource::PartitionKeyDelete(_)
        | Resource::Conflict(..) => true,
        Resource::Script(_, ScriptKind::StoredProcedure, _) => *method == Method::POST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use orrery_account::Location;
    use orrery_model::{ContainerAddress, SessionVector};

    use super::*;

    const CONTAINER: ContainerAddress<'_> = ContainerAddress::Name {
        database: "d",
        container: "c",
    };

    #[test]
    fn the_first_writable_region_is_the_hub() {
        let locations = |names: &[&str]| Locations {
            writable: names
                .iter()
                .map(|name| Location {
                    name: (*name).to_owned(),
                    endpoint: "http://h".to_owned(),
                })
                .collect(),
            ..Locations::default()
        };
        for (locations, expected) in [
            (None, true),
            (Some(locations(&[])), false),
            (Some(locations(&["West US"])), true),
            (Some(locations(&["North Europe"])), false),
            (Some(locations(&["West US", "North Europe"])), true),
            (Some(locations(&["North Europe", "West US"])), false),
        ] {
            let hub = is_hub(locations.as_ref(), "West US");
            assert_eq!(hub, expected, "{locations:?}");
        }
    }

    #[test]
    fn a_newer_token_tells_of_another_write_region() {
        for (token, version, expected) in [
            ("", 5, false),
            ("0:5#99", 5, false),
            ("0:4#99", 5, false),
            ("0:-1#99", 5, false),
            ("0:6#1", 5, true),
            ("0:5#1,1:6#1", 5, true),
            ("nonsense", 5, false),
            ("0:6#1", -1, false),
        ] {
            let mut session = RegionSession {
                version,
                vector: None,
            };
            let found = is_outdated(token, &session);
            assert_eq!(found, expected, "{token} {version}");
            session.vector = Some(SessionVector::default());
            assert!(!is_outdated(token, &session), "{token}: it waits");
        }
    }

    #[test]
    fn items_are_not_the_catalogue() {
        let procedure = Resource::Script(CONTAINER, ScriptKind::StoredProcedure, "s");
        for (method, resource, expected) in [
            (Method::POST, Resource::Items(CONTAINER), true),
            (Method::POST, Resource::PartitionKeyDelete(CONTAINER), true),
            (Method::DELETE, Resource::Conflict(CONTAINER, "x"), true),
            (Method::POST, procedure, true),
            (Method::PUT, procedure, false),
            (
                Method::POST,
                Resource::Scripts(CONTAINER, ScriptKind::Trigger),
                false,
            ),
            (Method::PUT, Resource::Container(CONTAINER), false),
            (Method::POST, Resource::Partitions(CONTAINER), false),
            (Method::POST, Resource::Databases, false),
        ] {
            let found = writes_items(&method, resource);
            assert_eq!(found, expected, "{method} {resource:?}");
        }
    }
}
