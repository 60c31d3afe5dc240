//! When the log has no room for a write, or cannot open a file, the committer refuses the write, names
//! the cause, and lets the log try again later.

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{Log, frame_bytes};

use crate::Error;
use crate::committer::Committer;
use crate::health::Room;

/// Notes that an authority may put before records.
const NOTES_BYTES: usize = 64 << 10;
/// The pause before the committer asks the log again for room for records of another region: a file
/// that the log could not open may open a moment later, and the committer takes no other write
/// meanwhile.
const PAUSE: Duration = Duration::from_millis(100);
/// Records of another region are not refused: that region counts on their being taken.
const PATIENCE: Duration = Duration::from_secs(10);

impl Committer {
    /// Gets the log what it needs for some records, beside their write and their sync.
    pub(crate) fn make_room_for(&mut self, payloads: &[Bytes]) -> Result<(), Error> {
        let bytes: usize = payloads
            .iter()
            .map(|payload| frame_bytes(payload.len()))
            .sum();
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let made = log.make_room(bytes + NOTES_BYTES);
        self.told(made)
    }

    /// [`Committer::make_room_for`] records of another region, for which a moment is waited.
    pub(crate) fn wait_for_room(&mut self, payloads: &[Bytes]) -> Result<(), Error> {
        let begun = Instant::now();
        loop {
            let is_full = self.health.room() == Room::None;
            if is_full && begun.elapsed() < PATIENCE {
                thread::sleep(PAUSE);
                continue;
            }
            if is_full {
                return Err(Error::ReadOnly(self.health.no_room()));
            }
            match self.make_room_for(payloads) {
                Err(Error::Log(orrery_log::Error::NotWritten { .. }))
                    if begun.elapsed() < PATIENCE =>
                {
                    thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Lets the log try again, so that a client that reads the status of the store before it writes
    /// learns that the log takes writes again.
    pub(crate) fn try_log(&mut self) {
        let tried = self.log.as_mut().map_or(Ok(()), Log::try_again);
        match tried {
            Ok(()) if self.is_refusing => {
                self.is_refusing = false;
                self.health.set_not_written(None);
                tracing::warn!("the log takes writes again");
            }
            Err(error) if !matches!(error, orrery_log::Error::NotWritten { .. }) => {
                self.break_down(&error.into());
            }
            Ok(()) | Err(_) => {}
        }
    }

    /// Remembers whether the log took or refused what the committer gave to it.
    pub(crate) fn told<T>(&mut self, result: Result<T, orrery_log::Error>) -> Result<T, Error> {
        let result = result.map_err(Error::from);
        match &result {
            Err(error @ Error::Log(orrery_log::Error::NotWritten { .. })) => {
                let cause = error.chain();
                if !std::mem::replace(&mut self.is_refusing, true) {
                    tracing::error!(%cause, "a write was refused; the next one is tried again");
                }
                self.health.set_not_written(Some(cause));
            }
            // A smaller one than was refused may have fitted into the segment.
            Ok(_) if self.is_refusing => self.try_log(),
            Ok(_) | Err(_) => {}
        }
        result
    }
}
