//! The headers that name a container as the owner of items, made once for each container.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use orrery_keys::ContainerRid;
use orrery_wire::OwnerHeaders;

/// Deleted containers are forgotten when this many have been seen.
const ENTRIES_MAX: usize = 10_000;

#[derive(Default)]
pub(crate) struct Owners {
    by_container: RwLock<HashMap<ContainerRid, OwnerHeaders>>,
}

impl Owners {
    /// Names never change under a resource id, so neither do these headers.
    pub(crate) fn of(
        &self,
        container: ContainerRid,
        make: impl FnOnce() -> OwnerHeaders,
    ) -> OwnerHeaders {
        let known = self
            .by_container
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(headers) = known.get(&container) {
            return headers.clone();
        }
        drop(known);
        let headers = make();
        let mut known = self
            .by_container
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ENTRIES_MAX {
            known.clear();
        }
        known.insert(container, headers.clone());
        headers
    }
}
