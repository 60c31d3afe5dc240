//! Requests for keys of which another region takes the writes, or that are down here.
//!
//! The commit thread has the last word on writes. What is asked here, before anything is prepared
//! or paid for, saves work, and lets those wait whose key is about to be taken over here: to be sent
//! back and forth would cost them a second at every region.

use std::pin::pin;
use std::time::Duration;

use orrery_keys::PartitionKey;
use orrery_model::Failure;
use orrery_partition::{AccessTable, Container, KeyAccess, LogicalPartition, Partition};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Engine;

/// Longer than a partition that failed is left where it is, and shorter than clients wait.
const PATIENCE: Duration = Duration::from_secs(3);

impl Engine {
    /// Of each key one region takes the writes, and none here until [`Engine::set_access`]. To be
    /// called before anybody can write.
    pub fn begin_divided(&self) {
        self.store.begin_divided();
    }

    /// Whether regions share the keys among themselves.
    pub fn is_divided(&self) -> bool {
        self.store.is_divided()
    }

    /// Answers for other keys from now on. When this returns, [`Engine::progress`] has everything
    /// that was taken here of keys that are closed now.
    pub async fn set_access(&self, table: AccessTable) {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |()| {
            // Whoever asked may have gone.
            let _ = reply.send(());
        });
        self.store.submit_access(table, reply);
        // If the committer has ended nothing is taken any more.
        let _ = answer.await;
        self.hub.access_changed.notify_waiters();
    }

    /// What becomes of the writes of a logical partition here.
    pub fn access_of(&self, container: &Container, key: &PartitionKey) -> KeyAccess {
        let logical = container.logical_partition(key);
        self.store.write_access(container, &logical)
    }

    /// Waits while a key is about to be taken over here; then says whether a write may begin.
    pub(crate) async fn admit_key(
        &self,
        container: &Container,
        logical: &LogicalPartition,
    ) -> Result<(), Failure> {
        match self.store.write_access(container, logical) {
            KeyAccess::Open => Ok(()),
            KeyAccess::Soon => self.await_key(container, logical).await,
            other => refusal(container, logical, other, &self.store),
        }
    }

    /// [`Engine::admit_key`] of all the keys of a request; those that are refused are refused again
    /// when their turn comes.
    pub(crate) async fn await_keys<'k>(
        &self,
        container: &Container,
        keys: impl Iterator<Item = &'k PartitionKey>,
    ) {
        if self.store.holds_writes() {
            for key in keys {
                let logical = container.logical_partition(key);
                let _ = self.admit_key(container, &logical).await;
            }
        }
    }

    async fn await_key(
        &self,
        container: &Container,
        logical: &LogicalPartition,
    ) -> Result<(), Failure> {
        let wait = async {
            loop {
                let mut changed = pin!(self.hub.access_changed.notified());
                // From here on no change is missed.
                changed.as_mut().enable();
                match self.store.write_access(container, logical) {
                    KeyAccess::Soon => changed.await,
                    decided => return decided,
                }
            }
        };
        let decided = timeout(PATIENCE, wait).await;
        let decided = decided.unwrap_or(KeyAccess::Closed);
        refusal(container, logical, decided, &self.store)
    }

    /// Whether a write may begin now.
    pub(crate) fn check_key_access(
        &self,
        container: &Container,
        logical: &LogicalPartition,
    ) -> Result<(), Failure> {
        let access = self.store.write_access(container, logical);
        refusal(container, logical, access, &self.store)
    }

    /// Refuses a read of a partition that is down.
    pub(crate) fn check_readable(
        &self,
        container: &Container,
        partition: &Partition,
    ) -> Result<(), Failure> {
        self.store.check_read(container, partition)
    }
}

fn refusal(
    container: &Container,
    logical: &LogicalPartition,
    access: KeyAccess,
    store: &orrery_partition::Store,
) -> Result<(), Failure> {
    match access {
        KeyAccess::Open => Ok(()),
        KeyAccess::Soon | KeyAccess::Closed => Err(Failure::WriteForbidden),
        KeyAccess::Down => store.check_read(container, container.partition_of(logical)),
    }
}
