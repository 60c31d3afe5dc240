//! The scrub reads what a running store has on its disk, slowly and again and again, so that the operator
//! learns of damage before a client asks for the damaged data.
//!
//! A pass reads the log and every row of the state, and with that the checksums of all blocks; of a sample of
//! the rows it asks what the offline [check](crate::check) asks of all. The scrub reads a limited number of
//! bytes a second, and waits for a while when the store applies many records. The scrub writes what it finds
//! to the log of the server, and counts it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use orrery_log::{Cursor, Disk, Position};
use orrery_storage::{Space, Storage};

use crate::Error;
use crate::check::Check;
use crate::committed::Committed;
use crate::health::Health;
use crate::spaces::NAMES;

/// How often the scrub reads a part of the data.
const STEP: Duration = Duration::from_millis(250);
const STEPS_PER_SECOND: u64 = 4;
/// Between two passes.
const REST: Duration = Duration::from_hours(1);
/// The scrub compares one row in `SAMPLE` with the rows that belong to it; of the other rows it verifies
/// only the checksums of their blocks. Comparing all would take a tenth of a processor.
const SAMPLE: usize = 8;
/// With more records than these in one step the store is busy.
const BUSY_RECORDS: u64 = 250;
/// A store that is always busy is scrubbed all the same, at a part of the rate.
const BUSY_STEPS_MAX: u32 = 8;
/// How many findings the report keeps as text; the scrub counts all of them.
const FINDINGS_MAX: usize = 20;

/// How far the scrub is and what it has found since the store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Times that everything was read.
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
    pub(crate) committed: Arc<Committed>,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) log: PathBuf,
    pub(crate) bytes_per_second: u64,
}

/// The store is closing.
struct Ended;

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

    fn pass(&self, end: &Receiver<()>) -> Result<(), Ended> {
        self.read_log(end)?;
        for (space, _) in (0..).map(Space).zip(NAMES) {
            self.read_space(space, end)?;
        }
        Ok(())
    }

    /// Waits until the scrub may read more; gives how many bytes it may read.
    fn allowance(&self, end: &Receiver<()>) -> Result<usize, Ended> {
        for _ in 0..BUSY_STEPS_MAX {
            let before = self.committed.applied().0;
            if end.recv_timeout(STEP) != Err(RecvTimeoutError::Timeout) {
                return Err(Ended);
            }
            if self.committed.applied().0 - before < BUSY_RECORDS {
                break;
            }
        }
        let bytes = self.bytes_per_second / STEPS_PER_SECOND;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX).max(1))
    }

    fn read_log(&self, end: &Receiver<()>) -> Result<(), Ended> {
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
                // The store may trim records that it no longer needs while the scrub reads, so the
                // scrub goes on at the first record that is left.
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
                    // A file that cannot be opened is no damage; the next pass tries again.
                    let cause = Error::from(error).chain();
                    tracing::warn!(%cause, "the scrub could not read the log");
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn read_space(&self, space: Space, end: &Receiver<()>) -> Result<(), Ended> {
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
