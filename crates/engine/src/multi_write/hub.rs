//! Duties of the hub region: it ends conflicts that no client ends.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use orrery_model::{ConflictPolicy, Failure, Script, ScriptKind};
use orrery_partition::{Container, ScanRange};
use orrery_regions::VersionId;
use tokio::sync::Notify;

use super::conflicts::has_custom_resolution;
use crate::Engine;
use crate::catalogue::ContainerEntry;

/// Conflicts per step, each step over one snapshot.
const STEP_CONFLICTS: usize = 100;

/// The item, the losing version and the etag of the procedure that failed on them.
type FailedAttempt = (Bytes, VersionId, String);

#[derive(Debug, Default)]
pub(crate) struct HubState {
    is_hub: AtomicBool,
    /// Attempts that have failed once. Their conflicts wait in the feed.
    failed_attempts: Mutex<BTreeSet<FailedAttempt>>,
    /// Wakes waiting writes when the access table of this region changes.
    pub(super) access_changed: Notify,
}

impl HubState {
    fn failed_attempts(&self) -> MutexGuard<'_, BTreeSet<FailedAttempt>> {
        self.failed_attempts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Makes this region the hub, or ends that role.
    pub fn set_hub(&self, is_hub: bool) {
        self.hub.is_hub.store(is_hub, Ordering::Release);
        // A region that becomes the hub again tries every procedure once more.
        if is_hub {
            self.hub.failed_attempts().clear();
        }
    }

    pub fn is_hub(&self) -> bool {
        self.hub.is_hub.load(Ordering::Acquire)
    }

    /// Resolves conflicts: the hub those of every key, a region with an access table those of its
    /// own keys. Other regions do nothing. The background sweep calls this every second.
    pub async fn resolve_conflicts(self: &Arc<Self>) -> Result<(), Failure> {
        if self.region().is_none() || !(self.is_hub() || self.has_access_table()) {
            return Ok(());
        }
        let catalogue = self.catalogue();
        let databases = catalogue.databases.values();
        for entry in databases.flat_map(|database| database.containers.values()) {
            self.resolve_conflicts_in(entry).await?;
        }
        Ok(())
    }

    async fn resolve_conflicts_in(self: &Arc<Self>, entry: &ContainerEntry) -> Result<(), Failure> {
        let container = &entry.container;
        let procedure = procedure(entry);
        let wants_decisions = procedure.is_some() || !has_custom_resolution(container);
        let has_keys = !container.definition.unique_keys.is_empty();
        if self.has_access_table() && procedure.is_none() {
            // With an access table, a losing version stays in the feed until a client or procedure
            // decides.
            return Ok(());
        }
        if !wants_decisions || (!has_custom_resolution(container) && !has_keys) {
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
                // Another region takes the writes of this key, and decides its conflicts.
                if !self.store.takes(&conflict.item) {
                    continue;
                }
                let Some(loser) = conflict.losers.first().map(|loser| loser.id) else {
                    continue;
                };
                // The first loser is the best hidden version; a decision about it covers the
                // others.
                let decided = match &procedure {
                    Some(script) => self.try_procedure(container, script, &conflict.item, loser),
                    None if conflict.is_contested => {
                        match self.resolve_conflict(container, conflict.item, loser).await {
                            // A client has already decided this conflict.
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

    /// Runs the conflict procedure, unless the same attempt has already failed.
    async fn try_procedure(
        self: &Arc<Self>,
        container: &Arc<Container>,
        script: &Arc<Script>,
        item: &Bytes,
        loser: VersionId,
    ) -> Result<(), Failure> {
        let tag = script.etag.as_str().to_owned();
        let attempt = (item.clone(), loser, tag);
        if self.hub.failed_attempts().contains(&attempt) {
            return Ok(());
        }
        match self.resolve_by_procedure(container, script, item).await {
            Ok(()) => Ok(()),
            // A refusal that can pass is not recorded as a failed attempt.
            Err(failure @ (Failure::Unavailable(_) | Failure::RetryWith)) => Err(failure),
            Err(failure) => {
                tracing::warn!(script = script.id, %failure, "a conflict waits in the feed: its procedure failed");
                self.hub.failed_attempts().insert(attempt);
                Ok(())
            }
        }
    }
}

/// The registered procedure that resolves the conflicts of a container.
fn procedure(entry: &ContainerEntry) -> Option<Arc<Script>> {
    let ConflictPolicy::Custom { procedure } = &entry.container.definition.conflict else {
        return None;
    };
    let id = procedure.trim_end_matches('/').rsplit('/').next()?;
    entry.scripts.get(ScriptKind::StoredProcedure, id).cloned()
}
