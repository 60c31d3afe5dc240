//! The limits of a runtime and of each run in it.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct ScriptOptions {
    /// Threads that run scripts.
    pub threads: usize,
    /// Runs that may wait for a thread; one more is refused as busy.
    pub queue_max: usize,
    /// Time a run may take in all; one that takes longer is stopped and rolled back.
    pub wall_time: Duration,
    /// Time after which a run may not start further operations, so that it can end in order.
    pub accept_time: Duration,
    /// Time beyond `wall_time` that a run may spend inside one native function before its thread
    /// is given up and replaced.
    pub abandon_time: Duration,
    /// Jumps and calls that a run may make, counted in ten thousands.
    pub steps_max: u64,
    pub heap_bytes: usize,
    pub stack_bytes: usize,
    /// Memory that the copy of one value may take outside of the heap, while that value passes between a
    /// script and the database.
    pub value_bytes: usize,
    /// Longest JSON of a request or response body, in UTF-16 units.
    pub response_length_max: usize,
    /// Longest log, in bytes.
    pub log_bytes: usize,
    /// Compiled scripts that are kept.
    pub cache_entries: usize,
    /// Memory that compiled scripts may take.
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
