//! Failures of the log, classified by the action that the owner can take.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Position;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A call to the disk failed. A commit or a sync with this error poisons the log.
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    /// A step before the write of a commit failed, or a step of a trim: the log could not open or
    /// create a file, or the disk had no room. The log has written nothing, and accepts records
    /// again once the disk lets that step succeed.
    #[error("nothing was written to the log")]
    NotWritten {
        #[source]
        source: Box<Error>,
    },
    /// An earlier write or sync failed, so the contents of the disk are unknown until the log is
    /// opened again. A failed sync is never retried: the system may have dropped the pages it
    /// covered.
    #[error("the log takes no more records after an earlier failure")]
    Poisoned {
        #[source]
        first: Box<Error>,
    },
    /// Bytes that were once durable are damaged or missing. The data must be restored from a
    /// backup.
    #[error("{} at byte {offset}: {what}", segment.display())]
    Corrupt {
        segment: PathBuf,
        offset: u64,
        what: SegmentFault,
    },
    /// The log has trimmed records that the caller still needs.
    #[error("records after position {after} were asked for but the log begins at {first}")]
    Trimmed { after: Position, first: Position },
    /// The caller has records that the log lacks: the log has lost its tail, or it is the wrong
    /// log.
    #[error("records after position {after} were asked for but the log ends at {last}")]
    Ahead { after: Position, last: Position },
    /// A visitor returned an error during a replay.
    #[error("record {position} could not be replayed")]
    Visit {
        position: Position,
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

/// The fault at one position of a segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentFault {
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

/// An error and its causes in one line.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl Error {
    /// The error and its causes in one line.
    pub fn chain(&self) -> String {
        error_chain(self)
    }

    /// Wraps an error that stopped the visitor of a replay at `position`.
    pub fn visit(
        position: Position,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Error::Visit {
            position,
            source: Arc::from(source.into()),
        }
    }

    /// Whether a sync failed. After a failed sync the contents of the disk are unknown.
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
