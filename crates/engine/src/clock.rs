//! Time comes from outside, so that a test can move it.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub trait Clock: Send + Sync {
    /// Whole seconds since 1970.
    fn now_seconds(&self) -> u64;

    /// Milliseconds that only go forward, since any moment.
    fn monotonic_ms(&self) -> u64 {
        self.now_seconds() * 1_000
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_seconds(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_secs())
    }

    fn monotonic_ms(&self) -> u64 {
        static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(BEGUN.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
