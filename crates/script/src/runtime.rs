//! The shared front: where runs are submitted.

use std::sync::Arc;

use orrery_memory::Share;

use crate::budget::Clock;
use crate::bytecode::Bytecode;
use crate::cache::Cache;
use crate::compile::Prelude;
use crate::pool::{LostThreads, Pool};
use crate::slot::{Run, RunResult, Slot};
use crate::{Host, Job, ScriptError, ScriptOptions, compile};

/// Runs scripts on threads of its own. Dropping it lets running scripts end and refuses the rest.
pub struct Runtime {
    shared: Arc<Shared>,
    pool: Pool,
}

/// What every thread and session of a runtime uses.
pub(crate) struct Shared {
    pub(crate) options: ScriptOptions,
    pub(crate) clock: Clock,
    pub(crate) prelude: Prelude,
    cache: Cache,
}

impl Runtime {
    pub fn new(options: ScriptOptions, clock: Clock) -> Result<Runtime, ScriptError> {
        let shared = Arc::new(Shared {
            prelude: compile::prelude(&options, &clock)?,
            cache: Cache::new(&options),
            options,
            clock,
        });
        let pool = Pool::start(&shared)?;
        Ok(Runtime { shared, pool })
    }

    /// Runs `job` against `host` and gives both the host and the result to `reply`, exactly once:
    /// on a script thread, or at once on this one when too many runs are waiting. The caller never
    /// waits.
    pub fn submit<H, R>(&self, job: Job, host: H, reply: R)
    where
        H: Host + 'static,
        R: FnOnce(H, RunResult) + Send + 'static,
    {
        let run: Arc<dyn Run> = Arc::new(Slot::new(job, host, reply));
        self.pool.submit(run);
    }

    /// How many threads the watchdog has given up because their runs did not end.
    pub fn lost_threads(&self) -> LostThreads {
        self.pool.lost()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Shared {
    /// The memory of the compiler is borrowed from `share`.
    pub(crate) fn compiled(
        &self,
        source: &Arc<str>,
        share: &Share,
    ) -> Result<Arc<Bytecode>, ScriptError> {
        self.cache.get(source, || {
            compile::function(&self.options, &self.clock, share, source)
        })
    }
}
