//! The log as the commit path of a store uses it, whoever keeps the log: this disk, memory, or a
//! group of regions.
//!
//! ```text
//!   decide a group -> append -> durable here -> committed -> apply to the state -> answer
//!                                                  ^
//!                          at once in a log of one store; after a quorum in a replicated log
//! ```
//!
//! No call waits for another node: a log that cannot append yet answers [`AppendError::Busy`], and
//! [`CommitLog::commit_status`] answers [`CommitStatus::Pending`] until the outcome is known. So one
//! thread, or one step of a simulation, can serve the whole path.
//!
//! Errors of an append are determinate: after `Busy`, `NotOwner`, `Throttled` and
//! [`Error::NotWritten`] the log has none of the records. Any other error closes the log for
//! appends until the store opens the log again.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::{Error, Position};

pub trait CommitLog: Send {
    /// The position of the last appended record.
    fn last(&self) -> Position;

    /// The position of the last record that survives a loss of power.
    fn durable(&self) -> Position;

    /// Obtains what an append of records of `bytes` bytes in all needs besides its write and its
    /// sync. A failure changes nothing.
    fn reserve(&mut self, bytes: usize) -> Result<(), Error>;

    /// Appends records after the last one. An empty batch appends only the notes of the log, if it
    /// has any.
    fn append(&mut self, records: &dyn RecordBatch) -> Result<Appended, AppendError>;

    /// Appends records that another node has given their positions, which follow the last one
    /// here. They may become durable later than this call if the log permits that.
    fn append_copies(&mut self, records: &[Bytes]) -> Result<Position, Error>;

    /// Whether the log wants to append records of its own: the next append puts them first.
    fn has_notes(&self) -> bool {
        false
    }

    /// The commit status of all appended records up to `upto`.
    fn commit_status(&mut self, upto: Position) -> CommitStatus;

    /// Called when followers can read the appended records up to `upto`. A log that wakes the sender of
    /// records does so here: a sender that wakes before this call finds nothing to send.
    fn on_readable(&mut self, _upto: Position) {}

    /// Called when readers of the state see the records up to `upto`.
    fn on_applied(&mut self, _upto: Position) {}

    /// Called when the store gives up waiting for the appended records that are not committed.
    fn on_abandoned(&mut self) {}

    /// Makes every appended record durable.
    fn sync(&mut self) -> Result<(), Error>;

    /// Syncs if a sync is due, and returns the time until the next one; `None` if none is needed.
    fn tick(&mut self, now: Instant) -> Result<Option<Duration>, Error>;

    /// Repeats the last reservation that failed. If it succeeds, the log accepts records again.
    fn retry_reserve(&mut self) -> Result<(), Error>;

    /// The last record of the newest sealed segment: trimming up to this position frees as much as
    /// possible.
    fn sealed(&self) -> Option<Position>;

    /// The bytes that a restart reads if the last checkpoint was at `position`.
    fn bytes_since(&self, position: Position) -> u64;

    /// Declares that records up to `upto` are no longer needed.
    fn trim(&mut self, upto: Position) -> Result<(), Error>;

    /// Makes every appended record durable and ends the log. Returns the last position.
    fn close(self: Box<Self>) -> Result<Position, Error>;
}

/// Records that share one append.
pub trait RecordBatch {
    fn len(&self) -> usize;

    /// Appends the bytes of record `index` to `buffer`.
    fn encode(&self, index: usize, buffer: &mut Vec<u8>);

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of record `index`.
    fn payload(&self, index: usize) -> Bytes {
        let mut buffer = Vec::new();
        self.encode(index, &mut buffer);
        buffer.into()
    }
}

/// Records that are encoded already.
pub struct EncodedRecords<'a>(pub &'a [Bytes]);

impl RecordBatch for EncodedRecords<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, index: usize, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(&self.0[index]);
    }

    fn payload(&self, index: usize) -> Bytes {
        self.0[index].clone()
    }
}

/// The result of an append.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// The last position of the log after the append.
    pub last: Position,
    /// The appended records with the notes before them, where the log has encoded them.
    pub payloads: Option<Vec<Bytes>>,
    /// The text of the newest note among the appended records.
    pub note: Option<Bytes>,
}

/// The reasons for which a log appends nothing.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Earlier records have assigned positions and have not arrived yet. The caller repeats the
    /// append.
    #[error("the log waits for records before these")]
    Busy,
    /// Another node may append to the log.
    #[error("another region writes")]
    NotOwner,
    /// The other nodes are too far behind.
    #[error("other regions are too far behind")]
    Throttled { retry_after_ms: u64 },
    #[error(transparent)]
    Log(#[from] Error),
}

/// The commit status of records that are durable here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitStatus {
    /// Readers may see the records.
    Committed,
    /// Other regions must make the records durable first.
    Pending,
    /// This region cannot learn the outcome, because another region may be the write region now.
    Unknown,
}
