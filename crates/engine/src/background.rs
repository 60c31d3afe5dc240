//! Work that nobody waits for: removal of expired items and of what deleted containers left, and
//! indexes that follow their policies.
//!
//! Each task holds the engine weakly, so that it ends with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use orrery_model::Failure;
use orrery_partition::{Container, Due, IndexFollows, policy_change};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use crate::engine::stopping;
use crate::entries::{self, Pending};
use crate::{Engine, Role};

/// Expired items are invisible at once; they need not be removed at once.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
const SWEEP_ITEMS: usize = 500;
/// How often work is tried again that the store refuses for now.
const REFUSED_PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn start(engine: &Arc<Engine>, pending: Pending) {
    tokio::spawn(sweep(Arc::downgrade(engine), Arc::clone(&engine.wake)));
    take_up(engine, pending);
}

/// Begins what is left to do, as far as it is this account's to do.
pub(crate) fn take_up(engine: &Arc<Engine>, pending: Pending) {
    purge(engine, pending.purges);
    let catalogue = engine.catalogue();
    let is_writer = engine.role() == Role::Writer;
    for number in pending.ttl_changes.into_iter().filter(|_| is_writer) {
        if let Some(entry) = catalogue.container_by_number(number) {
            engine.enter_for_expiry(&entry.container);
        }
    }
    for database in catalogue.databases.values() {
        for entry in database.containers.values() {
            engine.take_up_index(&entry.container);
            if is_writer {
                engine.count_estimates(&entry.container);
            }
        }
    }
}

/// Removes the documents of deleted containers, a little at a time.
pub(crate) fn purge(engine: &Arc<Engine>, containers: Vec<u32>) {
    if containers.is_empty() {
        return;
    }
    let engine = Arc::downgrade(engine);
    tokio::spawn(async move {
        for container in containers {
            let done = persevere(&engine, || purge_container(&engine, container)).await;
            if let Err(failure) = done {
                tracing::warn!(container, %failure, "a deleted container was not removed; it will be at the next start");
            }
        }
    });
}

/// Does a piece of work again while the store refuses writes that it may take later.
async fn persevere<W>(engine: &Weak<Engine>, mut work: impl FnMut() -> W) -> Result<(), Failure>
where
    W: Future<Output = Result<(), Failure>>,
{
    loop {
        let Err(failure) = work().await else {
            return Ok(());
        };
        let has_failed = engine
            .upgrade()
            .is_none_or(|engine| engine.problem().is_some());
        if has_failed || !matches!(failure, Failure::Unavailable(_)) {
            return Err(failure);
        }
        sleep(REFUSED_PAUSE).await;
    }
}

async fn purge_container(engine: &Weak<Engine>, container: u32) -> Result<(), Failure> {
    loop {
        let engine = engine.upgrade().ok_or_else(stopping)?;
        let (reply, answer) = oneshot::channel();
        engine
            .store
            .submit_purge(container, Box::new(move |result| drop(reply.send(result))));
        let more = answer.await.unwrap_or_else(|_| Err(stopping()))?;
        if !more {
            // The mark may go only when the removal cannot be undone by a loss of power.
            engine
                .store
                .persist()
                .map_err(|error| Failure::Internal(error.to_string()))?;
            // A follower keeps the mark until the record comes that takes it away.
            return match engine.role() {
                Role::Writer => {
                    engine
                        .write_catalogue(vec![entries::delete_purge(container)])
                        .await
                }
                Role::Follower => Ok(()),
            };
        }
    }
}

async fn sweep(engine: Weak<Engine>, wake: Arc<Notify>) {
    loop {
        // Either way there may be something to do.
        let _ = timeout(SWEEP_INTERVAL, wake.notified()).await;
        let Some(engine) = engine.upgrade() else {
            return;
        };
        if let Err(failure) = engine.remove_expired().await {
            tracing::warn!(%failure, "expired items were not removed; the next sweep tries again");
        }
        if let Err(failure) = engine.decide_conflicts().await {
            tracing::warn!(%failure, "conflicts were not decided; the next sweep tries again");
        }
        if let Err(failure) = engine.balance().await {
            tracing::warn!(%failure, "partitions were not split; the next sweep tries again");
        }
        if let Err(failure) = engine.forget_history().await {
            tracing::warn!(%failure, "old history was not removed; the next sweep tries again");
        }
    }
}

