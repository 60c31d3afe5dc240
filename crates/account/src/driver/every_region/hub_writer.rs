//! The hub brings catalogue changes into the account stream.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use orrery_engine::{AccountOutcome, AccountStreamWriter};
use orrery_model::Failure;
use orrery_regions::Sequence;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::driver::shared_replica::SharedReplica;

/// For a majority to make a catalogue change durable.
const CATALOGUE_PATIENCE: Duration = Duration::from_secs(10);
/// The limit for every region to apply the change; a region that is silent for this long is not
/// awaited.
const EVERYWHERE_PATIENCE: Duration = Duration::from_secs(2);

/// Brings catalogue changes into the account stream, in the hub.
pub(super) struct HubWriter(Weak<SharedReplica>);

impl HubWriter {
    pub(super) fn of(shared: &Arc<SharedReplica>) -> HubWriter {
        HubWriter(Arc::downgrade(shared))
    }
}

impl AccountStreamWriter for HubWriter {
    fn write(&self, data: Bytes) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + '_>> {
        Box::pin(async move {
            let Some(shared) = self.0.upgrade() else {
                return Err(Failure::Timeout);
            };
            let (sequence, answer) = propose(&shared, data)?;
            match timeout(CATALOGUE_PATIENCE, answer).await {
                Ok(Ok(AccountOutcome::Applied)) => {
                    // The change is committed even if a region does not apply it in time.
                    let _ = timeout(
                        EVERYWHERE_PATIENCE,
                        wait_applied_everywhere(&shared, sequence),
                    )
                    .await;
                    Ok(())
                }
                Ok(Ok(AccountOutcome::Stale | AccountOutcome::AlreadyApplied)) => {
                    Err(Failure::RetryWith)
                }
                Ok(Err(_)) | Err(_) => Err(Failure::Timeout),
            }
        })
    }
}

/// Waits until every live region has applied a record of the account stream: a client that has
/// created a container may continue in any region.
async fn wait_applied_everywhere(shared: &SharedReplica, sequence: Sequence) {
    let is_applied = || {
        let core = shared.lock();
        core.replica.is_applied_everywhere(shared.now(), sequence)
    };
    shared.wait_for(|| is_applied().then_some(())).await;
}

/// Adds a record to the account stream; returns its sequence and a receiver for its outcome.
pub(crate) fn propose(
    shared: &SharedReplica,
    data: Bytes,
) -> Result<(Sequence, oneshot::Receiver<AccountOutcome>), Failure> {
    let (applied, answer) = oneshot::channel();
    let now = shared.now();
    let mut core = shared.lock();
    let written = core.replica.write(now, data);
    let record = written.map_err(crate::driver::refusal)?;
    let sequence = record.sequence;
    // The waiter and the record are stored under the lock that gave the record its sequence, so
    // that the task finds both or neither.
    core.proposals.insert(sequence, applied);
    core.appending.push(record);
    drop(core);
    shared.wake();
    Ok((sequence, answer))
}
