//! A log that has no room for a write, or cannot open a file, refuses the write and names the cause;
//! the committer lets the log try again later.

use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::Position;
use orrery_model::Failure;

use crate::Error;
use crate::command::not_begun;
use crate::committer::Committer;
use crate::health::DiskSpace;

/// Room beside the records of another store, for what this store adds to them.
const EXTRA_BYTES: usize = 64 << 10;
/// The pause before the committer asks the log again for room for records of another store: a file
/// that the log could not open may open a moment later.
const PAUSE: Duration = Duration::from_millis(100);
/// The time for which records of another store wait for room. A refusal stops the replication from
/// that store, so the committer waits for room before it refuses.
const PATIENCE: Duration = Duration::from_secs(10);

impl Committer {
    /// The pause before the next attempt to append records of another store, while the disk has no
    /// room. After the patience their append fails and says why.
    pub(crate) fn pause_for_room(&mut self, bytes: usize, now: Instant) -> Option<Duration> {
        let has_room = self.health.disk_space() != DiskSpace::Full
            && !matches!(
                self.log.reserve(bytes + EXTRA_BYTES),
                Err(orrery_log::Error::NotWritten { .. })
            );
        if has_room {
            self.no_room_since = None;
            return None;
        }
        let since = *self.no_room_since.get_or_insert(now);
        if now.saturating_duration_since(since) < PATIENCE {
            return Some(PAUSE);
        }
        self.no_room_since = None;
        None
    }

    /// Appends records of another store, which may become durable later.
    pub(crate) fn append_copies(&mut self, payloads: &[Bytes]) -> Result<Position, Error> {
        if self.health.disk_space() == DiskSpace::Full {
            return Err(Error::ReadOnly(self.health.no_room()));
        }
        let appended = self.log.append_copies(payloads);
        self.health.set_durable(self.log.durable());
        match appended {
            Ok(last) => {
                self.note_log_accepts();
                Ok(last)
            }
            Err(error) => {
                self.note_log_refusal(&error);
                Err(error.into())
            }
        }
    }

    /// The reply to the clients of a group after a failed append.
    pub(crate) fn log_failure(&mut self, error: orrery_log::Error) -> Failure {
        self.note_log_refusal(&error);
        match error {
            orrery_log::Error::NotWritten { .. } => not_begun(&error.chain()),
            error => self.enter_read_only(&error.into()),
        }
    }

    /// Lets the log try again, so that a client that reads the status of the store before it writes
    /// learns that the log takes writes again.
    pub(crate) fn retry_log(&mut self) {
        match self.log.retry_reserve() {
            Ok(()) if self.is_refusing => {
                self.is_refusing = false;
                self.health.set_log_refusal(None);
                tracing::warn!("the log takes writes again");
            }
            Err(error) if !matches!(error, orrery_log::Error::NotWritten { .. }) => {
                self.enter_read_only(&error.into());
            }
            Ok(()) | Err(_) => {}
        }
    }

    pub(crate) fn note_log_accepts(&mut self) {
        // A smaller write than the refused one may have fitted into the segment.
        if self.is_refusing {
            self.retry_log();
        }
    }

    fn note_log_refusal(&mut self, error: &orrery_log::Error) {
        if matches!(error, orrery_log::Error::NotWritten { .. }) {
            let cause = error.chain();
            if !std::mem::replace(&mut self.is_refusing, true) {
                tracing::error!(%cause, "a write was refused; the next one is tried again");
            }
            self.health.set_log_refusal(Some(cause));
        }
    }
}