impl Engine {
    /// Removes every item that has expired by now.
    ///
    /// On a follower they go when the records come that remove them; of regions that all write only
    /// the hub removes them, and where each key has its region only that one.
    pub async fn remove_expired(self: &Arc<Self>) -> Result<(), Failure> {
        if self.role() == Role::Follower
            || !(self.region().is_none() || self.is_hub() || self.is_divided())
        {
            return Ok(());
        }
        loop {
            let now_seconds = self.now_seconds();
            let due = self
                .store
                .due(now_seconds, SWEEP_ITEMS)
                .map_err(|error| Failure::Internal(error.to_string()))?;
            let full = due.len() == SWEEP_ITEMS;
            let mut by_container: BTreeMap<u32, Vec<Due>> = BTreeMap::new();
            for due in due {
                by_container.entry(due.container()).or_default().push(due);
            }
            for (number, due) in by_container {
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

    /// Removes the history that containers keep no longer.
    pub async fn forget_history(self: &Arc<Self>) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        let containers = catalogue
            .databases
            .values()
            .flat_map(|database| database.containers.values());
        for entry in containers.filter(|entry| entry.container.keeps_history()) {
            self.forget_history_of(&entry.container).await?;
        }
        Ok(())
    }

    pub(crate) async fn forget_history_of(
        &self,
        container: &Arc<Container>,
    ) -> Result<(), Failure> {
        loop {
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            let now_seconds = self.now_seconds();
            self.store
                .submit_forget(Arc::clone(container), now_seconds, reply);
            if !answer.await.unwrap_or_else(|_| Err(stopping()))? {
                return Ok(());
            }
        }
    }

    /// Enters the items of a container whose TTL was changed after they were written.
    ///
    /// The catalogue has a mark for as long as this takes, so that a restart takes it up again.
    pub(crate) fn enter_for_expiry(self: &Arc<Self>, container: &Arc<Container>) {
        let (engine, container) = (Arc::downgrade(self), Arc::clone(container));
        tokio::spawn(async move {
            let done = persevere(&engine, || enter_all(&engine, &container)).await;
            if let Err(failure) = done {
                tracing::warn!(%failure, "items were not entered for expiry; the next start will");
            }
        });
    }

    /// Makes stored documents follow the indexing policy of their container.
    pub(crate) fn reindex(self: &Arc<Self>, container: &Arc<Container>) {
        let (engine, number) = (Arc::downgrade(self), container.rid.id());
        tokio::spawn(async move {
            let done = persevere(&engine, || reindex_all(&engine, number)).await;
            if let Err(failure) = done {
                tracing::warn!(container = number, %failure, "an index does not follow its policy yet; the next start goes on");
            }
        });
    }

    /// Goes on with an index that an earlier run left unfinished, or never made.
    pub(crate) fn take_up_index(self: &Arc<Self>, container: &Arc<Container>) {
        match self.store.index_follows(container) {
            Ok(IndexFollows::Policy) => {}
            Ok(IndexFollows::PolicyInPart) => self.reindex(container),
            Ok(IndexFollows::AnotherPolicy) if self.role() == Role::Follower => {}
            Ok(IndexFollows::AnotherPolicy) => {
                let (engine, container) = (Arc::clone(self), Arc::clone(container));
                tokio::spawn(async move {
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

    async fn expire(
        &self,
        container: Option<Arc<Container>>,
        due: Vec<Due>,
        now_seconds: u64,
    ) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_expiry(container, due, now_seconds, reply);
        answer.await.unwrap_or_else(|_| Err(stopping()))
    }
}

async fn reindex_all(engine: &Weak<Engine>, container: u32) -> Result<(), Failure> {
    loop {
        let engine = engine.upgrade().ok_or_else(stopping)?;
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        engine.store.submit_reindex(container, reply);
        if !answer.await.unwrap_or_else(|_| Err(stopping()))? {
            return Ok(());
        }
    }
}

async fn enter_all(engine: &Weak<Engine>, container: &Arc<Container>) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let engine = engine.upgrade().ok_or_else(stopping)?;
        let found = engine
            .store
            .never_entered(container, after.as_ref(), SWEEP_ITEMS)
            .map_err(|error| Failure::Internal(error.to_string()))?;
        let Some(last) = found.last() else {
            let number = container.rid.id();
            return engine
                .write_catalogue(vec![entries::delete_ttl_change(number)])
                .await;
        };
        after = Some(last.key.clone());
        let now_seconds = engine.now_seconds();
        engine
            .expire(Some(Arc::clone(container)), found, now_seconds)
            .await?;
    }
}
