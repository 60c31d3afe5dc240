//! Another cut of a container: decided over the catalogue, then carried out.
//!
//! Where one region writes, its committer carries it out between two groups. Where all do, it goes
//! through the account stream like every change of the catalogue, and each region, the one that has
//! decided it too, carries it out when the stream brings it.

use std::sync::Arc;

use orrery_model::{ContainerAddress, Failure, RangeId};
use orrery_partition::{Heir, Partition, Reshape, retirement_changes};
use tokio::sync::oneshot;

use crate::Engine;
use crate::catalogue::{Catalogue, ContainerEntry};
use crate::engine::stopping;
use crate::entries::{self, Change};

/// How often a change is decided that others have made void.
const ATTEMPTS: usize = 5;

/// Who retires in a container, and who takes over.
pub(super) struct Recut {
    pub(super) database: String,
    pub(super) entry: Arc<ContainerEntry>,
    pub(super) retired: Vec<Arc<Partition>>,
    pub(super) heirs: Vec<Heir>,
}

impl Recut {
    /// Makes it part of a catalogue; lists what is to be written.
    fn enter(self, catalogue: &mut Catalogue) -> (Reshape, Vec<Change>) {
        let ids: Vec<RangeId> = self.retired.iter().map(|one| one.id).collect();
        let made = self.heirs.iter();
        let made = made.map(|heir| Arc::clone(&heir.partition)).collect();
        let entry = self.entry.with_partitions(&ids, made);
        let changes = vec![
            entries::put_container(&entry),
            entries::put_numbers(&catalogue.numbers),
        ];
        let reshape = Reshape {
            container: entry.container.rid.id(),
            retired: self.retired,
            heirs: self.heirs,
            changes: Vec::new(),
        };
        catalogue.set_container(&self.database, entry);
        (reshape, changes)
    }
}

impl Engine {
    /// Carries out what is decided over the catalogue as it is when its turn comes; gives the
    /// container as it is then.
    pub(super) async fn recut(
        self: &Arc<Self>,
        address: ContainerAddress<'_>,
        decide: impl Fn(&Catalogue) -> Result<Recut, Failure>,
    ) -> Result<Arc<ContainerEntry>, Failure> {
        let _turn = self.changing.lock().await;
        self.check_catalogue_writer()?;
        if self.region().is_some() {
            self.recut_everywhere(&decide).await?;
        } else {
            self.recut_alone(&decide).await?;
        }
        let catalogue = self.catalogue();
        let (_, entry) = catalogue.container(address)?;
        if self.region().is_none() {
            self.assign(&catalogue, &entry.container);
            self.count_estimates(&entry.container);
        }
        Ok(Arc::clone(entry))
    }

    async fn recut_alone(
        &self,
        decide: &impl Fn(&Catalogue) -> Result<Recut, Failure>,
    ) -> Result<(), Failure> {
        let mut next = Catalogue::clone(&self.catalogue());
        let (mut reshape, changes) = decide(&next)?.enter(&mut next);
        reshape.changes = changes;
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store.submit_reshape(reshape, reply);
        answer.await.unwrap_or_else(|_| Err(stopping()))?;
        self.catalogue.set(next);
        Ok(())
    }

    async fn recut_everywhere(
        self: &Arc<Self>,
        decide: &impl Fn(&Catalogue) -> Result<Recut, Failure>,
    ) -> Result<(), Failure> {
        let mut attempts = 1;
        loop {
            let mut next = Catalogue::clone(&self.catalogue());
            let (reshape, mut changes) = decide(&next)?.enter(&mut next);
            changes.extend(retirement_changes(&reshape));
            match self.write_recut(next.account, &changes).await {
                // A change that was given up has come to be after all: this one was decided before it.
                Err(Failure::RetryWith) if attempts < ATTEMPTS => attempts += 1,
                result => return result,
            }
        }
    }
}
