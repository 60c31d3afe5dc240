//! Queues script runs per logical partition, in order of arrival.
//!
//! Of two concurrent runs on one logical partition only the first commit could succeed, and the
//! other run would be wasted. Ordinary writers do not queue here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_partition::LogicalPartition;
use tokio::sync::OwnedMutexGuard;

type Lock = Arc<tokio::sync::Mutex<()>>;

#[derive(Debug, Default)]
pub(crate) struct ScriptQueue(Mutex<HashMap<LogicalPartition, Lock>>);

/// A turn in the queue; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct ScriptTurn<'a> {
    // Fields drop in this order: the guard holds a reference to the lock, and that reference must
    // be gone when the slot counts references.
    _guard: OwnedMutexGuard<()>,
    _slot: QueueSlot<'a>,
}

/// A slot in the queue of a logical partition, running or waiting.
#[derive(Debug)]
struct QueueSlot<'a> {
    turns: &'a ScriptQueue,
    logical: LogicalPartition,
    lock: Lock,
}

impl ScriptQueue {
    /// Waits for a turn. A cancelled caller leaves no entry behind.
    pub(crate) async fn take(&self, logical: &LogicalPartition) -> ScriptTurn<'_> {
        let lock = Arc::clone(self.table().entry(logical.clone()).or_default());
        // The slot exists before the wait, so that a cancelled wait removes its table entry.
        let slot = QueueSlot {
            turns: self,
            logical: logical.clone(),
            lock: Arc::clone(&lock),
        };
        ScriptTurn {
            _guard: lock.lock_owned().await,
            _slot: slot,
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<LogicalPartition, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        let mut table = self.turns.table();
        // The table and this slot hold one reference each: no other run waits, so the entry can go.
        if Arc::strong_count(&self.lock) <= 2 {
            table.remove(&self.logical);
        }
    }
}
