//! The catalogue of a multi-write account: the hub decides changes, and every region applies them
//! in the order of the account stream.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use orrery_model::Failure;
use orrery_partition::{AccountOutcome, AppliedRecords, CommitObserver, MergeError};
use orrery_regions::{Sequence, StreamId};
use tokio::sync::oneshot;

use super::region::stopping_error;
use crate::catalogue::{Catalogue, ContainerEntry};
use crate::catalogue_rows::CatalogueWrite;
use crate::current_catalogue::CurrentCatalogue;
use crate::{Engine, ReplicationRole};

/// Writes catalogue changes into the account stream.
///
/// The bytes become the data of one record. The call returns after that record was passed to
/// [`Engine::apply_account_record`] of this engine and was [`AccountOutcome::Applied`]. It fails
/// with [`Failure::RetryWith`] if the outcome was [`AccountOutcome::Stale`], and with another
/// failure if the fate of the record is unknown.
pub trait AccountStreamWriter: Send + Sync {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>>;
}

/// A catalogue change that this engine has decided and whose record it awaits.
pub(crate) struct CatalogueProposal {
    data: Bytes,
    next: Catalogue,
}

/// Installs the catalogue of a local proposal when the proposal's record is applied.
struct ProposalObserver {
    current: Arc<CurrentCatalogue>,
    next: Catalogue,
}

impl CommitObserver for ProposalObserver {
    fn on_applied(&self, applied: &AppliedRecords) {
        if applied.is_catalogue_changed {
            self.current.set(self.next.clone());
        }
    }
}

impl Engine {
    /// Sets the writer of the account stream. Without a writer the account has one region only.
    pub fn set_account_writer(&self, writer: Option<Arc<dyn AccountStreamWriter>>) {
        let stored_writer = self.account_writer.lock();
        *stored_writer.unwrap_or_else(PoisonError::into_inner) = writer;
    }

    /// Applies a record of the account stream, in stream order. `data` is the input of an
    /// [`AccountStreamWriter`], or `None` for a record without catalogue changes.
    pub async fn apply_account_record(
        self: &Arc<Self>,
        sequence: Sequence,
        data: Option<Bytes>,
    ) -> Result<AccountOutcome, MergeError> {
        let engine = Arc::clone(self);
        // A cancelled caller must not cancel the background work that follows from the record, so
        // that work runs in a task of its own.
        let task = tokio::spawn(async move {
            let before = engine.catalogue();
            let (outcome, is_own) = engine.submit_account_record(sequence, data).await?;
            let after = engine.catalogue();
            // The proposer of a change starts the follow-up work itself, after its own call
            // returns.
            if outcome == AccountOutcome::Applied && !is_own {
                engine.start_local_work(&before, &after);
                engine.backfill_changed_ttl(&before, &after);
                engine.count_new_partitions(&before, &after);
            }
            Ok(outcome)
        });
        task.await.unwrap_or_else(|_| Err(stopping_error()))
    }

    /// Submits a record to the committer; also tells whether it is this region's own proposal.
    async fn submit_account_record(
        &self,
        sequence: Sequence,
        data: Option<Bytes>,
    ) -> Result<(AccountOutcome, bool), MergeError> {
        // The lock guard ends with this block, before the first await.
        let proposed = {
            let proposed = self.proposal.lock();
            // Comparing the data identifies the record: another hub may have proposed a different
            // change meanwhile.
            let mut proposed = proposed.unwrap_or_else(PoisonError::into_inner);
            let is_it = |proposed: &mut CatalogueProposal| Some(&proposed.data) == data.as_ref();
            proposed.take_if(is_it)
        };
        let is_own = proposed.is_some();
        let observer: Arc<dyn CommitObserver> = match proposed {
            Some(CatalogueProposal { mut next, .. }) => {
                // The sequence is unknown when the change is proposed; the stream assigns it.
                next.account_sequence = sequence;
                Arc::new(ProposalObserver {
                    current: Arc::clone(&self.catalogue),
                    next,
                })
            }
            None => Arc::clone(&self.catalogue) as Arc<dyn CommitObserver>,
        };
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store
            .submit_account(sequence, data.as_ref(), observer, reply);
        let outcome = answer.await.unwrap_or_else(|_| Err(stopping_error()))?;
        Ok((outcome, is_own))
    }

