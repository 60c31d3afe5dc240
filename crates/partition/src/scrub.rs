//! The scrub: reads all data of a running store slowly and repeatedly, so that the operator learns
//! of damage before a client requests the damaged data.
//!
//! A pass reads the log and every row of the state, which verifies the checksums of all blocks. For
//! a sample of the rows it also runs the checks of the offline [check](crate::check). The scrub
//! reads a limited number of bytes per second, and pauses while the store applies many records. It
//! logs and counts its findings.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use orrery_log::{Cursor, Disk, Position};
use orrery_storage::{KeyspaceId, Storage};

use crate::Error;
use crate::check::Check;
use crate::health::Health;
use crate::keyspaces::NAMES;
use crate::log_tail::LogTail;

/// Interval between two reads of the scrub.
const STEP: Duration = Duration::from_millis(250);
const STEPS_PER_SECOND: u64 = 4;
/// Pause between two passes.
const REST: Duration = Duration::from_hours(1);
/// One row in `SAMPLE` is compared with its related rows; for the other rows only the block
/// checksums are verified. Comparing every row would take a tenth of a processor.
const SAMPLE: usize = 8;
/// Number of applied records in one step above which the store counts as busy.
const BUSY_RECORDS: u64 = 250;
/// Maximum number of steps to wait for a busy store. A permanently busy store is scrubbed at a
/// reduced rate.
const BUSY_STEPS_MAX: u32 = 8;
/// Maximum number of findings that the report contains as text. The scrub counts all findings.
const FINDINGS_MAX: usize = 20;

/// The progress and the findings of the scrub since the store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Number of complete passes.
    pub passes: u64,
    pub bytes: u64,
    pub rows: u64,
    pub records: u64,
    pub findings: u64,
    /// The first findings, one sentence each.
    pub first_findings: Vec<String>,
}

pub(crate) struct Scrub {
    pub(crate) storage: Arc<Storage>,
    pub(crate) health: Arc<Health>,
    pub(crate) log_tail: Arc<LogTail>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) log: PathBuf,
    pub(crate) bytes_per_second: u64,
}

/// The store is closing, so the scrub ends.
struct StoreClosing;

impl Scrub {
    /// Runs until the store drops the other end of the channel.
    pub(crate) fn run(&self, end: &Receiver<()>) {
        loop {
            if self.pass(end).is_err() {
                return;
            }
            self.health.change_scrub(|report| report.passes += 1);
            if end.recv_timeout(REST) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn pass(&self, end: &Receiver<()>) -> Result<(), StoreClosing> {
        self.read_log(end)?;
        for (space, _) in (0..).map(KeyspaceId).zip(NAMES) {
            self.read_space(space, end)?;
        }
        Ok(())
    }

    /// Waits for the next step, and returns the number of bytes that the scrub may read.
    fn allowance(&self, end: &Receiver<()>) -> Result<usize, StoreClosing> {
        for _ in 0..BUSY_STEPS_MAX {
            let before = self.log_tail.applied().0;
            if end.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout) {
                return Err(StoreClosing);
            }
            if self.log_tail.applied().0 - before < BUSY_RECORDS {
                break;
            }
        }
        let bytes = self.bytes_per_second / STEPS_PER_SECOND;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX).max(1))
    }

    fn read_log(&self, end: &Receiver<()>) -> Result<(), StoreClosing> {
        let mut cursor = Cursor::new(Arc::clone(&self.disk), &self.log);
        let upto = self.health.durable();
        let mut after = Position::ZERO;
        while after < upto {
            let bytes_max = self.allowance(end)?;
            match cursor.read(after, upto, bytes_max) {
                Ok(records) => {
                    let bytes: usize = records.iter().map(|(_, payload)| payload.len()).sum();
                    after = records.last().map_or(upto, |(last, _)| *last);
                    self.count(bytes, 0, records.len());
                }
                // The store may trim the log during the scrub, so the scrub continues at the first
                // remaining record.
                Err(orrery_log::Error::Trimmed { first, .. }) if first.0 > after.0 + 1 => {
                    after = Position(first.0 - 1);
                }
                Err(
                    error @ (orrery_log::Error::Corrupt { .. } | orrery_log::Error::Trimmed { .. }),
                ) => {
                    self.found(&format!("log: {}", Error::from(error).chain()));
                    return Ok(());
                }
                Err(error) => {
                    // A file that cannot be opened is not damage; the next pass tries again.
                    let cause = Error::from(error).chain();
                    tracing::warn!(%cause, "the scrub could not read the log");
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn read_space(&self, space: KeyspaceId, end: &Receiver<()>) -> Result<(), StoreClosing> {
        let mut from = Some(Vec::new());
        while let Some(begin) = from {
            let bytes_max = self.allowance(end)?;
            let part = match Check::new(self.storage.snapshot()) {
                Ok(check) => check.part(space, &begin, bytes_max, SAMPLE),
                Err(error) => {
                    self.found(&format!("catalogue: {}", error.chain()));
                    return Ok(());
                }
            };
            self.count(part.bytes, part.rows, 0);
            for problem in &part.problems {
                self.found(problem);
            }
            from = part.next;
        }
        Ok(())
    }

    fn count(&self, bytes: usize, rows: usize, records: usize) {
        self.health.change_scrub(|report| {
            report.bytes += bytes as u64;
            report.rows += rows as u64;
            report.records += records as u64;
        });
    }

    fn found(&self, problem: &str) {
        tracing::error!(
            problem,
            "the stored data is damaged; stop the server, keep a copy of the directory and run `orrery check`"
        );
        self.health.change_scrub(|report| {
            report.findings += 1;
            if report.first_findings.len() < FINDINGS_MAX {
                report.first_findings.push(problem.to_owned());
            }
        });
    }
}
