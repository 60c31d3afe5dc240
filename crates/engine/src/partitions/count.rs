//! Counts the children of a split in the background; until then their counters are estimates.

use std::sync::{Arc, Weak};

use orrery_model::Failure;
use orrery_partition::{Container, CounterStatus, Partition};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::Engine;
use crate::engine::stopping_failure;

impl Engine {
    /// Counts every partition of a container whose counters are estimates.
    pub(crate) fn count_estimates(self: &Arc<Self>, container: &Arc<Container>) {
        let estimated =
            |partition: &&Arc<Partition>| partition.counters().status == CounterStatus::Estimated;
        let partitions: Vec<_> = container
            .partitions
            .iter()
            .filter(estimated)
            .cloned()
            .collect();
        if partitions.is_empty() {
            return;
        }
        let (engine, container) = (Arc::downgrade(self), Arc::clone(container));
        self.runtime.spawn(async move {
            for partition in partitions {
                if let Err(failure) = count(&engine, &container, &partition).await {
                    tracing::warn!(range = %partition.id, %failure, "a partition was not counted; the next start does it");
                }
            }
        });
    }
}

async fn count(
    engine: &Weak<Engine>,
    container: &Arc<Container>,
    partition: &Arc<Partition>,
) -> Result<(), Failure> {
    let engine = engine.upgrade().ok_or_else(stopping_failure)?;
    let (reply, answer) = oneshot::channel();
    let reply = Box::new(move |result| drop(reply.send(result)));
    engine
        .store
        .submit_recount(Arc::clone(container), Arc::clone(partition), reply);
    let uncounted = answer.await.unwrap_or_else(|_| Err(stopping_failure()))?;
    // The count reads every document, so it must not hold the engine open during a shutdown.
    let weak = Arc::downgrade(&engine);
    drop(engine);
    let counted = spawn_blocking(move || uncounted.count()).await;
    let counted = counted.map_err(|_| stopping_failure())?;
    let correction = counted.map_err(|error| Failure::Internal(error.to_string()))?;
    // Writes during the count are not lost: the correction is a difference to the counters at the
    // snapshot.
    let engine = weak.upgrade().ok_or_else(stopping_failure)?;
    let (reply, answer) = oneshot::channel();
    let reply = Box::new(move |result| drop(reply.send(result)));
    let number = container.rid.id();
    engine
        .store
        .submit_correction(number, Arc::clone(partition), correction, reply);
    answer.await.unwrap_or_else(|_| Err(stopping_failure()))
}
