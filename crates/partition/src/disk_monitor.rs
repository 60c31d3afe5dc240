//! The disk monitor: a thread that measures free disk space and writes the watermark of the log.
//!
//! The monitor raises the watermark about once a second and at shutdown, so that a later loss of
//! records from the end of the log is detected. No commit waits for the monitor.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use orrery_log::{Disk, DurableWatermark};

use crate::command::{Command, Event};
use crate::health::{DiskSpace, Health};
use crate::{Error, MaintenanceOptions};

/// Interval of the measurements. Writes within one interval must fit into the reserve.
const MEASURE_INTERVAL: Duration = Duration::from_millis(250);
/// Number of measurements after which the monitor raises the watermark and lets a log that refused
/// a write try again.
const MEASUREMENTS_PER_WATERMARK: u32 = 4;

/// A function that returns the free bytes and the total bytes of the disk with a path; [`measure`]
/// is the implementation on `fs4`.
pub(crate) type Measure = fn(&std::path::Path) -> std::io::Result<(u64, u64)>;

/// The bytes that are free for this user, and the size of the disk.
pub(crate) fn measure(path: &std::path::Path) -> std::io::Result<(u64, u64)> {
    let space = fs4::statvfs(path)?;
    Ok((space.available_space(), space.total_space()))
}

pub(crate) struct DiskMonitor {
    pub(crate) directory: PathBuf,
    pub(crate) health: Arc<Health>,
    pub(crate) maintenance: MaintenanceOptions,
    pub(crate) watermark: DurableWatermark,
    pub(crate) measure: Measure,
    pub(crate) commands: Weak<Sender<Command>>,
}

impl DiskMonitor {
    /// Opens the watermark, and measures the disk before the first write of the store.
    pub(crate) fn open(
        directory: PathBuf,
        watermark: &std::path::Path,
        disk: &Arc<dyn Disk>,
        health: &Arc<Health>,
        maintenance: MaintenanceOptions,
        commands: Weak<Sender<Command>>,
    ) -> Result<DiskMonitor, Error> {
        let mut monitor = DiskMonitor {
            watermark: DurableWatermark::open(disk, watermark, health.durable())?,
            directory,
            health: Arc::clone(health),
            maintenance,
            measure,
            commands,
        };
        monitor.measure_disk();
        Ok(monitor)
    }

    /// Runs until the store drops the other end of the channel.
    pub(crate) fn run(mut self, end: &Receiver<()>) {
        let mut measurements = 0;
        while end.recv_timeout(MEASURE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            self.measure_disk();
            self.health.record_refusal();
            measurements += 1;
            if measurements % MEASUREMENTS_PER_WATERMARK == 0 {
                self.raise_watermark();
                self.try_log();
            }
        }
        // This last write names the records that became durable since the last tick.
        self.raise_watermark();
    }

    fn measure_disk(&mut self) {
        let Ok((free, total)) = (self.measure)(&self.directory) else {
            // If the system cannot measure the disk, the commits fail as well and report the cause.
            return;
        };
        if !self
            .health
            .measured(free, self.maintenance.reserve_of(total))
        {
            return;
        }
        if self.health.disk_space() == DiskSpace::Enough {
            tracing::warn!(
                free_bytes = free,
                "the disk has room again, writes are taken"
            );
        } else {
            tracing::error!("writes are refused: {}", self.health.no_room());
        }
    }

    fn raise_watermark(&mut self) {
        if let Err(error) = self.watermark.raise(self.health.durable()) {
            let cause = Error::from(error).chain();
            tracing::warn!(%cause, "how far the log is durable could not be written down");
        }
    }

    /// Asks the committer to retry the log. Without this, a store without writers would refuse
    /// writes for ever, because only a write would find out that the log works again.
    fn try_log(&self) {
        if self.health.log_refusal().is_some()
            && let Some(commands) = self.commands.upgrade()
        {
            // The committer of a store that is closing has ended.
            let _ = commands.send(Command::Event(Event::RetryLog));
        }
    }
}
