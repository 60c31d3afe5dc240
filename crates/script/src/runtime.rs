//! The runtime, to which callers submit runs.

use std::sync::Arc;

use orrery_memory::MemoryShare;

use crate::budget::Clock;
use crate::bytecode::Bytecode;
use crate::cache::Cache;
use crate::compile::Prelude;
use crate::pool::{AbandonedThreads, Pool};
use crate::submission::{RunResult, ScriptRun, Submission};
use crate::{Host, Job, ScriptError, ScriptOptions, compile};

/// Runs scripts on its own threads. Dropping it lets running scripts end and refuses waiting ones.
pub struct Runtime {
    shared: Arc<RuntimeShared>,
    pool: Pool,
}

/// The state that all threads and sessions of a runtime share.
pub(crate) struct RuntimeShared {
    pub(crate) options: ScriptOptions,
    pub(crate) clock: Clock,
    pub(crate) prelude: Prelude,
    cache: Cache,
}

impl Runtime {
    pub fn new(options: ScriptOptions, clock: Clock) -> Result<Runtime, ScriptError> {
        let shared = Arc::new(RuntimeShared {
            prelude: compile::prelude(&options, &clock)?,
            cache: Cache::new(&options),
            options,
            clock,
        });
        let pool = Pool::start(&shared)?;
        Ok(Runtime { shared, pool })
    }

    /// Runs `job` against `host`, and passes the host and the result to `reply` exactly once: on a
    /// script thread, or at once on the caller's thread when too many runs wait. The caller never
    /// blocks.
    pub fn submit<H, R>(&self, job: Job, host: H, reply: R)
    where
        H: Host + 'static,
        R: FnOnce(H, RunResult) + Send + 'static,
    {
        let run: Arc<dyn ScriptRun> = Arc::new(Submission::new(job, host, reply));
        self.pool.submit(run);
    }

    /// The number of threads that the watchdog has given up because of endless runs.
    pub fn abandoned_threads(&self) -> AbandonedThreads {
        self.pool.abandoned_threads()
    }

    pub(crate) fn shared(&self) -> &Arc<RuntimeShared> {
        &self.shared
    }
}

impl RuntimeShared {
    /// The compiled form of a script; the compiler's memory is borrowed from `share`.
    pub(crate) fn compiled(
        &self,
        source: &Arc<str>,
        share: &MemoryShare,
    ) -> Result<Arc<Bytecode>, ScriptError> {
        self.cache.get(source, || {
            compile::function(&self.options, &self.clock, share, source)
        })
    }
}
