//! What one region does for all: the hub ends conflicts that would never end by themselves.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use orrery_model::{ConflictPolicy, Failure, Script, ScriptKind};
use orrery_partition::{Container, ScanRange};
use orrery_regions::Stamp;
use tokio::sync::Notify;

use super::conflicts::is_by_hub;
use crate::Engine;
use crate::catalogue::ContainerEntry;

/// Conflicts that are looked at with one snapshot.
const STEP_CONFLICTS: usize = 100;

/// A conflict, and the procedure that could not decide it.
type Failed = (Bytes, Stamp, String);

#[derive(Debug, Default)]
pub(crate) struct HubState {
    is_hub: AtomicBool,
    /// Tried once; they wait in the feed.
    failed: Mutex<BTreeSet<Failed>>,
    /// Told when this region answers for other keys.
    pub(super) access_changed: Notify,
}

impl HubState {
    fn failed(&self) -> MutexGuard<'_, BTreeSet<Failed>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Makes this region the one that decides for all, or not.
    pub fn set_hub(&self, is_hub: bool) {
        self.hub.is_hub.store(is_hub, Ordering::Release);
        if is_hub {
            self.hub.failed().clear();
        }
    }

    pub fn is_hub(&self) -> bool {
        self.hub.is_hub.load(Ordering::Acquire)
    }

    /// Ends what conflicts it can, as the hub, or of the keys whose writes are taken here; elsewhere
    /// it does nothing. The sweep in the background does it every second.
    pub async fn decide_conflicts(self: &Arc<Self>) -> Result<(), Failure> {
        if self.region().is_none() || !(self.is_hub() || self.is_divided()) {
            return Ok(());
        }
        let catalogue = self.catalogue();
        let databases = catalogue.databases.values();
        for entry in databases.flat_map(|database| database.containers.values()) {
            self.decide_in(entry).await?;
        }
        Ok(())
    }

    async fn decide_in(self: &Arc<Self>, entry: &ContainerEntry) -> Result<(), Failure> {
        let container = &entry.container;
        let procedure = procedure(entry);
        let wants_decisions = procedure.is_some() || !is_by_hub(container);
        let has_keys = !container.definition.unique_keys.is_empty();
        if self.is_divided() && procedure.is_none() {
            // What lost waits in the feed, whatever it lost.
            return Ok(());
        }
        if !wants_decisions || (!is_by_hub(container) && !has_keys) {
            return Ok(());
        }
        let scope = ScanRange::of_whole(container);
        let mut after: Option<Bytes> = None;
        loop {
            let step = self
                .store
                .conflicts(&scope, after.as_ref(), STEP_CONFLICTS)?;
            let is_last = step.len() < STEP_CONFLICTS;
            after = step.last().map(|last| last.item.clone());
            for conflict in step {
                if !self.store.takes(&conflict.item) {
                    continue;
                }
                let Some(loser) = conflict.losers.first().map(|loser| loser.stamp) else {
                    continue;
                };
                let decided = match &procedure {
                    Some(script) => self.try_procedure(container, script, &conflict.item, loser),
                    None if conflict.is_contested => {
                        match self.settle(container, conflict.item, loser).await {
                            Err(Failure::NotFound(_)) | Ok(()) => continue,
                            Err(failure) => return Err(failure),
                        }
                    }
                    None => continue,
                };
                decided.await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Runs the procedure, unless it has failed on the same before.
    async fn try_procedure(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Arc<Script>,
        item: &Bytes,
        loser: Stamp,
    ) -> Result<(), Failure> {
        let tag = script.etag.as_str().to_owned();
        let attempt = (item.clone(), loser, tag);
        if self.hub.failed().contains(&attempt) {
            return Ok(());
        }
        match self.decide_by_procedure(container, script, item).await {
            Ok(()) => Ok(()),
            Err(failure @ (Failure::Unavailable(_) | Failure::RetryWith)) => Err(failure),
            Err(failure) => {
                tracing::warn!(script = script.id, %failure, "a conflict waits in the feed: its procedure failed");
                self.hub.failed().insert(attempt);
                Ok(())
            }
        }
    }
}

/// The procedure that decides the conflicts of a container, if it is registered.
fn procedure(entry: &ContainerEntry) -> Option<Arc<Script>> {
    let ConflictPolicy::Custom { procedure } = &entry.container.definition.conflict else {
        return None;
    };
    let id = procedure.trim_end_matches('/').rsplit('/').next()?;
    entry.scripts.get(ScriptKind::StoredProcedure, id).cloned()
}
