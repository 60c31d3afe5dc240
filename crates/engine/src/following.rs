//! One account that follows another: the same databases, items and LSNs, a moment later.
//!
//! A follower refuses whatever would make a record, with [`Failure::WriteForbidden`], and does not
//! expire, split or count: all of that arrives as records. Work on what is only derived goes on:
//! indexes follow their policies, removed containers are cleared away, old history is forgotten.
//! Nothing here decides which account follows which; whoever does moves records from a
//! [`Subscription`] of one to [`Engine::follow`] of the other.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use orrery_model::Failure;
use orrery_partition::{
    Authority, CommittedRecord, Container, Error, Filling, Position, Reached, ReplicationError,
    ScrubReport, SnapshotStream, Store, StoreStatus, Subscription, Witness,
};
use tokio::sync::oneshot;

use crate::engine::stopping;
use crate::{Catalogue, Engine, EngineOptions, background, entries};

/// Who makes the records of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It makes its own.
    Writer,
    /// It takes those of another account.
    Follower,
}

impl Engine {
    /// [`Engine::open`] in a role.
    pub fn open_as(options: EngineOptions, role: Role) -> Result<Arc<Engine>, Error> {
        let store = Store::open(&options.store())?;
        Engine::over(store, options, role)
    }

    /// Begins an account that has the state of another one at a position. When it has all pieces,
    /// [`Engine::over`] opens it.
    pub fn fill(options: &EngineOptions, position: Position) -> Result<Filling, Error> {
        Filling::begin(&options.store(), position)
    }

    pub fn role(&self) -> Role {
        if self.is_following.load(Ordering::Acquire) {
            Role::Follower
        } else {
            Role::Writer
        }
    }

    /// Ends the following: from here on the account makes its own records, and takes up the work in
    /// the background that was another's.
    pub async fn promote(self: &Arc<Self>) -> Result<(), Failure> {
        let _turn = self.changing.lock().await;
        self.set_following(false).await?;
        let state = self.store.catalogue_state();
        let pending = entries::pending(&state);
        let pending = pending.map_err(|error| Failure::Internal(error.to_string()))?;
        self.splits.forget();
        self.looks.forget();
        background::take_up(self, pending);
        self.wake.notify_one();
        Ok(())
    }

    /// Begins to follow. Writes that were under way have ended when this returns; later ones are
    /// refused.
    pub async fn demote(&self) -> Result<(), Failure> {
        let _turn = self.changing.lock().await;
        self.is_following.store(true, Ordering::Release);
        self.set_following(true).await
    }

