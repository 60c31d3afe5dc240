//! Detects whether a log has lost records that it provably had.
//!
//! With durability `sync` the state changes only after the log is durable. So a state ahead of its
//! log proves that the log has lost records: its files were replaced by an old copy, truncated or
//! overwritten. With every durability, the watermark names only synced records.

use std::path::Path;
use std::sync::Arc;

use orrery_log::{Disk, Durability, DurableWatermark, Log, Position, WatermarkReading};

use crate::apply_after::ApplyAfter;
use crate::data_directory::DataDirectory;
use crate::store::open_log;
use crate::{Error, StoreOptions};

/// The end of the log according to the state and the watermark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedLogEnd {
    /// The last record in the state.
    pub(crate) applied: Position,
    /// The last durable record according to the watermark.
    pub(crate) watermark: Position,
}

impl ExpectedLogEnd {
    pub(crate) fn of(
        directory: &DataDirectory,
        disk: &dyn Disk,
        applied: Position,
    ) -> Result<ExpectedLogEnd, Error> {
        let watermark = match DurableWatermark::read(disk, &directory.watermark_path())? {
            WatermarkReading::Durable(position) => position,
            WatermarkReading::Absent => Position::ZERO,
            WatermarkReading::Damaged => {
                tracing::error!(
                    path = %directory.watermark_path().display(),
                    "the file that says how far the log was durable is damaged and is written anew; run `orrery check`"
                );
                Position::ZERO
            }
        };
        Ok(ExpectedLogEnd { applied, watermark })
    }

    /// The last record that an intact log must have.
    fn needed(self, options: &StoreOptions) -> Position {
        // Without a sync before every response, the stored state may be ahead of the synced log.
        // With `ApplyAfter::Written`, this region may have applied records of other regions before
        // their sync, and it requests these records again.
        let is_strict =
            options.durability == Durability::Sync && options.apply_after != ApplyAfter::Written;
        if is_strict {
            self.watermark.max(self.applied)
        } else {
            self.watermark
        }
    }
}

/// Opens the log of a directory. If the log has lost records, opening fails, or continues without
/// them if the operator accepts the loss.
pub(crate) fn open_log_with(
    directory: &DataDirectory,
    options: &StoreOptions,
    disk: &Arc<dyn Disk>,
    expected: ExpectedLogEnd,
) -> Result<Log, Error> {
    let needed = expected.needed(options);
    let accepted = options.maintenance.accept_loss;
    let opened = open_log(
        directory,
        options,
        disk,
        Position::ZERO,
        if accepted { Position::ZERO } else { needed },
    );
    let log = match opened {
        Err(Error::Log(orrery_log::Error::Ahead { last, .. })) => {
            return Err(Error::LogBehind {
                directory: directory.path().to_owned(),
                last,
                needed,
            });
        }
        result => result?,
    };
    let last = log.last();
    if accepted && last < needed {
        report_log_loss(directory.path(), expected, last);
    }
    // Replay continues after the applied position, so a log that ends before it is useless: a new
    // log begins after the state.
    if last >= expected.applied {
        return Ok(log);
    }
    drop(log);
    let aside = directory.set_log_aside()?;
    tracing::warn!(
        state = %expected.applied, log = %last, aside = %aside.display(),
        "the stored state is newer than the log; going on from the state with a new log"
    );
    open_log(directory, options, disk, expected.applied, Position::ZERO)
}

/// Logs which records are lost.
fn report_log_loss(directory: &Path, expected: ExpectedLogEnd, last: Position) {
    let ExpectedLogEnd { applied, watermark } = expected;
    let directory = directory.display();
    let end = applied.max(last);
    if watermark > end {
        tracing::error!(
            "{directory}: the records from {} to {watermark} are lost, and any after them: they were acknowledged, and \
             neither the log nor the state has them",
            end.0 + 1
        );
    } else {
        tracing::error!(
            "{directory}: the log has lost its records after {last}. The state has those up to {applied}; whether there \
             were acknowledged ones after that nobody knows, and they are lost"
        );
    }
}
