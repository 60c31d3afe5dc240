//! Replication of an account: a follower has the same databases, items and LSNs as its writer, a
//! moment later.
//!
//! A follower refuses every operation that would make a record with [`Failure::WriteForbidden`],
//! and it does not expire items, split partitions or recount them: all of these arrive as records.
//! Work on derived data continues on a follower: indexes follow their policies, deleted containers
//! are purged, old history is trimmed. This module does not decide which account follows which. The
//! caller moves records from a [`Subscription`] of the writer to [`Engine::append_and_apply`] of
//! the follower.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use orrery_model::Failure;
use orrery_partition::{
    CommitObserver, Container, Error, LogRecord, LogWrapper, Position, ReplicationError,
    ScrubReport, SnapshotInstaller, SnapshotStream, Store, StorePositions, StoreStatus,
    Subscription,
};
use tokio::sync::oneshot;

use crate::engine::stopping_failure;
use crate::{Catalogue, Engine, EngineOptions, background, catalogue_rows};

/// Whether an account makes its own records or follows another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicationRole {
    /// The account makes its own records.
    Writer,
    /// The account applies the records of another account.
    Follower,
}

impl Engine {
    /// Opens the account in a role; see [`Engine::open`].
    pub fn open_as(options: EngineOptions, role: ReplicationRole) -> Result<Arc<Engine>, Error> {
        let store = Store::open(&options.store())?;
        Engine::with_store(store, options, role)
    }

    /// Begins an account from a snapshot of another account at a position. After the last piece,
    /// [`Engine::with_store`] opens the account.
    pub fn install_snapshot(
        options: &EngineOptions,
        position: Position,
    ) -> Result<SnapshotInstaller, Error> {
        SnapshotInstaller::begin(&options.store(), position)
    }

    pub fn role(&self) -> ReplicationRole {
        if self.is_following.load(Ordering::Acquire) {
            ReplicationRole::Follower
        } else {
            ReplicationRole::Writer
        }
    }

    /// Promotes a follower: the account makes its own records from now on, and resumes the
    /// background work that its former writer did.
    pub async fn promote(self: &Arc<Self>) -> Result<(), Failure> {
        let _turn = self.catalogue_lock.lock().await;
        // The store switches first: work resumed on a store that still follows would be refused.
        self.set_following(false).await?;
        let state = self.store.catalogue_state();
        let pending = catalogue_rows::read_unfinished_work(&state);
        let pending = pending.map_err(|error| Failure::Internal(error.to_string()))?;
        // Checks from an earlier time as a writer are void, so every partition is checked again.
        self.split_checks.reset();
        self.oversized_checks.reset();
        background::resume_work(self, pending);
        self.wake.notify_one();
        Ok(())
    }

    /// Turns the account into a follower. In-flight writes have ended when this call returns; later
    /// ones are refused.
    pub async fn demote(&self) -> Result<(), Failure> {
        let _turn = self.catalogue_lock.lock().await;
        // The flag rises before the store switches, so that new requests are refused while the
        // queue drains.
        self.is_following.store(true, Ordering::Release);
        self.set_following(true).await
    }

