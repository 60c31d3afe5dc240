//! Background work of an account: it removes expired items and the documents of deleted containers,
//! and it rebuilds indexes after a policy change.
//!
//! Each task holds the engine weakly, so that the task ends together with the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use orrery_model::Failure;
use orrery_partition::{Container, ExpiryCandidate, IndexPolicyState, policy_change};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use crate::catalogue_rows::{self, UnfinishedWork};
use crate::engine::stopping_failure;
use crate::{Engine, ReplicationRole};

/// Reads already hide an expired item, so the sweep may remove the stored row later.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Items that one expiry step submits to the committer.
const SWEEP_ITEMS: usize = 500;
/// Time between two attempts at work that the store refuses for the moment.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

/// Starts the sweep and resumes the work that an earlier run recorded in the catalogue.
pub(crate) fn start(engine: &Arc<Engine>, pending: UnfinishedWork, sweeps: bool) {
    if sweeps {
        let sweep = sweep(Arc::downgrade(engine), Arc::clone(&engine.wake));
        engine.runtime.spawn(sweep);
    }
    resume_work(engine, pending);
}

/// Resumes recorded work. A follower skips the steps that write records, because it applies the
/// records that its writer makes of these steps.
pub(crate) fn resume_work(engine: &Arc<Engine>, pending: UnfinishedWork) {
    purge(engine, pending.purges);
    let catalogue = engine.catalogue();
    let is_writer = engine.role() == ReplicationRole::Writer;
    for number in pending.ttl_changes.into_iter().filter(|_| is_writer) {
        if let Some(entry) = catalogue.container_by_number(number) {
            engine.backfill_expiry(&entry.container);
        }
    }
    for database in catalogue.databases.values() {
        for entry in database.containers.values() {
            engine.resume_indexing(&entry.container);
            if is_writer {
                engine.count_estimates(&entry.container);
            }
        }
    }
}

/// Removes the documents of deleted containers in steps, so that other requests run in between.
pub(crate) fn purge(engine: &Arc<Engine>, containers: Vec<u32>) {
    if containers.is_empty() {
        return;
    }
    let (runtime, engine) = (engine.runtime.clone(), Arc::downgrade(engine));
    runtime.spawn(async move {
        for container in containers {
            // A failure ends only this container: its purge mark stays in the catalogue.
            let done = retry_while_unavailable(&engine, || purge_container(&engine, container)).await;
            if let Err(failure) = done {
                tracing::warn!(container, %failure, "a deleted container was not removed; it will be at the next start");
            }
        }
    });
}

/// Repeats a piece of work while the store refuses writes for a reason that can pass.
async fn retry_while_unavailable<W>(
    engine: &Weak<Engine>,
    mut work: impl FnMut() -> W,
) -> Result<(), Failure>
where
    W: Future<Output = Result<(), Failure>>,
{
    loop {
        let Err(failure) = work().await else {
            return Ok(());
        };
        // A store that has failed takes no more records until a restart, so a retry is useless.
        let has_failed = engine
            .upgrade()
            .is_none_or(|engine| engine.problem().is_some());
        if has_failed || !matches!(failure, Failure::Unavailable(_)) {
            return Err(failure);
        }
        sleep(REFUSED_PAUSE).await;
    }
}

/// Removes the documents of one deleted container step by step, then its purge mark.
async fn purge_container(engine: &Weak<Engine>, container: u32) -> Result<(), Failure> {
    loop {
        let engine = engine.upgrade().ok_or_else(stopping_failure)?;
        let (reply, answer) = oneshot::channel();
        engine
            .store
            .submit_purge(container, Box::new(move |result| drop(reply.send(result))));
        let more = answer.await.unwrap_or_else(|_| Err(stopping_failure()))?;
        if !more {
            // A purge step is not in the log. If the mark went before the storage synced the
            // removals, a loss of power would bring the documents back and no restart would remove
            // them.
            engine
                .store
                .persist()
                .map_err(|error| Failure::Internal(error.to_string()))?;
            // The writer's record removes the mark on a follower too. A follower makes no records.
            return match engine.role() {
                ReplicationRole::Writer => {
                    engine
                        .write_catalogue(vec![catalogue_rows::delete_purge(container)])
                        .await
                }
                ReplicationRole::Follower => Ok(()),
            };
        }
    }
}

