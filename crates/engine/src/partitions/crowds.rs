//! Logical partitions that come near to their limit are found and their bytes kept.

use std::sync::Arc;

use orrery_model::Failure;
use orrery_partition::{Container, Partition};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::Engine;
use crate::engine::stopping;

/// A part of its limit from which on the bytes of a logical partition are kept.
const NEAR: f64 = 0.5;

impl Engine {
    /// Only a physical partition that holds as much can hold a logical one that is too big.
    pub(super) async fn watch_crowds(
        self: &Arc<Self>,
        container: &Arc<Container>,
    ) -> Result<(), Failure> {
        let limit = self.limits.logical_bytes;
        for partition in &container.partitions {
            let bytes = partition.counters().bytes;
            if bytes as f64 >= limit as f64 * NEAR && self.looks.is_due(container, partition, bytes)
            {
                self.look_for_crowds(container, partition, bytes).await?;
            }
        }
        Ok(())
    }

    async fn look_for_crowds(
        self: &Arc<Self>,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
        bytes: u64,
    ) -> Result<(), Failure> {
        let limit = self.limits.logical_bytes;
        let least = limit as f64 * NEAR / bytes as f64;
        let (engine, owner) = (Arc::clone(self), Arc::clone(container));
        let sampled = Arc::clone(partition);
        let look = move || engine.store.sample(&owner, &sampled);
        let sample = spawn_blocking(look).await.map_err(|_| stopping())??;
        for key in sample.heavy(least) {
            let logical = container.logical_partition(key);
            if partition.knows_crowd(&logical) {
                continue;
            }
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            self.store
                .submit_crowd(Arc::clone(partition), logical, limit, reply);
            let uncounted = answer.await.unwrap_or_else(|_| Err(stopping()))?;
            let counted = spawn_blocking(move || uncounted.count()).await;
            let counted = counted.map_err(|_| stopping())?;
            counted.map_err(|error| Failure::Internal(error.to_string()))?;
        }
        Ok(())
    }
}
