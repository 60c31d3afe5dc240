//! The parts of a split are counted in the background: until then their counters are estimates.

use std::sync::{Arc, Weak};

use orrery_model::Failure;
use orrery_partition::{Container, Partition, Standing};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::Engine;
use crate::engine::stopping;

impl Engine {
    /// Counts every partition of a container that was not yet counted alone.
    pub(crate) fn count_estimates(self: &Arc<Self>, container: &Arc<Container>) {
        let estimated =
            |partition: &&Arc<Partition>| partition.counters().standing == Standing::Estimated;
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
        tokio::spawn(async move {
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
    let engine = engine.upgrade().ok_or_else(stopping)?;
    let (reply, answer) = oneshot::channel();
    let reply = Box::new(move |result| drop(reply.send(result)));
    engine
        .store
        .submit_uncounted(Arc::clone(container), Arc::clone(partition), reply);
    let uncounted = answer.await.unwrap_or_else(|_| Err(stopping()))?;
    let weak = Arc::downgrade(&engine);
    drop(engine);
    let counted = spawn_blocking(move || uncounted.count()).await;
    let counted = counted.map_err(|_| stopping())?;
    let correction = counted.map_err(|error| Failure::Internal(error.to_string()))?;
    let engine = weak.upgrade().ok_or_else(stopping)?;
    let (reply, answer) = oneshot::channel();
    let reply = Box::new(move |result| drop(reply.send(result)));
    let number = container.rid.id();
    engine
        .store
        .submit_correction(number, Arc::clone(partition), correction, reply);
    answer.await.unwrap_or_else(|_| Err(stopping()))
}
