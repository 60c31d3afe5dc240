//! Milliseconds since the start of the server. A sweep updates the number once in a while, so that
//! reading it costs no system call.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) struct Clock {
    started: Instant,
    now_ms: AtomicU64,
}

impl Clock {
    pub(super) fn new() -> Clock {
        Clock {
            started: Instant::now(),
            now_ms: AtomicU64::new(1),
        }
    }

    pub(super) fn update(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        // A time is never 0, because 0 stands for no time.
        self.now_ms.fetch_max(now.max(1), Ordering::Relaxed);
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }
}
