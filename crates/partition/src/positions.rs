//! Whether a log still has all records that the state, and the mark beside the log, prove that it
//! had.
//!
//! Under `sync` the state changes after the log is durable, so a state that is ahead of its log is the
//! proof that the log has lost records: the file was replaced by an old copy, cut off or overwritten.
//! Whatever the durability, the mark names only records that were synced.

use std::path::Path;
use std::sync::Arc;

use orrery_log::{Disk, Durability, Log, Mark, Marked, Position};

use crate::data_directory::DataDirectory;
use crate::late_sync::Seen;
use crate::store::open_log;
use crate::{Error, StoreOptions};

/// What the state and the mark say about the end of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// The last record that the state has.
    pub(crate) applied: Position,
    /// The last record that the mark calls durable.
    pub(crate) marked: Position,
}

impl Known {
    pub(crate) fn of(
        directory: &DataDirectory,
        disk: &dyn Disk,
        applied: Position,
    ) -> Result<Known, Error> {
        let marked = match Mark::read(disk, &directory.mark_of_log())? {
            Marked::Durable(position) => position,
            Marked::Nothing => Position::ZERO,
            Marked::Damaged => {
                tracing::error!(
                    path = %directory.mark_of_log().display(),
                    "the file that says how far the log was durable is damaged and is written anew; run `orrery check`"
                );
                Position::ZERO
            }
        };
        Ok(Known { applied, marked })
    }

    /// The last record that the log must have; a log without it has lost records.
    fn needed(self, options: &StoreOptions) -> Position {
        // Without a sync before every answer, the stored state may be ahead of the synced log, and this
        // region may have read records of other regions before these were synced; it asks the other
        // regions for such records again.
        let is_strict = options.durability == Durability::Sync && options.seen != Seen::Written;
        if is_strict {
            self.marked.max(self.applied)
        } else {
            self.marked
        }
    }
}

/// Opens the log of a directory; one that has lost records is refused, or put aside if the owner allows it.
pub(crate) fn open_log_with(
    directory: &DataDirectory,
    options: &StoreOptions,
    disk: &Arc<dyn Disk>,
    known: Known,
) -> Result<Log, Error> {
    let needed = known.needed(options);
    let accepted = options.upkeep.accept_loss;
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
        tell_loss(directory.path(), known, last);
    }
    if last >= known.applied {
        return Ok(log);
    }
    drop(log);
    let aside = directory.set_log_aside()?;
    tracing::warn!(
        state = %known.applied, log = %last, aside = %aside.display(),
        "the stored state is newer than the log; going on from the state with a new log"
    );
    open_log(directory, options, disk, known.applied, Position::ZERO)
}

/// Reports which records are lost with the end of the log.
fn tell_loss(directory: &Path, known: Known, last: Position) {
    let Known { applied, marked } = known;
    let directory = directory.display();
    let kept = applied.max(last);
    if marked > kept {
        tracing::error!(
            "{directory}: the records from {} to {marked} are lost, and any after them: they were acknowledged, and \
             neither the log nor the state has them",
            kept.0 + 1
        );
    } else {
        tracing::error!(
            "{directory}: the log has lost its records after {last}. The state has those up to {applied}; whether there \
             were acknowledged ones after that nobody knows, and they are lost"
        );
    }
}