    /// Backfills expiry entries in containers whose default TTL has changed.
    fn backfill_changed_ttl(self: &Arc<Self>, before: &Catalogue, after: &Catalogue) {
        let containers = after.databases.values();
        let containers = containers.flat_map(|database| database.containers.values());
        for entry in containers {
            let container = &entry.container;
            let old = before.container_by_number(container.rid.id());
            let old = old.and_then(|old| old.container.default_ttl());
            if container.default_ttl().is_some() && old != container.default_ttl() {
                self.backfill_expiry(container);
            }
        }
    }

    /// Counts the partitions that a split or merge has created.
    fn count_new_partitions(self: &Arc<Self>, before: &Catalogue, after: &Catalogue) {
        let containers = after.databases.values();
        let containers = containers.flat_map(|database| database.containers.values());
        for entry in containers {
            let container = &entry.container;
            let old = before.container_by_number(container.rid.id());
            let has_parts = |old: &Arc<ContainerEntry>| {
                let mut parts = container.partitions.iter();
                parts.any(|part| old.container.partition(part.id).is_none())
            };
            if old.is_some_and(has_parts) {
                self.count_estimates(container);
            }
        }
    }

    /// Writes changes into the account stream and waits until this engine has applied them.
    pub(crate) async fn write_account_stream(
        &self,
        changes: &[CatalogueWrite],
        next: Catalogue,
    ) -> Result<(), Failure> {
        let data = orrery_partition::account_data(next.account_sequence, changes);
        let writer = self.account_writer();
        // The proposal is set before the write: the stream may return the record before `write`
        // returns.
        self.propose(Some(CatalogueProposal {
            data: data.clone(),
            next,
        }));
        let written = match writer {
            Some(writer) => writer.write(data).await,
            None => self.write_single_region(data).await,
        };
        // A proposal whose write failed must not match a record that arrives later.
        self.propose(None);
        written
    }

    /// Writes a split or merge into the account stream, decided over the catalogue of `base`. No
    /// proposal is set, so this region applies the record exactly as every other region does.
    pub(crate) async fn write_repartitioning(
        self: &Arc<Self>,
        base: Sequence,
        changes: &[CatalogueWrite],
    ) -> Result<(), Failure> {
        let data = orrery_partition::account_data(base, changes);
        match self.account_writer() {
            Some(writer) => writer.write(data).await,
            None => {
                let sequence = self.version_vector().of(StreamId::Account).next();
                single_region_outcome(self.apply_account_record(sequence, Some(data)).await)
            }
        }
    }

    fn account_writer(&self) -> Option<Arc<dyn AccountStreamWriter>> {
        let writer = self.account_writer.lock();
        writer.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Applies a record directly, for an account whose stream has this region only.
    async fn write_single_region(&self, data: Bytes) -> Result<(), Failure> {
        let sequence = self.version_vector().of(StreamId::Account).next();
        let submitted = self.submit_account_record(sequence, Some(data)).await;
        single_region_outcome(submitted.map(|(outcome, _)| outcome))
    }

    fn propose(&self, change: Option<CatalogueProposal>) {
        let proposed = self.proposal.lock();
        *proposed.unwrap_or_else(PoisonError::into_inner) = change;
    }

    /// Refuses a catalogue change that another region must make.
    pub(crate) fn check_catalogue_writer(&self) -> Result<(), Failure> {
        let is_satellite = self.region().is_some() && !self.is_hub();
        match self.role() {
            ReplicationRole::Writer if !is_satellite => Ok(()),
            _ => Err(Failure::WriteForbidden),
        }
    }
}

fn single_region_outcome(outcome: Result<AccountOutcome, MergeError>) -> Result<(), Failure> {
    match outcome {
        Ok(AccountOutcome::Applied) => Ok(()),
        Ok(AccountOutcome::AlreadyApplied | AccountOutcome::Stale) => Err(Failure::RetryWith),
        Err(error) => Err(Failure::Unavailable(error.to_string())),
    }
}
