//! Requests that wait for other regions, and the bounds on their number.
//!
//! Each waiting request uses a little memory, and while other regions are away every such request
//! waits for its full timeout. So their number is bounded, and a request beyond the bound is
//! answered at once. A client that disconnects frees its slot.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use orrery_model::Failure;
use orrery_regions::ReadOutcome;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::replication::RegionReplication;

/// At most this many reads wait for the records of their session, and at most this many writes wait
/// for the records of their author or for the region to begin.
pub(crate) const WAITS_MAX: usize = 1_000;
/// At most this many strong reads wait for a confirmation. Each confirmation needs a round trip, so
/// many reads wait where many clients read.
const CONFIRMATIONS_MAX: usize = 10_000;
/// How long a strong read waits for its confirmation.
const CONFIRMATION_PATIENCE: Duration = Duration::from_secs(5);

/// One slot for a waiting request; dropping the value frees the slot.
pub(crate) struct Waits<'p>(&'p AtomicUsize);

impl Waits<'_> {
    pub(crate) fn begin(count: &AtomicUsize) -> Option<Waits<'_>> {
        let waits = Waits(count);
        // The guard exists before the check, so that its drop also takes back the count of a
        // refused request.
        (count.fetch_add(1, Ordering::Relaxed) < WAITS_MAX).then_some(waits)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A strong read that waits for its confirmation; dropping the value forgets the read.
struct PendingStrongRead<'p> {
    part: &'p RegionReplication,
    read: u64,
    answered: oneshot::Receiver<ReadOutcome>,
    is_over: bool,
}

impl PendingStrongRead<'_> {
    /// None if too many strong reads wait already.
    fn ask(part: &RegionReplication) -> Option<PendingStrongRead<'_>> {
        let (answer, answered) = oneshot::channel();
        let now = part.shared.now();
        let mut core = part.shared.lock();
        if core.reads.len() >= CONFIRMATIONS_MAX {
            return None;
        }
        // The waiter is registered under the same lock, before the driver can deliver an answer for
        // the read.
        let read = core.replica.read_index(now);
        core.reads.insert(read, answer);
        drop(core);
        part.shared.wake();
        Some(PendingStrongRead {
            part,
            read,
            answered,
            is_over: false,
        })
    }
}

impl Drop for PendingStrongRead<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut core = self.part.shared.lock();
            core.reads.remove(&self.read);
            core.replica.forget_read(self.read);
        }
    }
}

impl RegionReplication {
    /// Waits until the write region, confirmed by a majority, has sent the commit index for a
    /// strong read, and this region has applied it.
    pub(crate) async fn read_index(&self) -> Result<(), Failure> {
        let Some(mut confirmation) = PendingStrongRead::ask(self) else {
            return Err(unavailable(
                "too many reads wait already for this region to confirm that it has the latest writes",
            ));
        };
        let outcome = timeout(CONFIRMATION_PATIENCE, &mut confirmation.answered).await;
        confirmation.is_over = matches!(outcome, Ok(Ok(_)));
        match outcome {
            Ok(Ok(ReadOutcome::Ready)) => Ok(()),
            Ok(Ok(ReadOutcome::NotTheWriteRegion | ReadOutcome::OutsideTheReadQuorum) | Err(_)) => {
                Err(unavailable(
                    "this region cannot confirm that it has the latest writes",
                ))
            }
            Err(_) => Err(Failure::Timeout),
        }
    }
}

fn unavailable(why: &str) -> Failure {
    Failure::Unavailable(format!(
        "Service is currently unavailable: {why}. Read in another region, or at a weaker level."
    ))
}