/// Runs the periodic steps until the engine is dropped.
async fn sweep(engine: Weak<Engine>, wake: Arc<Notify>) {
    loop {
        // Timeout and notification both start a sweep, so the result carries no information.
        let _ = timeout(SWEEP_INTERVAL, wake.notified()).await;
        // A dropped engine ends its sweep.
        let Some(engine) = engine.upgrade() else {
            return;
        };
        // Each step reports its own failure, so that one refused step does not stop the steps after
        // it.
        if let Err(failure) = engine.remove_expired().await {
            tracing::warn!(%failure, "expired items were not removed; the next sweep tries again");
        }
        if let Err(failure) = engine.resolve_conflicts().await {
            tracing::warn!(%failure, "conflicts were not decided; the next sweep tries again");
        }
        if let Err(failure) = engine.auto_split().await {
            tracing::warn!(%failure, "partitions were not split; the next sweep tries again");
        }
        if let Err(failure) = engine.trim_history().await {
            tracing::warn!(%failure, "old history was not removed; the next sweep tries again");
        }
    }
}

impl Engine {
    /// Removes every item that has expired by now.
    ///
    /// A follower applies the removals as records of its writer. In a multi-write account the hub
    /// alone removes expired items; with an access table each region removes the items whose keys
    /// it owns.
    pub async fn remove_expired(self: &Arc<Self>) -> Result<(), Failure> {
        if self.role() == ReplicationRole::Follower
            || !(self.region().is_none() || self.is_hub() || self.has_access_table())
        {
            return Ok(());
        }
        loop {
            let now_seconds = self.now_seconds();
            let due = self
                .store
                .expiry_candidates(now_seconds, SWEEP_ITEMS)
                .map_err(|error| Failure::Internal(error.to_string()))?;
            // A full step may have left further expired items behind.
            let full = due.len() == SWEEP_ITEMS;
            let mut by_container: BTreeMap<u32, Vec<ExpiryCandidate>> = BTreeMap::new();
            for due in due {
                by_container.entry(due.container()).or_default().push(due);
            }
            for (number, due) in by_container {
                // The container may have been deleted meanwhile. Without a container the committer
                // only deletes the expiry entries.
                let catalogue = self.catalogue();
                let entry = catalogue.container_by_number(number);
                let container = entry.map(|entry| Arc::clone(&entry.container));
                self.expire(container, due, now_seconds).await?;
            }
            if !full {
                return Ok(());
            }
        }
    }

