//! Whose turn it is to run a script on a logical partition: first come, first served.
//!
//! Two runs on one logical partition would overtake each other, and the one that commits last would
//! have run in vain. Ordinary writers take no turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orrery_partition::LogicalPartition;
use tokio::sync::OwnedMutexGuard;

type Lock = Arc<tokio::sync::Mutex<()>>;

#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<LogicalPartition, Lock>>);

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    // Given back before the place is.
    _guard: OwnedMutexGuard<()>,
    _place: Place<'a>,
}

/// A place in the queue in front of a logical partition, taken or waiting.
#[derive(Debug)]
struct Place<'a> {
    turns: &'a Turns,
    logical: LogicalPartition,
    lock: Lock,
}

impl Turns {
    /// Waits for a turn. Whoever stops waiting leaves nothing behind.
    pub(crate) async fn take(&self, logical: &LogicalPartition) -> Turn<'_> {
        let lock = Arc::clone(self.table().entry(logical.clone()).or_default());
        let place = Place {
            turns: self,
            logical: logical.clone(),
            lock: Arc::clone(&lock),
        };
        Turn {
            _guard: lock.lock_owned().await,
            _place: place,
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<LogicalPartition, Lock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut table = self.turns.table();
        // The table has one and this place has one: nobody else waits.
        if Arc::strong_count(&self.lock) <= 2 {
            table.remove(&self.logical);
        }
    }
}
