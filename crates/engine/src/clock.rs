//! The engine receives its clock as a value, so that a test can move the time.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub trait Clock: Send + Sync {
    /// Whole seconds since 1970.
    fn now_seconds(&self) -> u64;

    /// Milliseconds since an arbitrary moment; they never go back.
    fn monotonic_ms(&self) -> u64 {
        self.now_seconds() * 1_000
    }
}

/// The clock of the operating system.
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