    /// Removes the change history that is older than each container's retention.
    pub async fn trim_history(self: &Arc<Self>) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        let containers = catalogue
            .databases
            .values()
            .flat_map(|database| database.containers.values());
        for entry in containers.filter(|entry| entry.container.keeps_history()) {
            self.trim_history_of(&entry.container).await?;
        }
        Ok(())
    }

    /// Trims the history of one container step by step until the store reports that nothing is
    /// left.
    pub(crate) async fn trim_history_of(&self, container: &Arc<Container>) -> Result<(), Failure> {
        loop {
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            let now_seconds = self.now_seconds();
            self.store
                .submit_trim_history(Arc::clone(container), now_seconds, reply);
            if !answer.await.unwrap_or_else(|_| Err(stopping_failure()))? {
                return Ok(());
            }
        }
    }

    /// Adds expiry entries for items that were written before the TTL of their container changed.
    ///
    /// A mark in the catalogue lasts until the work is done, so that a restart resumes the
    /// backfill.
    pub(crate) fn backfill_expiry(self: &Arc<Self>, container: &Arc<Container>) {
        let (engine, container) = (Arc::downgrade(self), Arc::clone(container));
        self.runtime.spawn(async move {
            let done =
                retry_while_unavailable(&engine, || run_expiry_backfill(&engine, &container)).await;
            if let Err(failure) = done {
                tracing::warn!(%failure, "items were not entered for expiry; the next start will");
            }
        });
    }

    /// Rewrites the index entries of stored documents to the container's indexing policy.
    pub(crate) fn reindex(self: &Arc<Self>, container: &Arc<Container>) {
        let (engine, number) = (Arc::downgrade(self), container.rid.id());
        self.runtime.spawn(async move {
            let done = retry_while_unavailable(&engine, || reindex_all(&engine, number)).await;
            if let Err(failure) = done {
                tracing::warn!(container = number, %failure, "an index does not follow its policy yet; the next start goes on");
            }
        });
    }

    /// Resumes an index that an earlier run left unfinished, and begins one that has no policy row.
    pub(crate) fn resume_indexing(self: &Arc<Self>, container: &Arc<Container>) {
        match self.store.index_policy_state(container) {
            Ok(IndexPolicyState::Current) => {}
            Ok(IndexPolicyState::Rebuilding) => self.reindex(container),
            // The writer's record of the policy change begins the rebuild on a follower too.
            Ok(IndexPolicyState::Mismatched) if self.role() == ReplicationRole::Follower => {}
            Ok(IndexPolicyState::Mismatched) => {
                let (engine, container) = (Arc::clone(self), Arc::clone(container));
                self.runtime.spawn(async move {
                    // The policy row must be durable before the walk: a restart in between finds
                    // the row and resumes the walk.
                    let change = policy_change(&container, false);
                    match engine.write_catalogue(vec![change]).await {
                        Ok(()) => engine.reindex(&container),
                        Err(failure) => tracing::warn!(%failure, "an index was not begun"),
                    }
                });
            }
            Err(error) => tracing::warn!(%error, "the state of an index cannot be read"),
        }
    }

    /// Submits one step of removals or expiry entries and waits until its record is durable.
    async fn expire(
        &self,
        container: Option<Arc<Container>>,
        due: Vec<ExpiryCandidate>,
        now_seconds: u64,
    ) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_expiry(container, due, now_seconds, reply);
        answer.await.unwrap_or_else(|_| Err(stopping_failure()))
    }
}

/// Walks the container until the store has rewritten every document.
async fn reindex_all(engine: &Weak<Engine>, container: u32) -> Result<(), Failure> {
    loop {
        // The engine is upgraded per step: a long walk must not hold the engine open at shutdown.
        let engine = engine.upgrade().ok_or_else(stopping_failure)?;
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        engine.store.submit_reindex(container, reply);
        if !answer.await.unwrap_or_else(|_| Err(stopping_failure()))? {
            return Ok(());
        }
    }
}

/// Adds the missing expiry entries of a container page by page, then removes the mark.
async fn run_expiry_backfill(
    engine: &Weak<Engine>,
    container: &Arc<Container>,
) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let engine = engine.upgrade().ok_or_else(stopping_failure)?;
        let found = engine
            .store
            .missing_expiry_entries(container, after.as_ref(), SWEEP_ITEMS)
            .map_err(|error| Failure::Internal(error.to_string()))?;
        let Some(last) = found.last() else {
            // No document lacks its entry, so the mark can go. Items written meanwhile carry the
            // new TTL.
            let number = container.rid.id();
            return engine
                .write_catalogue(vec![catalogue_rows::delete_ttl_change(number)])
                .await;
        };
        // The next page begins behind the last key, also if that item was not changed by this step.
        after = Some(last.key.clone());
        let now_seconds = engine.now_seconds();
        engine
            .expire(Some(Arc::clone(container)), found, now_seconds)
            .await?;
    }
}