    async fn set_following(&self, is_following: bool) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |()| {
            // The caller may have been cancelled.
            let _ = reply.send(());
        });
        self.store.submit_follow(is_following, reply);
        answer.await.map_err(|_| stopping_failure())?;
        // The engine's role changes after the store's: a writer role over a following store would
        // accept requests that the store refuses.
        self.is_following.store(is_following, Ordering::Release);
        Ok(())
    }

    /// The position of the last applied record.
    pub fn applied(&self) -> Position {
        self.store.applied()
    }

    /// Subscribes to the records of this account; see [`Store::subscribe`].
    pub fn subscribe(&self, after: Position, kept_bytes_max: u64) -> Subscription {
        self.store.subscribe(after, kept_bytes_max)
    }

    /// Streams a snapshot of the whole account.
    pub fn snapshot_stream(&self) -> Result<SnapshotStream, Error> {
        self.store.snapshot_stream()
    }

    /// Appends records of the followed account; returns the last applied position. The records are
    /// durable and readable then.
    pub async fn append_and_apply(
        self: &Arc<Self>,
        records: Vec<LogRecord>,
    ) -> Result<Position, ReplicationError> {
        let reached = self.replicate(records, Position(u64::MAX)).await?;
        Ok(reached.applied)
    }

    /// Appends records of the followed account and applies them up to a position. The records are
    /// durable at once or a moment later, as [`ApplyAfter`] says.
    ///
    /// [`ApplyAfter`]: orrery_partition::ApplyAfter
    pub async fn replicate(
        self: &Arc<Self>,
        records: Vec<LogRecord>,
        apply_upto: Position,
    ) -> Result<StorePositions, ReplicationError> {
        let ended = || ReplicationError::ReadOnly("the server is stopping".to_owned());
        let engine = Arc::clone(self);
        // A cancelled caller must not cancel the local work that follows from the records, so that
        // work runs in a task of its own.
        let task = tokio::spawn(async move {
            let before = engine.catalogue();
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            let observer = Arc::clone(&engine.catalogue) as Arc<dyn CommitObserver>;
            engine
                .store
                .submit_replicated(records, apply_upto, observer, reply);
            let result = answer.await.unwrap_or_else(|_| Err(ended()));
            let after = engine.catalogue();
            if !Arc::ptr_eq(&before, &after) {
                engine.start_local_work(&before, &after);
            }
            result
        });
        task.await.unwrap_or_else(|_| Err(ended()))
    }

    /// The disk failure after which the store takes no more records, if one occurred. Reads
    /// continue.
    pub fn problem(&self) -> Option<&str> {
        self.store.problem()
    }

    /// Whether the store takes writes, and the cause if it refuses them.
    pub fn store_status(&self) -> StoreStatus {
        self.store.status()
    }

    /// The cause for which the store has refused writes for at least `patience`. The refusal may be
    /// temporary.
    pub fn refusal_of(&self, patience: Duration) -> Option<String> {
        self.store.refusal_of(patience)
    }

    /// The free bytes of the store's disk, and the bytes that the store reserves there. `None` for
    /// a store in memory.
    pub fn disk_space(&self) -> Option<(u64, u64)> {
        self.store.disk_space()
    }

    /// The results of the store's scrub.
    pub fn scrub(&self) -> ScrubReport {
        self.store.scrub()
    }

    /// Makes every appended record durable, also where [`ApplyAfter`] permits a later sync.
    ///
    /// [`ApplyAfter`]: orrery_partition::ApplyAfter
    pub async fn sync(&self) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_sync(reply);
        let ended = |_| Err(Error::ReadOnly("the server is stopping".to_owned()));
        answer.await.unwrap_or_else(ended)
    }

    /// The position of the last appended record; the applied state may be behind it.
    pub fn appended(&self) -> Position {
        self.store.appended()
    }

    /// The last note among the applied records.
    pub fn note(&self) -> Result<Option<Bytes>, Error> {
        self.store.note()
    }

    /// Puts another log around the log of the store, for example one that other regions must agree
    /// on.
    pub async fn wrap_log(&self, wrap: LogWrapper) {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |()| {
            let _ = reply.send(());
        });
        self.store.submit_wrap_log(wrap, reply);
        // A stopped store appends nothing, so a lost reply is harmless.
        let _ = answer.await;
    }

    /// Lets the store append the notes of its log, and ask the log which groups are committed.
    pub fn wake_log(&self) {
        self.store.wake_log();
    }

    /// Starts the local work that follows from a catalogue change: rates, indexes, trims and
    /// purges. This work changes derived data only, so every replica does it for itself.
    pub(crate) fn start_local_work(self: &Arc<Self>, before: &Catalogue, after: &Catalogue) {
        self.assign_all_rates(after);
        for container in containers(after) {
            let old = before.container_by_number(container.rid.id());
            let old = old.map(|old| &old.container);
            // The follower kept the same container value, so nothing about the container has
            // changed.
            if old.is_some_and(|old| Arc::ptr_eq(old, container)) {
                continue;
            }
            self.resume_indexing(container);
            if old.is_some_and(|old| old.keeps_history()) && !container.keeps_history() {
                self.trim_all_history(container);
            }
        }
        let is_gone =
            |container: &&Arc<Container>| after.container_by_number(container.rid.id()).is_none();
        let gone: Vec<_> = containers(before).filter(is_gone).cloned().collect();
        self.purge_deleted(&gone);
    }

    fn trim_all_history(self: &Arc<Self>, container: &Arc<Container>) {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        self.runtime.spawn(async move {
            if let Err(failure) = engine.trim_history_of(&container).await {
                tracing::warn!(%failure, "the history of a container was not removed");
            }
        });
    }

    /// Refuses a request that would make a record.
    pub(crate) fn check_writer(&self) -> Result<(), Failure> {
        match self.role() {
            ReplicationRole::Writer => Ok(()),
            ReplicationRole::Follower => Err(Failure::WriteForbidden),
        }
    }
}

fn containers(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<Container>> {
    let databases = catalogue.databases.values();
    let entries = databases.flat_map(|database| database.containers.values());
    entries.map(|entry| &entry.container)
}
