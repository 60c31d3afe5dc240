//! Splits and merges of a container: decided over the catalogue, then carried out.
//!
//! With one write region the committer carries out the change between two groups. In a multi-write
//! account the change goes through the account stream, and every region, the deciding one included,
//! carries it out when the stream delivers it.

use std::sync::Arc;

use orrery_model::{ContainerAddress, Failure, RangeId};
use orrery_partition::{ChildPartition, Partition, Repartitioning, supersession_changes};
use tokio::sync::oneshot;

use crate::Engine;
use crate::catalogue::{Catalogue, ContainerEntry};
use crate::catalogue_rows::{self, CatalogueWrite};
use crate::engine::stopping_failure;

/// Attempts at a change that other catalogue changes have invalidated.
const ATTEMPTS: usize = 5;

/// The parent and child partitions of one change.
pub(super) struct RepartitioningPlan {
    pub(super) database: String,
    pub(super) entry: Arc<ContainerEntry>,
    pub(super) parents: Vec<Arc<Partition>>,
    pub(super) children: Vec<ChildPartition>,
}

impl RepartitioningPlan {
    /// Applies the plan to a catalogue; lists the rows to write.
    fn apply_to(self, catalogue: &mut Catalogue) -> (Repartitioning, Vec<CatalogueWrite>) {
        let ids: Vec<RangeId> = self.parents.iter().map(|one| one.id).collect();
        let made = self.children.iter();
        let made = made.map(|child| Arc::clone(&child.partition)).collect();
        let entry = self.entry.with_partitions(&ids, made);
        let changes = vec![
            catalogue_rows::put_container(&entry),
            catalogue_rows::put_id_counters(&catalogue.id_counters),
        ];
        let repartitioning = Repartitioning {
            container: entry.container.rid.id(),
            parents: self.parents,
            children: self.children,
            changes: Vec::new(),
        };
        catalogue.set_container(&self.database, entry);
        (repartitioning, changes)
    }
}

impl Engine {
    /// Decides the change over the catalogue that is current under the lock, and carries it out.
    /// Returns the resulting container.
    pub(super) async fn repartition(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        decide: impl Fn(&Catalogue) -> Result<RepartitioningPlan, Failure>,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let _turn = self.catalogue_lock.lock().await;
        self.check_catalogue_writer()?;
        if self.region().is_some() {
            self.repartition_by_stream(&decide).await?;
        } else {
            self.repartition_locally(&decide).await?;
        }
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(address)?;
        // In a multi-write account `apply_account_record` starts this work in every region alike.
        if self.region().is_none() {
            self.assign_rates(&catalogue, &entry.container);
            self.count_estimates(&entry.container);
        }
        Ok(Arc::clone(entry))
    }

    async fn repartition_locally(
        &self,
        decide: &impl Fn(&Catalogue) -> Result<RepartitioningPlan, Failure>,
    ) -> Result<(), Failure> {
        let mut next = Catalogue::clone(&self.catalogue());
        let (mut repartitioning, changes) = decide(&next)?.apply_to(&mut next);
        repartitioning.changes = changes;
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_repartitioning(repartitioning, reply);
        answer.await.unwrap_or_else(|_| Err(stopping_failure()))?;
        // The committer has superseded the parents already; requests that still use the old
        // catalogue find the children through the parents.
        self.catalogue.set(next);
        Ok(())
    }

    async fn repartition_by_stream(
        self: &Arc<Self>,
        decide: &impl Fn(&Catalogue) -> Result<RepartitioningPlan, Failure>,
    ) -> Result<(), Failure> {
        let mut attempts = 1;
        loop {
            let mut next = Catalogue::clone(&self.catalogue());
            let (repartitioning, mut changes) = decide(&next)?.apply_to(&mut next);
            changes.extend(supersession_changes(&repartitioning));
            match self
                .write_repartitioning(next.account_sequence, &changes)
                .await
            {
                // An earlier change with unknown outcome has been applied after all. The present
                // change was decided over the older catalogue, so it is decided again.
                Err(Failure::RetryWith) if attempts < ATTEMPTS => attempts += 1,
                result => return result,
            }
        }
    }
}