    async fn set_following(&self, is_following: bool) -> Result<(), Failure> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |()| {
            // Whoever waited may have gone.
            let _ = reply.send(());
        });
        self.store.submit_follow(is_following, reply);
        answer.await.map_err(|_| stopping())?;
        self.is_following.store(is_following, Ordering::Release);
        Ok(())
    }

    /// The last record of the account.
    pub fn committed(&self) -> Position {
        self.store.committed()
    }

    /// Gives the records of this account out; see [`Store::subscribe`].
    pub fn subscribe(&self, after: Position, kept_bytes_max: u64) -> Subscription {
        self.store.subscribe(after, kept_bytes_max)
    }

    /// The whole account as it is now.
    pub fn snapshot_stream(&self) -> Result<SnapshotStream, Error> {
        self.store.snapshot_stream()
    }

    /// Takes records of the account that this one follows; gives the last position that it has then.
    /// They are kept and can be read.
    pub async fn follow(
        self: &Arc<Self>,
        records: Vec<CommittedRecord>,
    ) -> Result<Position, ReplicationError> {
        let reached = self.keep(records, Position(u64::MAX)).await?;
        Ok(reached.applied)
    }

    /// Keeps records of the account that this one follows, durable at once or a moment later (see [`Seen`]),
    /// and lets readers see those up to a position.
    ///
    /// [`Seen`]: orrery_partition::Seen
    pub async fn keep(
        self: &Arc<Self>,
        records: Vec<CommittedRecord>,
        apply_upto: Position,
    ) -> Result<Reached, ReplicationError> {
        let ended = || ReplicationError::ReadOnly("the server is stopping".to_owned());
        let engine = Arc::clone(self);
        // Also when nobody waits for it any more, what follows from the records is taken up.
        let task = tokio::spawn(async move {
            let before = engine.catalogue();
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            let witness = Arc::clone(&engine.catalogue) as Arc<dyn Witness>;
            engine
                .store
                .submit_kept(records, apply_upto, witness, reply);
            let result = answer.await.unwrap_or_else(|_| Err(ended()));
            let after = engine.catalogue();
            if !Arc::ptr_eq(&before, &after) {
                engine.adopt(&before, &after);
            }
            result
        });
        task.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Why the store takes no more records, if a disk has failed it. Reads go on.
    pub fn problem(&self) -> Option<&str> {
        self.store.problem()
    }

    /// Whether the store takes writes, and for what reason if it refuses them.
    pub fn store_status(&self) -> StoreStatus {
        self.store.status()
    }

    /// Why the store has refused writes for so long, if it has. It may take them again.
    pub fn refusal_of(&self, patience: Duration) -> Option<String> {
        self.store.refusal_of(patience)
    }

    /// Two numbers: the bytes that the disk of the store has free, and the bytes that the store keeps
    /// free there. `None` for a store in memory.
    pub fn disk_space(&self) -> Option<(u64, u64)> {
        self.store.disk_space()
    }

    /// What the scrub of the store has read and found.
    pub fn scrub(&self) -> ScrubReport {
        self.store.scrub()
    }

    /// Makes everything durable that was taken before, where that may come later; see [`Seen`].
    ///
    /// [`Seen`]: orrery_partition::Seen
    pub async fn sync(&self) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_sync(reply);
        let ended = |_| Err(Error::ReadOnly("the server is stopping".to_owned()));
        answer.await.unwrap_or_else(ended)
    }

    /// The last record that is kept here; the state may be behind it.
    pub fn kept(&self) -> Position {
        self.store.kept()
    }

    /// What was last noted among the records, as far as the state has them.
    pub fn note(&self) -> Result<Option<Bytes>, Error> {
        self.store.note()
    }

    /// From now on this is asked before records are appended and before they are applied.
    pub async fn set_authority(&self, authority: Arc<dyn Authority>) {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |()| {
            let _ = reply.send(());
        });
        self.store.submit_authority(authority, reply);
        // A store that is gone asks nobody.
        let _ = answer.await;
    }

    /// Lets the store ask its authority for notes although nobody writes.
    pub fn append_notes(&self) {
        self.store.submit_notes();
    }

    /// Lets the store look whether others keep what it has under way.
    pub fn look(&self) {
        self.store.submit_look();
    }

    /// Begins what a change of the catalogue asks of this account alone.
    pub(crate) fn adopt(self: &Arc<Self>, before: &Catalogue, after: &Catalogue) {
        self.assign_all(after);
        for container in containers(after) {
            let old = before.container_by_number(container.rid.id());
            let old = old.map(|old| &old.container);
            if old.is_some_and(|old| Arc::ptr_eq(old, container)) {
                continue;
            }
            self.take_up_index(container);
            if old.is_some_and(|old| old.keeps_history()) && !container.keeps_history() {
                self.forget_all_history(container);
            }
        }
        let is_gone =
            |container: &&Arc<Container>| after.container_by_number(container.rid.id()).is_none();
        let gone: Vec<_> = containers(before).filter(is_gone).cloned().collect();
        self.retire(&gone);
    }

    fn forget_all_history(self: &Arc<Self>, container: &Arc<Container>) {
        let (engine, container) = (Arc::clone(self), Arc::clone(container));
        tokio::spawn(async move {
            if let Err(failure) = engine.forget_history_of(&container).await {
                tracing::warn!(%failure, "the history of a container was not removed");
            }
        });
    }

    /// Refuses a request that ends in a record.
    pub(crate) fn check_writer(&self) -> Result<(), Failure> {
        match self.role() {
            Role::Writer => Ok(()),
            Role::Follower => Err(Failure::WriteForbidden),
        }
    }
}

fn containers(catalogue: &Catalogue) -> impl Iterator<Item = &Arc<Container>> {
    let databases = catalogue.databases.values();
    let entries = databases.flat_map(|database| database.containers.values());
    entries.map(|entry| &entry.container)
}
