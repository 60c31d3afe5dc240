//! Whether a store accepts writes, and the cause if it does not. Committer, disk monitor and
//! callers of the store share this state.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use orrery_log::Position;

use crate::scrub::ScrubReport;

/// Whether a store accepts writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreStatus {
    Writable,
    /// The store refuses writes temporarily, and accepts writes without a restart when the cause is
    /// gone.
    Refusing(String),
    /// The store has failed and refuses writes until it is opened again.
    Failed(String),
}

/// The room for writes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum DiskSpace {
    Enough,
    /// Little room: only commands that remove data run, because they free disk space.
    DeletesOnly,
    Full,
}

#[derive(Default)]
pub(crate) struct Health {
    room: AtomicU8,
    free_bytes: AtomicU64,
    reserve_bytes: AtomicU64,
    /// The last durable record of the log.
    durable: AtomicU64,
    /// The cause of the log's last refused write.
    log_refusal: Mutex<Option<String>>,
    /// The time since which writes are refused, as the disk monitor observed it.
    refusing_since: Mutex<Option<Instant>>,
    scrub: Mutex<ScrubReport>,
}

impl Health {
    pub(crate) fn disk_space(&self) -> DiskSpace {
        match self.room.load(Ordering::Relaxed) {
            0 => DiskSpace::Enough,
            1 => DiskSpace::DeletesOnly,
            _ => DiskSpace::Full,
        }
    }

    /// Stores a measurement, and returns whether it changes which writes the store accepts.
    pub(crate) fn measured(&self, free_bytes: u64, reserve_bytes: u64) -> bool {
        self.free_bytes.store(free_bytes, Ordering::Relaxed);
        self.reserve_bytes.store(reserve_bytes, Ordering::Relaxed);
        let room = if free_bytes >= reserve_bytes {
            DiskSpace::Enough
        } else if free_bytes >= reserve_bytes / 4 {
            DiskSpace::DeletesOnly
        } else {
            DiskSpace::Full
        };
        // `swap` returns the previous room, so that exactly one caller reports each change.
        self.room.swap(room as u8, Ordering::Relaxed) != room as u8
    }

    /// The free bytes of the last measurement, and the reserve.
    pub(crate) fn disk(&self) -> (u64, u64) {
        let free = self.free_bytes.load(Ordering::Relaxed);
        (free, self.reserve_bytes.load(Ordering::Relaxed))
    }

    /// The message for a client whose write is refused for lack of disk space.
    pub(crate) fn no_room(&self) -> String {
        let (free, reserve) = self.disk();
        let removals = match self.disk_space() {
            DiskSpace::Enough | DiskSpace::DeletesOnly => "Deletes are still taken. ",
            DiskSpace::Full => "",
        };
        format!(
            "the disk of the data directory is full: {} MiB are free and {} MiB are kept in reserve. {removals}Free \
             space on the disk, and writes are taken again by themselves",
            free >> 20,
            reserve >> 20
        )
    }

    pub(crate) fn durable(&self) -> Position {
        Position(self.durable.load(Ordering::Acquire))
    }

    pub(crate) fn set_durable(&self, position: Position) {
        self.durable.store(position.0, Ordering::Release);
    }

    /// Stores the cause for which the log refused a write before writing any byte, or `None` after
    /// a successful write.
    pub(crate) fn set_log_refusal(&self, cause: Option<String>) {
        *self
            .log_refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = cause;
    }

    pub(crate) fn log_refusal(&self) -> Option<String> {
        self.log_refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The status of a store that has not failed.
    pub(crate) fn status(&self) -> StoreStatus {
        let cause = if self.disk_space() == DiskSpace::Enough {
            self.log_refusal()
        } else {
            Some(self.no_room())
        };
        cause.map_or(StoreStatus::Writable, StoreStatus::Refusing)
    }

    /// Records the start of a period of refused writes, or its end.
    pub(crate) fn record_refusal(&self) {
        let is_refusing = self.status() != StoreStatus::Writable;
        let mut since = self
            .refusing_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *since = is_refusing.then(|| since.unwrap_or_else(Instant::now));
    }

    /// The cause if the store has refused writes for at least `patience`. `None` if the store
    /// accepts writes or has refused them for a shorter time.
    pub(crate) fn refusal_of(&self, patience: Duration) -> Option<String> {
        let since = *self
            .refusing_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        since.filter(|since| since.elapsed() >= patience)?;
        match self.status() {
            StoreStatus::Refusing(cause) => Some(cause),
            StoreStatus::Writable | StoreStatus::Failed(_) => None,
        }
    }

    pub(crate) fn scrub(&self) -> ScrubReport {
        self.scrub
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn change_scrub(&self, change: impl FnOnce(&mut ScrubReport)) {
        change(&mut self.scrub.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_follows_what_is_free() {
        let health = Health::default();
        assert_eq!(health.status(), StoreStatus::Writable);
        for (free, expected) in [
            (400, DiskSpace::Enough),
            (399, DiskSpace::DeletesOnly),
            (100, DiskSpace::DeletesOnly),
            (99, DiskSpace::Full),
            (400, DiskSpace::Enough),
        ] {
            health.measured(free << 20, 400 << 20);
            assert_eq!(health.disk_space(), expected, "{free}");
            assert_eq!(
                health.status() == StoreStatus::Writable,
                expected == DiskSpace::Enough
            );
        }
        health.set_log_refusal(Some("no files".to_owned()));
        assert_eq!(
            health.status(),
            StoreStatus::Refusing("no files".to_owned())
        );
        assert_eq!(health.refusal_of(Duration::ZERO), None);
        health.record_refusal();
        assert_eq!(
            health.refusal_of(Duration::ZERO).as_deref(),
            Some("no files")
        );
        assert_eq!(health.refusal_of(Duration::from_hours(1)), None);
        health.set_log_refusal(None);
        health.record_refusal();
        assert_eq!(health.refusal_of(Duration::ZERO), None);
    }
}
