//! Finds logical partitions near their size limit and tracks their bytes.

use std::sync::Arc;

use orrery_model::Failure;
use orrery_partition::{Container, Partition};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::Engine;
use crate::engine::stopping_failure;

/// Fraction of the limit above which the bytes of a logical partition are tracked.
const NEAR: f64 = 0.5;

impl Engine {
    /// Searches the physical partitions of a container. Only a physical partition with enough bytes
    /// can contain an oversized logical one.
    pub(super) async fn track_oversized_partitions(
        self: &Arc<Self>,
        container: &Arc<Container>,
    ) -> Result<(), Failure> {
        let limit = self.limits.logical_bytes;
        for partition in &container.partitions {
            let bytes = partition.counters().bytes;
            if bytes as f64 >= limit as f64 * NEAR
                && self.oversized_checks.is_due(container, partition, bytes)
            {
                self.find_oversized_partitions(container, partition, bytes)
                    .await?;
            }
        }
        Ok(())
    }

    async fn find_oversized_partitions(
        self: &Arc<Self>,
        container: &Arc<Container>,
        partition: &Arc<Partition>,
        bytes: u64,
    ) -> Result<(), Failure> {
        let limit = self.limits.logical_bytes;
        let least = limit as f64 * NEAR / bytes as f64;
        let (engine, owner) = (Arc::clone(self), Arc::clone(container));
        let sampled = Arc::clone(partition);
        // Sampling and counting read from disk, so both leave the asynchronous threads.
        let look = move || engine.store.sample(&owner, &sampled);
        let sample = spawn_blocking(look)
            .await
            .map_err(|_| stopping_failure())??;
        for key in sample.heavy(least) {
            let logical = container.logical_partition(key);
            if partition.tracks_oversized(&logical) {
                continue;
            }
            let (reply, answer) = oneshot::channel();
            let reply = Box::new(move |result| drop(reply.send(result)));
            self.store
                .submit_track_oversized(Arc::clone(partition), logical, limit, reply);
            // The committer registers the tracker and takes the snapshot between two groups. Every
            // later write counts through the tracker, so the count misses none and counts none
            // twice.
            let uncounted = answer.await.unwrap_or_else(|_| Err(stopping_failure()))?;
            let counted = spawn_blocking(move || uncounted.count()).await;
            let counted = counted.map_err(|_| stopping_failure())?;
            counted.map_err(|error| Failure::Internal(error.to_string()))?;
        }
        Ok(())
    }
}
