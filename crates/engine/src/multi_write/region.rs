//! Exchange of records with other regions.

use std::sync::Arc;

use orrery_model::Failure;
use orrery_partition::{CommitObserver, MergeError, StreamReader};
use orrery_regions::{Epoch, RegionId, StreamRecord, VersionVector};
use tokio::sync::oneshot;

use crate::Engine;
use crate::engine::stopping_failure;

impl Engine {
    /// The region id in a multi-write account; absent in an account with one write region.
    pub fn region(&self) -> Option<RegionId> {
        self.store.region()
    }

    /// The source region and position, if this state was copied from another region.
    pub fn copied_from(&self) -> Option<(RegionId, u64)> {
        self.store.copied_from()
    }

    /// The applied sequence of every stream.
    pub fn version_vector(&self) -> VersionVector {
        self.store.progress()
    }

    /// Sets the epoch of records that this region makes from now on.
    pub fn set_epoch(&self, epoch: Epoch) {
        self.store.set_epoch(epoch);
    }

    /// Opens a reader over the records of streams; see [`orrery_partition::Store::stream_reader`].
    /// The reader scans the log, so callers use it outside of latency-critical threads.
    pub fn stream_reader(&self, kept_bytes_max: u64) -> Option<StreamReader> {
        self.store.stream_reader(kept_bytes_max)
    }

    /// Merges records of other regions in an order that respects their dependencies. Returns the
    /// applied version vector; the records are durable and readable then.
    pub async fn merge_records(
        &self,
        records: Vec<StreamRecord>,
    ) -> Result<VersionVector, MergeError> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        let observer = Arc::clone(&self.catalogue) as Arc<dyn CommitObserver>;
        self.store.submit_merge(records, observer, reply);
        answer.await.unwrap_or_else(|_| Err(stopping_error()))
    }

    /// Removes hidden versions below the horizon, in steps. Every later change has seen these
    /// versions.
    pub async fn prune(&self, horizon: &VersionVector) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        let containers = catalogue.databases.values();
        let containers = containers.flat_map(|database| database.containers.values());
        let by_hub = containers.filter(|entry| self.lists_conflicts(&entry.container));
        let by_hub = by_hub.map(|entry| entry.container.rid.id());
        // Conflicts of these containers stay until somebody decides them.
        let by_hub: std::collections::BTreeSet<u32> = by_hub.collect();
        loop {
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            self.store
                .submit_prune(horizon.clone(), by_hub.clone(), reply);
            if !answer.await.unwrap_or_else(|_| Err(stopping_failure()))? {
                return Ok(());
            }
        }
    }
}

pub(super) fn stopping_error() -> MergeError {
    MergeError::ReadOnly("the server is stopping".to_owned())
}
