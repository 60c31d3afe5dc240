//! The catalogue of a multi-write account: decided by the hub, applied as the account stream says.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use orrery_model::Failure;
use orrery_partition::{AccountOutcome, Applied, MergeError, Witness};
use orrery_regions::{Sequence, StreamId};
use tokio::sync::oneshot;

use super::region::ended;
use crate::catalogue::{Catalogue, ContainerEntry};
use crate::current::Current;
use crate::entries::Change;
use crate::{Engine, Role};

/// Who brings changes of the catalogue into the account stream.
///
/// The bytes become the data of one record. The call ends when that record was given to
/// [`Engine::apply_account`] of this engine and was [`AccountOutcome::Applied`]; with
/// [`Failure::RetryWith`] if it was [`AccountOutcome::Void`], and with another failure if it is
/// not known whether it will ever be applied.
pub trait AccountWriter: Send + Sync {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>>;
}

/// A change that this engine has decided and waits for.
pub(crate) struct Proposed {
    data: Bytes,
    next: Catalogue,
}

/// Makes the catalogue that was decided here the one that holds, when its change is applied.
struct Decided {
    current: Arc<Current>,
    next: Catalogue,
}

impl Witness for Decided {
    fn applied(&self, applied: &Applied) {
        if applied.is_catalogue_changed {
            self.current.set(self.next.clone());
        }
    }
}

impl Engine {
    /// Where changes of the catalogue go from now on. Without anybody, the account has one region.
    pub fn set_account_writer(&self, writer: Option<Arc<dyn AccountWriter>>) {
        let place = self.account_writer.lock();
        *place.unwrap_or_else(PoisonError::into_inner) = writer;
    }

    /// Applies a record of the account stream; `data` is what an [`AccountWriter`] was given, none
    /// of records that say something else. Records are given in order.
    pub async fn apply_account(
        self: &Arc<Self>,
        sequence: Sequence,
        data: Option<Bytes>,
    ) -> Result<AccountOutcome, MergeError> {
        let engine = Arc::clone(self);
        // Also when nobody waits for it any more, what follows from the record is taken up.
        let task = tokio::spawn(async move {
            let before = engine.catalogue();
            let (outcome, is_own) = engine.submit_account(sequence, data).await?;
            let after = engine.catalogue();
            if outcome == AccountOutcome::Applied && !is_own {
                engine.adopt(&before, &after);
                engine.adopt_ttl(&before, &after);
                engine.adopt_parts(&before, &after);
            }
            Ok(outcome)
        });
        task.await.unwrap_or_else(|_| Err(ended()))
    }

    async fn submit_account(
        &self,
        sequence: Sequence,
        data: Option<Bytes>,
    ) -> Result<(AccountOutcome, bool), MergeError> {
        let proposed = {
            let proposed = self.proposed.lock();
            let mut proposed = proposed.unwrap_or_else(PoisonError::into_inner);
            let is_it = |proposed: &mut Proposed| Some(&proposed.data) == data.as_ref();
            proposed.take_if(is_it)
        };
        let is_own = proposed.is_some();
        let witness: Arc<dyn Witness> = match proposed {
            Some(Proposed { mut next, .. }) => {
                next.account = sequence;
                Arc::new(Decided {
                    current: Arc::clone(&self.catalogue),
                    next,
                })
            }
            None => Arc::clone(&self.catalogue) as Arc<dyn Witness>,
        };
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.store
            .submit_account(sequence, data.as_ref(), witness, reply);
        let outcome = answer.await.unwrap_or_else(|_| Err(ended()))?;
        Ok((outcome, is_own))
    }

    /// Enters items for expiry where the time that they live has changed.
    fn adopt_ttl(self: &Arc<Self>, before: &Catalogue, after: &Catalogue) {
        let containers = after.databases.values();
        let containers = containers.flat_map(|database| database.containers.values());
        for entry in containers {
            let container = &entry.container;
            let old = before.container_by_number(container.rid.id());
            let old = old.and_then(|old| old.container.default_ttl());
            if container.default_ttl().is_some() && old != container.default_ttl() {
                self.enter_for_expiry(container);
            }
        }
    }

    /// Counts what was split.
    fn adopt_parts(self: &Arc<Self>, before: &Catalogue, after: &Catalogue) {
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

    /// Brings changes into the account stream and waits until they are applied here.
    pub(crate) async fn write_account(
        &self,
        changes: &[Change],
        next: Catalogue,
    ) -> Result<(), Failure> {
        let data = orrery_partition::account_data(next.account, changes);
        let writer = self.account_writer();
        self.propose(Some(Proposed {
            data: data.clone(),
            next,
        }));
        let written = match writer {
            Some(writer) => writer.write(data).await,
            None => self.write_alone(data).await,
        };
        self.propose(None);
        written
    }

    /// [`Engine::write_account`] of another cut of a container, decided over the catalogue of `base`.
    /// Here as elsewhere the record says all that becomes of it.
    pub(crate) async fn write_recut(
        self: &Arc<Self>,
        base: Sequence,
        changes: &[Change],
    ) -> Result<(), Failure> {
        let data = orrery_partition::account_data(base, changes);
        match self.account_writer() {
            Some(writer) => writer.write(data).await,
            None => {
                let sequence = self.progress().of(StreamId::Account).next();
                outcome_alone(self.apply_account(sequence, Some(data)).await)
            }
        }
    }

    fn account_writer(&self) -> Option<Arc<dyn AccountWriter>> {
        let writer = self.account_writer.lock();
        writer.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The account stream of an account that has nobody else.
    async fn write_alone(&self, data: Bytes) -> Result<(), Failure> {
        let sequence = self.progress().of(StreamId::Account).next();
        let submitted = self.submit_account(sequence, Some(data)).await;
        outcome_alone(submitted.map(|(outcome, _)| outcome))
    }

    fn propose(&self, change: Option<Proposed>) {
        let proposed = self.proposed.lock();
        *proposed.unwrap_or_else(PoisonError::into_inner) = change;
    }

    /// Refuses a change of the catalogue that another region has to make.
    pub(crate) fn check_catalogue_writer(&self) -> Result<(), Failure> {
        let is_satellite = self.region().is_some() && !self.is_hub();
        match self.role() {
            Role::Writer if !is_satellite => Ok(()),
            _ => Err(Failure::WriteForbidden),
        }
    }
}

fn outcome_alone(outcome: Result<AccountOutcome, MergeError>) -> Result<(), Failure> {
    match outcome {
        Ok(AccountOutcome::Applied) => Ok(()),
        Ok(AccountOutcome::Known | AccountOutcome::Void) => Err(Failure::RetryWith),
        Err(error) => Err(Failure::Unavailable(error.to_string())),
    }
}
