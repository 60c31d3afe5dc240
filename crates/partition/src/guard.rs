//! The thread that looks after the disk of a store: how much of it is free, and how far the log is durable.
//!
//! It writes the mark of the log about once a second, and at the end, so that records which vanish from the
//! end of the log later are missed. No commit waits for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use orrery_log::{Disk, Mark};

use crate::command::Command;
use crate::health::{Health, Room};
use crate::{Error, Upkeep};

/// How often the disk is measured. What is written meanwhile must fit into the reserve.
const MEASURE_INTERVAL: Duration = Duration::from_millis(250);
/// After so many measurements the guard raises the mark, and lets a log that refused a write try
/// again.
const LOOKS_PER_MARK: u32 = 4;

/// A function that gives the free bytes and the total bytes of the disk that a path is on, as
/// `measure` does by asking `fs4`.
pub(crate) type Measure = fn(&std::path::Path) -> std::io::Result<(u64, u64)>;

/// Bytes that are free for this user, and of the whole disk.
pub(crate) fn measure(path: &std::path::Path) -> std::io::Result<(u64, u64)> {
    let space = fs4::statvfs(path)?;
    Ok((space.available_space(), space.total_space()))
}

pub(crate) struct Guard {
    pub(crate) directory: PathBuf,
    pub(crate) health: Arc<Health>,
    pub(crate) upkeep: Upkeep,
    pub(crate) mark: Mark,
    pub(crate) measure: Measure,
    pub(crate) commands: Weak<Sender<Command>>,
}

impl Guard {
    /// The mark of a store, and the measure that is taken before its first write.
    pub(crate) fn open(
        directory: PathBuf,
        mark: &std::path::Path,
        disk: &Arc<dyn Disk>,
        health: &Arc<Health>,
        upkeep: Upkeep,
        commands: Weak<Sender<Command>>,
    ) -> Result<Guard, Error> {
        let mut guard = Guard {
            mark: Mark::open(disk, mark, health.durable())?,
            directory,
            health: Arc::clone(health),
            upkeep,
            measure,
            commands,
        };
        guard.look_at_disk();
        Ok(guard)
    }

    /// Runs until the store drops the other end of the channel, which is how the store tells the
    /// guard to end.
    pub(crate) fn run(mut self, end: &Receiver<()>) {
        let mut looks = 0;
        while end.recv_timeout(MEASURE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            self.look_at_disk();
            self.health.look();
            looks += 1;
            if looks % LOOKS_PER_MARK == 0 {
                self.raise_mark();
                self.try_log();
            }
        }
        self.raise_mark();
    }

    fn look_at_disk(&mut self) {
        let Ok((free, total)) = (self.measure)(&self.directory) else {
            // If the system cannot measure the disk of this directory, the commits fail as well and
            // report the cause.
            return;
        };
        if !self.health.measured(free, self.upkeep.reserve_of(total)) {
            return;
        }
        if self.health.room() == Room::Enough {
            tracing::warn!(
                free_bytes = free,
                "the disk has room again, writes are taken"
            );
        } else {
            tracing::error!("writes are refused: {}", self.health.no_room());
        }
    }

    fn raise_mark(&mut self) {
        if let Err(error) = self.mark.raise(self.health.durable()) {
            let cause = Error::from(error).chain();
            tracing::warn!(%cause, "how far the log is durable could not be written down");
        }
    }

    /// Lets the committer look whether the log takes writes again: nobody may be writing who would find out.
    fn try_log(&self) {
        if self.health.not_written().is_some()
            && let Some(commands) = self.commands.upgrade()
        {
            // A store that is closing needs no answer.
            let _ = commands.send(Command::TryLog);
        }
    }
}
