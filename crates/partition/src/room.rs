//! What the committer does when the log has no room for a write, or no file: it refuses it, says why, and
//! tries again.

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use orrery_log::{Log, frame_bytes};

use crate::Error;
use crate::committer::Committer;
use crate::health::Room;

/// Notes that an authority may put before records.
const NOTES_BYTES: usize = 64 << 10;
/// A file that could not be opened may be there again in a moment; nobody else can write meanwhile.
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

    /// Looks whether the log takes writes again, for those who ask before they write.
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

    /// Takes note of whether the log could take what it was given.
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
