//! Milliseconds since the start, as of the last look: reading it costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) struct Clock {
    begun: Instant,
    now_ms: AtomicU64,
}

impl Clock {
    pub(super) fn new() -> Clock {
        Clock {
            begun: Instant::now(),
            now_ms: AtomicU64::new(1),
        }
    }

    pub(super) fn look(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // No moment is 0, which is none.
        self.now_ms.fetch_max(now.max(1), Ordering::Relaxed);
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }
}
