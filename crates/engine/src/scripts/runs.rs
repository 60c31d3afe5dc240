//! The runs that one request may need until its writes are committed.

use std::sync::Arc;

use orrery_keys::PartitionKey;
use orrery_model::{Answer, Charge, Failure, Stamp};
use orrery_partition::{Claim, Container, ScriptPlace};
use tokio::sync::oneshot;

use super::allowance::allowance;
use super::host::ScriptHost;
use super::turns::Turn;
use crate::engine::stopping;
use crate::throughput::{admit, charge};
use crate::{Engine, Metering, Terms};

/// Runs before a client is asked to try again itself.
const RUNS_MAX: usize = 10;

/// A turn on a logical partition, with a snapshot for each run in it.
pub(super) struct Runs<'a> {
    engine: &'a Arc<Engine>,
    container: &'a Arc<Container>,
    key: PartitionKey,
    /// The terms of the operations inside the runs, which are unmetered: the engine charges the
    /// runs for them at the end.
    terms: Terms,
    /// Admitted by it; what the last run cost is charged to it.
    claim: Option<Claim>,
    /// Set aside at the admission.
    price: Charge,
    alt_link: String,
    _turn: Turn<'a>,
    /// Told to hosts, so that a script does not go on for nobody.
    client: Arc<()>,
    charge_max: Option<Charge>,
    begun: usize,
    charge: Charge,
}

/// A run that is over, with what it has to commit and to pay for.
pub(super) struct Finished<T> {
    pub(super) host: ScriptHost,
    pub(super) result: Result<T, Failure>,
    /// Charged as if a client had asked for it.
    pub(super) direct: Charge,
}

impl<'a> Runs<'a> {
    /// Waits for the turn, if the partition has budget left; `price` is set aside for it.
    pub(super) async fn begin(
        engine: &'a Arc<Engine>,
        container: &'a Arc<Container>,
        key: PartitionKey,
        terms: Terms,
        price: Charge,
    ) -> Result<Runs<'a>, Failure> {
        let alt_link = engine.alt_link(container)?;
        let charge_max = allowance(engine, container)?;
        let logical = container.logical_partition(&key);
        let claim = engine.claim(terms.metering);
        let partition = container.partition_of(&logical);
        engine.admit_key(container, &logical).await?;
        admit(partition, claim, Charge::ZERO)?;
        let turn = engine.turns.take(&logical).await;
        admit(partition, claim, price)?;
        Ok(Runs {
            engine,
            container,
            key,
            terms: Terms {
                metering: Metering::Unmetered,
                ..terms
            },
            claim,
            price,
            alt_link,
            _turn: turn,
            client: Arc::default(),
            charge_max,
            begun: 0,
            charge: Charge::MIN,
        })
    }

    /// The host of the next run, if there may be one more.
    pub(super) fn next(&mut self) -> Option<ScriptHost> {
        if self.begun == RUNS_MAX {
            return None;
        }
        self.begun += 1;
        let place = ScriptPlace {
            container: Arc::clone(self.container),
            key: self.key.clone(),
            now_seconds: self.engine.now_seconds(),
            read_factor: self.terms.level.read_factor(),
        };
        let alt_link = self.alt_link.clone();
        let (client, charge_max) = (&self.client, self.charge_max);
        let terms = self.terms.clone();
        let host = ScriptHost::new(self.engine, client, place, alt_link, terms, charge_max);
        Some(host)
    }

    /// Commits a run that ended well. Gives no answer if another writer was faster.
    pub(super) async fn end<T>(&mut self, finished: Finished<T>) -> Option<Answer<T>> {
        let Finished {
            mut host,
            result,
            direct,
        } = finished;
        self.charge = Charge::script(host.charge(), host.own_time()) + direct;
        let committed = match result {
            Ok(value) => self.commit(&mut host).await.map(|stamp| (value, stamp)),
            Err(failure) => Err(failure),
        };
        let (result, stamp) = match committed {
            Ok((value, stamp)) => (Ok(value), stamp),
            Err(Failure::RetryWith) => return None,
            Err(failure) => (Err(failure), None),
        };
        Some(self.answer(result, stamp))
    }

    /// The answer after the last run.
    pub(super) fn give_up<T>(self) -> Answer<T> {
        self.answer(Err(Failure::RetryWith), None)
    }

    fn answer<T>(&self, result: Result<T, Failure>, stamp: Option<Stamp>) -> Answer<T> {
        let logical = self.container.logical_partition(&self.key);
        let partition = self.container.partition_of(&logical);
        Answer {
            result,
            charge: self.charge,
            stamp: Some(stamp.unwrap_or_else(|| partition.stamp())),
        }
    }

    /// Gives no stamp if there is nothing to commit.
    async fn commit(&self, host: &mut ScriptHost) -> Result<Option<Stamp>, Failure> {
        let Some(commit) = host.finish() else {
            return Ok(None);
        };
        let (reply, answer) = oneshot::channel();
        let reply = Box::new(move |result| drop(reply.send(result)));
        self.engine.store.submit_script(commit, reply);
        let committed = answer.await.unwrap_or_else(|_| Err(stopping()));
        committed.map(Some)
    }
}

/// However the runs ended, also when nobody waits for them any more, they are paid for.
impl Drop for Runs<'_> {
    fn drop(&mut self) {
        let logical = self.container.logical_partition(&self.key);
        let partition = self.container.partition_of(&logical);
        let key = Some(&self.key);
        charge(partition, self.claim, self.charge, self.price, key);
    }
}
