//! The progress line on standard error.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::options::Progress;

/// Counters that the client threads increment and the progress line reads.
#[derive(Default)]
pub(crate) struct Gauge {
    pub(crate) operations: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) throttled: AtomicU64,
}

pub(crate) struct ProgressLine {
    visible: bool,
    title: String,
    began: Instant,
    previous: (Instant, u64),
}

impl ProgressLine {
    pub(crate) fn new(mode: Progress, title: &str) -> Self {
        // Terminal control characters would garble a log file.
        let visible = mode == Progress::Auto && std::io::stderr().is_terminal();
        let now = Instant::now();
        Self {
            visible,
            title: title.to_owned(),
            began: now,
            previous: (now, 0),
        }
    }

    pub(crate) fn update(&mut self, gauge: &Gauge) {
        if !self.visible {
            return;
        }
        // A counter that is a few operations late does no harm, so the order is relaxed.
        let (now, operations) = (Instant::now(), gauge.operations.load(Ordering::Relaxed));
        let (before, earlier) = std::mem::replace(&mut self.previous, (now, operations));
        let rate = (operations - earlier) as f64 / (now - before).as_secs_f64();
        let mut line = format!(
            "\r\x1b[K{} {:>4}s {rate:>9.0} ops/s {operations:>11} done",
            self.title,
            (now - self.began).as_secs(),
        );
        for (name, counter) in [("errors", &gauge.errors), ("throttled", &gauge.throttled)] {
            let count = counter.load(Ordering::Relaxed);
            if count > 0 {
                let _ = write!(line, " {count} {name}");
            }
        }
        write_stderr(&line);
    }

    pub(crate) fn finish(&self) {
        if self.visible {
            write_stderr("\r\x1b[K");
        }
    }
}

/// Shows the present stage of a run with many parts. An empty title clears the line.
pub(crate) fn show_stage(mode: Progress, title: &str) {
    if mode == Progress::Auto && std::io::stderr().is_terminal() {
        write_stderr(&format!("\r\x1b[K{title}"));
    }
}

/// Writes to standard error. A progress line that cannot be written is not worth an error.
fn write_stderr(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}
