//! The attempts of one script request until its writes are committed.

use std::sync::Arc;

use orrery_keys::PartitionKey;
use orrery_model::{Charge, ChargedResult, Failure, PartitionLsn};
use orrery_partition::{Container, Reservation, ScriptContext};
use tokio::sync::oneshot;

use super::charge_limit::charge_limit;
use super::host::ScriptHost;
use super::queue::ScriptTurn;
use crate::engine::stopping_failure;
use crate::throughput::{admit, charge};
use crate::{Engine, Metering, RequestBudget};

/// Attempts before the engine asks the client to retry.
const ATTEMPTS_MAX: usize = 10;

/// The turn of a request on a logical partition. Each attempt in it reads a new snapshot.
pub(super) struct ScriptAttempts<'a> {
    engine: &'a Arc<Engine>,
    container: &'a Arc<Container>,
    key: PartitionKey,
    /// The budget of operations inside the attempts. These operations are unmetered; the engine
    /// charges the whole attempt at its end.
    budget: RequestBudget,
    /// The reservation of the admission; the cost of the last attempt is charged to it.
    reservation: Option<Reservation>,
    /// Charge that the admission reserved.
    price: Charge,
    alt_link: String,
    _turn: ScriptTurn<'a>,
    /// Hosts hold this weakly, so that a script stops when its client disconnects.
    client: Arc<()>,
    charge_max: Option<Charge>,
    begun: usize,
    charge: Charge,
}

/// A finished attempt with its writes and its charge.
pub(super) struct FinishedRun<T> {
    pub(super) host: ScriptHost,
    pub(super) result: Result<T, Failure>,
    /// The charge of the triggering operation, as if a client had sent it alone.
    pub(super) triggering_charge: Charge,
}

impl<'a> ScriptAttempts<'a> {
    /// Admits the request, waits for its turn, and reserves `price`.
    pub(super) async fn begin(
        engine: &'a Arc<Engine>,
        container: &'a Arc<Container>,
        key: PartitionKey,
        budget: RequestBudget,
        price: Charge,
    ) -> Result<ScriptAttempts<'a>, Failure> {
        let alt_link = engine.alt_link(container)?;
        let charge_max = charge_limit(engine, container)?;
        let logical = container.logical_partition(&key);
        let reservation = engine.reservation(budget.metering);
        let partition = container.partition_of(&logical);
        engine.admit_key(container, &logical).await?;
        // The first admission refuses early: a request without budget does not join the queue.
        admit(partition, reservation, Charge::ZERO)?;
        let turn = engine.script_queue.take(&logical).await;
        // Other scripts have used the budget while this request waited, so the reservation follows
        // the turn.
        admit(partition, reservation, price)?;
        Ok(ScriptAttempts {
            engine,
            container,
            key,
            budget: RequestBudget {
                metering: Metering::Unmetered,
                ..budget
            },
            reservation,
            price,
            alt_link,
            _turn: turn,
            client: Arc::default(),
            charge_max,
            begun: 0,
            charge: Charge::MIN,
        })
    }

    /// Creates the host of the next attempt, unless the attempts are exhausted.
    pub(super) fn next_attempt(&mut self) -> Option<ScriptHost> {
        if self.begun == ATTEMPTS_MAX {
            return None;
        }
        self.begun += 1;
        let context = ScriptContext {
            container: Arc::clone(self.container),
            key: self.key.clone(),
            now_seconds: self.engine.now_seconds(),
            read_factor: self.budget.level.read_factor(),
        };
        let alt_link = self.alt_link.clone();
        let (client, charge_max) = (&self.client, self.charge_max);
        let budget = self.budget.clone();
        let host = ScriptHost::new(self.engine, client, context, alt_link, budget, charge_max);
        Some(host)
    }

    /// Commits a successful attempt. Returns `None` if another writer changed the logical partition
    /// since the attempt began.
    pub(super) async fn commit_attempt<T>(
        &mut self,
        finished: FinishedRun<T>,
    ) -> Option<ChargedResult<T>> {
        let FinishedRun {
            mut host,
            result,
            triggering_charge: direct,
        } = finished;
        // The client pays for one attempt only, so the charge of this attempt replaces the previous
        // one.
        self.charge = Charge::script(host.charge(), host.own_time()) + direct;
        let committed = match result {
            Ok(value) => self
                .commit(&mut host)
                .await
                .map(|partition_lsn| (value, partition_lsn)),
            Err(failure) => Err(failure),
        };
        let (result, partition_lsn) = match committed {
            Ok((value, partition_lsn)) => (Ok(value), partition_lsn),
            Err(Failure::RetryWith) => return None,
            Err(failure) => (Err(failure), None),
        };
        Some(self.answer(result, partition_lsn))
    }

    /// The reply after the last attempt has lost against other writers.
    pub(super) fn give_up<T>(self) -> ChargedResult<T> {
        self.answer(Err(Failure::RetryWith), None)
    }

    fn answer<T>(
        &self,
        result: Result<T, Failure>,
        partition_lsn: Option<PartitionLsn>,
    ) -> ChargedResult<T> {
        let logical = self.container.logical_partition(&self.key);
        let partition = self.container.partition_of(&logical);
        ChargedResult {
            result,
            charge: self.charge,
            partition_lsn: Some(partition_lsn.unwrap_or_else(|| partition.partition_lsn())),
        }
    }

    /// Commits the writes. Returns no stamp if the script has written nothing.
    async fn commit(&self, host: &mut ScriptHost) -> Result<Option<PartitionLsn>, Failure> {
        let Some(commit) = host.finish() else {
            return Ok(None);
        };
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.engine.store.submit_script(commit, reply);
        let committed = answer.await.unwrap_or_else(|_| Err(stopping_failure()));
        committed.map(Some)
    }
}

/// The drop settles the charge, so that cancelled requests pay for their attempts too.
impl Drop for ScriptAttempts<'_> {
    fn drop(&mut self) {
        let logical = self.container.logical_partition(&self.key);
        let partition = self.container.partition_of(&logical);
        let key = Some(&self.key);
        charge(partition, self.reservation, self.charge, self.price, key);
    }
}
