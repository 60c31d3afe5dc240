//! A submitted run: its job, its host and its reply.
//!
//! Host and reply are behind one lock, which the script thread takes for each host call. Whoever
//! takes both out gives the answer: the script thread at the end of the run, or the watchdog of the
//! pool when the thread does not return. From then on the script finds no host.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::bytecode::Bytecode;
use crate::{Host, Job, ScriptError, ScriptOutcome};

pub(crate) type RunResult = Result<ScriptOutcome, ScriptError>;

/// A [`Submission`] without its type parameters.
pub(crate) trait ScriptRun: Send + Sync {
    fn job(&self) -> &Job;

    /// Passes the host to `call`; returns false when the host has been taken out.
    fn with_host(&self, call: &mut dyn FnMut(&mut dyn Host)) -> bool;

    /// Answers the run, unless it has been answered.
    fn answer(&self, result: RunResult);

    /// Answers the run, unless its host is in a call at this moment.
    fn try_answer(&self, result: RunResult) -> bool;
}

/// Holds a run while an engine serves it. The engine borrows the run and its code from here,
/// because an abandoned engine loses everything that it owns.
#[derive(Default)]
pub(crate) struct RunSlot {
    pub(crate) run: OnceCell<Arc<dyn ScriptRun>>,
    pub(crate) code: OnceCell<Arc<Bytecode>>,
}

/// A run that waits for its answer.
pub(crate) struct Submission<H, R> {
    job: Job,
    open: Mutex<Option<(H, R)>>,
}

impl<H, R> Submission<H, R>
where
    H: Host,
    R: FnOnce(H, RunResult) + Send,
{
    pub(crate) fn new(job: Job, host: H, reply: R) -> Submission<H, R> {
        Submission {
            job,
            open: Mutex::new(Some((host, reply))),
        }
    }

    fn reply(mut open: MutexGuard<'_, Option<(H, R)>>, result: RunResult) {
        let taken = open.take();
        // The lock is released before the reply runs, because the reply may call any code.
        drop(open);
        if let Some((host, reply)) = taken {
            // A panic of the reply concerns the caller that waits for it, not the pool.
            let _ = catch_unwind(AssertUnwindSafe(|| reply(host, result)));
        }
    }
}

impl<H, R> ScriptRun for Submission<H, R>
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
