//! The limits of a runtime and of each run.

use std::time::Duration;

/// The options of a runtime.
#[derive(Debug, Clone)]
pub struct ScriptOptions {
    /// Number of threads that run scripts.
    pub threads: usize,
    /// Runs that may wait for a thread; a further run is refused as busy.
    pub queue_max: usize,
    /// Maximal time of a run; a longer run is stopped and rolled back.
    pub wall_time: Duration,
    /// Time after which a run may start no further operation, so that it can end in order.
    pub accept_time: Duration,
    /// Time beyond `wall_time` that a run may spend inside one native function before its thread is
    /// abandoned and replaced.
    pub abandon_time: Duration,
    /// Jumps and calls that a run may make, in steps of ten thousand.
    pub steps_max: u64,
    pub heap_bytes: usize,
    pub stack_bytes: usize,
    /// Memory limit of one value's copy outside of the heap, on its way between a script and the
    /// database.
    pub value_bytes: usize,
    /// Maximal JSON text of a request or response body, in UTF-16 units.
    pub response_length_max: usize,
    /// Maximal bytes of the log.
    pub log_bytes: usize,
    /// Number of compiled scripts in the cache.
    pub cache_entries: usize,
    /// Memory of the compiled scripts in the cache.
    pub cache_bytes: usize,
}

impl Default for ScriptOptions {
    fn default() -> Self {
        ScriptOptions {
            threads: 2,
            queue_max: 256,
            wall_time: Duration::from_secs(5),
            accept_time: Duration::from_secs(4),
            abandon_time: Duration::from_millis(500),
            steps_max: 10_000_000_000,
            heap_bytes: 64 << 20,
            stack_bytes: 1 << 20,
            value_bytes: 32 << 20,
            response_length_max: 4 << 20,
            log_bytes: 8 << 10,
            cache_entries: 512,
            cache_bytes: 32 << 20,
        }
    }
}
