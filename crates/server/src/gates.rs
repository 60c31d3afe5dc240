//! Whether this region may answer: is it part of the account, does it take this write.
//!
//! Reads wait for their level where they read ([`crate::exchange::Exchange::admit_read`]), so that
//! their refusals name container and partition like every other answer about items.

use std::sync::Arc;

use hyper::Method;
use orrery_account::{Availability, Locations, Region};
use orrery_engine::Engine;
use orrery_model::{Failure, ScriptKind, Session};
use orrery_wire::{Action, RequestHeaders, Resource, parse_session_token};

use crate::routes::ACCOUNT_ID;

/// Asked before anything else of every request.
pub(crate) fn check_present(region: &Region) -> Result<(), Failure> {
    match region.availability() {
        // What is no part of the history is no answer; the rest is.
        Availability::Serving | Availability::Returning => Ok(()),
        Availability::Removed => Err(Failure::AccountNotFound(ACCOUNT_ID.to_owned())),
        Availability::Down => {
            let name = region.name();
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

/// Asked of every request that is understood and allowed, before it does anything. A write may wait here
/// for the region to begin.
pub(crate) async fn check_action(
    region: &Region,
    engine: &Arc<Engine>,
    action: Action,
    method: &Method,
    resource: Resource<'_>,
    headers: &RequestHeaders<'_>,
) -> Result<(), Failure> {
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
        let token = headers.session_token.unwrap_or_default();
        if is_outdated(token, &region.session(engine)) {
            return Err(Failure::WriteForbidden);
        }
    }
    let is_for_hub = headers.hub_only || is_for_catalogue;
    if is_for_hub && !is_hub(region.locations().as_ref(), region.name()) {
        return Err(Failure::WriteForbidden);
    }
    Ok(())
}

fn check_history(region: &Region) -> Result<(), Failure> {
    if region.availability() == Availability::Returning {
        return Err(Failure::Unavailable(format!(
            "Service is currently unavailable. Region '{}' was away and brings itself up to date. Read in another region.",
            region.name()
        )));
    }
    Ok(())
}

/// A client that has seen a newer version comes from where the account is now: this region was
/// replaced and does not know it. Writes do not fail because of tokens otherwise. Where every region
/// writes none is replaced: the write waits ([`crate::exchange::Exchange::admit_write`]).
fn is_outdated(token: &str, session: &Session) -> bool {
    let may_be_replaced = *session != Session::ALONE && session.vector.is_none();
    let mut parts = parse_session_token(token).filter_map(Result::ok);
    may_be_replaced && parts.any(|part| part.version > session.version)
}

/// Where all regions write items, only the first of them writes the catalogue.
fn is_hub(locations: Option<&Locations>, name: &str) -> bool {
    let Some(locations) = locations else {
        return true;
    };
    let hub = locations.writable.first();
    hub.is_some_and(|hub| hub.name == name)
}

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
            let mut session = Session {
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
