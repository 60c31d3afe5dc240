//! Records of other regions.

use std::sync::Arc;

use orrery_model::Failure;
use orrery_partition::{MergeError, StreamReader, Witness};
use orrery_regions::{Epoch, Progress, RegionId, StreamRecord};
use tokio::sync::oneshot;

use crate::Engine;
use crate::engine::stopping;

impl Engine {
    /// The region of a multi-write account that this is; none of an account with one write region.
    pub fn region(&self) -> Option<RegionId> {
        self.store.region()
    }

    /// The region and position that the state was copied from, if it was.
    pub fn copied_from(&self) -> Option<(RegionId, u64)> {
        self.store.copied_from()
    }

    /// What is applied here of every stream.
    pub fn progress(&self) -> Progress {
        self.store.progress()
    }

    /// The epoch that records made from now on carry.
    pub fn set_epoch(&self, epoch: Epoch) {
        self.store.set_epoch(epoch);
    }

    /// Gives out the records of streams; see [`orrery_partition::Store::stream_reader`]. Passing
    /// over the log takes its time: call it, and the reader, where that does not matter.
    pub fn stream_reader(&self, kept_bytes_max: u64) -> Option<StreamReader> {
        self.store.stream_reader(kept_bytes_max)
    }

    /// Merges records of other regions, each after what it depends on; gives what is applied then.
    /// They are durable and can be read.
    pub async fn merge(&self, records: Vec<StreamRecord>) -> Result<Progress, MergeError> {
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        let witness = Arc::clone(&self.catalogue) as Arc<dyn Witness>;
        self.store.submit_merge(records, witness, reply);
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Forgets versions that every later change will have seen, a little at a time.
    pub async fn prune(&self, horizon: &Progress) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        let containers = catalogue.databases.values();
        let containers = containers.flat_map(|database| database.containers.values());
        let by_hub = containers.filter(|entry| self.lists_conflicts(&entry.container));
        let by_hub = by_hub.map(|entry| entry.container.rid.id());
        let by_hub: std::collections::BTreeSet<u32> = by_hub.collect();
        loop {
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            self.store
                .submit_prune(horizon.clone(), by_hub.clone(), reply);
            if !answer.await.unwrap_or_else(|_| Err(stopping()))? {
                return Ok(());
            }
        }
    }
}

pub(super) fn ended() -> MergeError {
    MergeError::ReadOnly("the server is stopping".to_owned())
}
