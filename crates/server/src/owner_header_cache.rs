//! The headers that name a container as the owner of items, made once for each container.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use orrery_keys::ContainerRid;
use orrery_wire::OwnerHeaders;

/// The number of cached containers from which on the cache is cleared, so that deleted containers
/// do not stay in it.
const ENTRIES_MAX: usize = 10_000;

/// The largest age of the usage figures in an answer.
const USAGE_SECONDS_MAX: u64 = 5;

#[derive(Default)]
pub(crate) struct OwnerHeaderCache {
    by_container: RwLock<HashMap<ContainerRid, CachedHeaders>>,
}

struct CachedHeaders {
    headers: OwnerHeaders,
    made_seconds: u64,
}

impl OwnerHeaderCache {
    /// The headers of a container. The names of a resource id never change; the usage of the
    /// container does, so its headers are made again after a few seconds.
    pub(crate) fn of(
        &self,
        container: ContainerRid,
        now_seconds: u64,
        make: impl FnOnce() -> OwnerHeaders,
    ) -> OwnerHeaders {
        let known = self
            .by_container
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let is_fresh =
            |known: &&CachedHeaders| now_seconds.abs_diff(known.made_seconds) < USAGE_SECONDS_MAX;
        if let Some(known) = known.get(&container).filter(is_fresh) {
            return known.headers.clone();
        }
        drop(known);
        // Made without a lock: `make` reads every partition of the container.
        let headers = make();
        let mut known = self
            .by_container
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ENTRIES_MAX {
            // The headers of live containers are made again at their next request.
            known.clear();
        }
        let made = CachedHeaders {
            headers: headers.clone(),
            made_seconds: now_seconds,
        };
        known.insert(container, made);
        headers
    }
}
