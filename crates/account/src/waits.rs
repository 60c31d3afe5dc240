//! Requests that wait for other regions, and how many of them may.
//!
//! Each holds a little memory for as long as it waits, and while others are away all of them wait for as long
//! as they may. So there is a bound, and whoever comes beyond it is answered at once. A client that goes
//! away leaves nothing behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use orrery_model::Failure;
use orrery_regions::ReadOutcome;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::region::Part;

/// Reads that may wait at the same time for what their session has seen, and writes that may wait for what
/// their author has, or for the region to begin.
pub(crate) const WAITS_MAX: usize = 1_000;
/// Strong reads that may wait at the same time to be confirmed. Each needs a round trip, so there are many of
/// them where many read.
const CONFIRMATIONS_MAX: usize = 10_000;
/// How long a strong read waits to be confirmed.
const CONFIRMATION_PATIENCE: Duration = Duration::from_secs(5);

/// One of so many that may wait; its place is free again when it goes.
pub(crate) struct Waits<'p>(&'p AtomicUsize);

impl Waits<'_> {
    pub(crate) fn begin(count: &AtomicUsize) -> Option<Waits<'_>> {
        let waits = Waits(count);
        (count.fetch_add(1, Ordering::Relaxed) < WAITS_MAX).then_some(waits)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A strong read that is to be confirmed. It is forgotten when this goes.
struct Confirmation<'p> {
    part: &'p Part,
    read: u64,
    answered: oneshot::Receiver<ReadOutcome>,
    is_over: bool,
}

impl Confirmation<'_> {
    /// None if too many wait.
    fn ask(part: &Part) -> Option<Confirmation<'_>> {
        let (answer, answered) = oneshot::channel();
        let now = part.shared.now();
        let mut core = part.shared.lock();
        if core.reads.len() >= CONFIRMATIONS_MAX {
            return None;
        }
        let read = core.replica.confirm(now);
        core.reads.insert(read, answer);
        drop(core);
        part.shared.wake();
        Some(Confirmation {
            part,
            read,
            answered,
            is_over: false,
        })
    }
}

impl Drop for Confirmation<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let mut core = self.part.shared.lock();
            core.reads.remove(&self.read);
            core.replica.forget_read(self.read);
        }
    }
}

impl Part {
    /// Waits until the write region, confirmed by a majority, has said what a strong read must see.
    pub(crate) async fn confirm(&self) -> Result<(), Failure> {
        let Some(mut confirmation) = Confirmation::ask(self) else {
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
