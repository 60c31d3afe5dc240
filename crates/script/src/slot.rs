//! A submitted run: its job, its host and who is waiting for it.
//!
//! Host and reply sit behind one lock that the script thread takes for each host call. Whoever
//! takes them out gives the answer: the script thread at the end of the run, or the watchdog of
//! the pool when the thread does not come back. From then on the script finds no host.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::bytecode::Bytecode;
use crate::{Host, Job, ScriptError, ScriptOutcome};

pub(crate) type RunResult = Result<ScriptOutcome, ScriptError>;

/// A [`Slot`] without its types.
pub(crate) trait Run: Send + Sync {
    fn job(&self) -> &Job;

    /// Gives `call` the host; false when it is gone.
    fn with_host(&self, call: &mut dyn FnMut(&mut dyn Host)) -> bool;

    /// Answers, unless that has been done.
    fn answer(&self, result: RunResult);

    /// Answers unless the host is at work at this moment.
    fn try_answer(&self, result: RunResult) -> bool;
}

/// Where a run is while an engine serves it. The engine borrows from here: it may be left, and whatever
/// it owns is lost then.
#[derive(Default)]
pub(crate) struct Seat {
    pub(crate) run: OnceCell<Arc<dyn Run>>,
    pub(crate) code: OnceCell<Arc<Bytecode>>,
}

pub(crate) struct Slot<H, R> {
    job: Job,
    open: Mutex<Option<(H, R)>>,
}

impl<H, R> Slot<H, R>
where
    H: Host,
    R: FnOnce(H, RunResult) + Send,
{
    pub(crate) fn new(job: Job, host: H, reply: R) -> Slot<H, R> {
        Slot {
            job,
            open: Mutex::new(Some((host, reply))),
        }
    }

    fn reply(mut open: MutexGuard<'_, Option<(H, R)>>, result: RunResult) {
        let taken = open.take();
        drop(open);
        if let Some((host, reply)) = taken {
            // A reply that panics is the business of whoever waits for it, not of the pool.
            let _ = catch_unwind(AssertUnwindSafe(|| reply(host, result)));
        }
    }
}

impl<H, R> Run for Slot<H, R>
where
    H: Host,
    R: FnOnce(H, RunResult) + Send,
{
    fn job(&self) -> &Job {
        &self.job
    }

    fn with_host(&self, call: &mut dyn FnMut(&mut dyn Host)) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((host, _)) = open.as_mut() else {
            return false;
        };
        call(host);
        true
    }

    fn answer(&self, result: RunResult) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        Self::reply(open, result);
    }

    fn try_answer(&self, result: RunResult) -> bool {
        let open = match self.open.try_lock() {
            Ok(open) => open,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        Self::reply(open, result);
        true
    }
}
