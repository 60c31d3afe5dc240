//! Access checks for keys whose writes another region takes, and for partitions that are down.
//!
//! The commit thread has the final decision on a write. The checks here run before anything is
//! prepared or charged: they save work, and they let a write wait while this region takes over its
//! key. Without the wait a client would be redirected between regions, at a cost of a second per
//! attempt.

use std::pin::pin;
use std::time::Duration;

use orrery_keys::PartitionKey;
use orrery_model::Failure;
use orrery_partition::{AccessTable, Container, KeyAccess, LogicalPartition, Partition};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Engine;

/// Longer than a failed partition takes to move to another region, and shorter than client
/// timeouts.
const PATIENCE: Duration = Duration::from_secs(3);

impl Engine {
    /// Closes every key for writes until [`Engine::set_access`] opens keys. Each key then has one
    /// write region. The caller must call this before the first write can arrive.
    pub fn close_all_keys(&self) {
        self.store.close_all_keys();
    }

    /// Whether the regions of this account divide the keys among themselves.
    pub fn has_access_table(&self) -> bool {
        self.store.has_access_table()
    }

    /// Installs another access table. When this call returns, [`Engine::version_vector`] covers
    /// every write that this region has accepted for keys that the table closes.
    pub async fn set_access(&self, table: AccessTable) {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |()| {
            // The caller may have been cancelled, and then nobody receives the reply.
            let _ = reply.send(());
        });
        self.store.submit_access(table, reply);
        // A stopped committer accepts no more writes, so a lost reply needs no handling.
        let _ = answer.await;
        // Waiters wake after the table is in force; an earlier wake-up would let them read the old
        // one.
        self.hub.access_changed.notify_waiters();
    }

    /// The access that this region grants to writes of a logical partition.
    pub fn access_of(&self, container: &Container, key: &PartitionKey) -> KeyAccess {
        let logical = container.logical_partition(key);
        self.store.write_access(container, &logical)
    }

    /// Waits while this region takes over the key, then decides whether a write may begin.
    pub(crate) async fn admit_key(
        &self,
        container: &Container,
        logical: &LogicalPartition,
    ) -> Result<(), Failure> {
        match self.store.write_access(container, logical) {
            KeyAccess::Open => Ok(()),
            KeyAccess::TakingOver => self.await_key(container, logical).await,
            other => refusal(container, logical, other, &self.store),
        }
    }

    /// Applies [`Engine::admit_key`] to all keys of a request. A refused key is refused again when
    /// its operation's turn comes.
    pub(crate) async fn await_keys<'k>(
        &self,
        container: &Container,
        keys: impl Iterator<Item = &'k PartitionKey>,
    ) {
        if self.store.may_delay_writes() {
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
                // The waiter registers before it reads the table. A change between the two would
                // otherwise go unnoticed until the timeout.
                changed.as_mut().enable();
                match self.store.write_access(container, logical) {
                    KeyAccess::TakingOver => changed.await,
                    decided => return decided,
                }
            }
        };
        let decided = timeout(PATIENCE, wait).await;
        let decided = decided.unwrap_or(KeyAccess::Closed);
        refusal(container, logical, decided, &self.store)
    }

    /// Decides whether a write may begin now, without waiting.
    pub(crate) fn check_key_access(
        &self,
        container: &Container,
        logical: &LogicalPartition,
    ) -> Result<(), Failure> {
        let access = self.store.write_access(container, logical);
        refusal(container, logical, access, &self.store)
    }

    /// Refuses a read of a partition that is down in this region.
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
        KeyAccess::TakingOver | KeyAccess::Closed => Err(Failure::WriteForbidden),
        KeyAccess::Down => store.check_read(container, container.partition_of(logical)),
    }
}
