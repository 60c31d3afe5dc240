//! What can go wrong, by what the owner can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Position;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The disk refused a call. If a commit or a sync gives this error, the log is poisoned.
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    /// The disk refused a step that comes before the write of a commit, or a step of a trim: the log
    /// could not open or make a file, or the file got no room. The log has written nothing, and takes
    /// records again when the disk lets that step succeed.
    #[error("nothing was written to the log")]
    NotWritten {
        #[source]
        source: Box<Error>,
    },
    /// An earlier write or sync failed, so what the disk holds is unknown until the log is opened
    /// again. A failed sync is never retried: the system may have dropped the pages it covered.
    #[error("the log takes no more records after an earlier failure")]
    Poisoned {
        #[source]
        first: Box<Error>,
    },
    /// Bytes that were once durable are damaged or gone. Restore from a backup.
    #[error("{} at byte {offset}: {what}", segment.display())]
    Corrupt {
        segment: PathBuf,
        offset: u64,
        what: Fault,
    },
    /// Records that the caller still needs have been trimmed.
    #[error("records after position {after} were asked for but the log begins at {first}")]
    Trimmed { after: Position, first: Position },
    /// The caller holds records that the log does not: its tail was lost, or it is another log.
    #[error("records after position {after} were asked for but the log ends at {last}")]
    Ahead { after: Position, last: Position },
    /// The visitor of a replay failed.
    #[error("record {position} could not be replayed")]
    Visit {
        position: Position,
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

/// What is wrong with the bytes at one place of a segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the segment header is damaged")]
    Header,
    #[error("log format version {0} is not known to this program")]
    Version(u32),
    #[error("the segment is named {named} but its header says {found}")]
    Sequence { named: u64, found: u64 },
    #[error("the segment is missing")]
    MissingSegment,
    #[error("record {position} is damaged although it had been made durable")]
    Record { position: Position },
    #[error("record {position} does not continue the chain of hashes")]
    Chain { position: Position },
    #[error("the segment ends before record {position} but the next one begins at {next}")]
    ShortSegment { position: Position, next: Position },
    #[error("the next segment begins at {next}, which this segment does not lead to")]
    WrongSuccessor { next: Position },
    #[error("a write that was never acknowledged left {bytes} bytes")]
    TornTail { bytes: u64 },
}

impl Error {
    /// For visitors of a replay: wraps whatever stopped them at `position`.
    pub fn visit(
        position: Position,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Error::Visit {
            position,
            source: Arc::from(source.into()),
        }
    }

    /// Whether a sync failed; after a failed sync nobody knows which bytes the disk has.
    pub(crate) fn is_of_sync(&self) -> bool {
        matches!(self, Error::Io { action: "sync", .. })
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io {
            action,
            path: path.to_owned(),
            source: Arc::new(source),
        }
    }
}
