//! Whether a store takes writes, and the cause if it refuses them, for its committer, its guard and
//! the callers of the store.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use orrery_log::Position;

use crate::scrub::ScrubReport;

/// Whether a store takes writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreStatus {
    Writable,
    /// The store refuses writes for now, and takes them again without a restart when the cause is
    /// gone.
    Refusing(String),
    /// The store has failed, and refuses writes until it is opened again.
    Failed(String),
}

/// How much room the disk has for writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Room {
    Enough,
    /// The store still carries out commands that remove something, because these make room.
    ForRemovals,
    None,
}

#[derive(Default)]
pub(crate) struct Health {
    room: AtomicU8,
    free_bytes: AtomicU64,
    reserve_bytes: AtomicU64,
    /// The last record of the log that is known to be durable.
    durable: AtomicU64,
    /// Why the log could not take the last write.
    not_written: Mutex<Option<String>>,
    /// Since when writes are refused, as whoever measures the disk has seen it.
    refusing_since: Mutex<Option<Instant>>,
    scrub: Mutex<ScrubReport>,
}

impl Health {
    pub(crate) fn room(&self) -> Room {
        match self.room.load(Ordering::Relaxed) {
            0 => Room::Enough,
            1 => Room::ForRemovals,
            _ => Room::None,
        }
    }

    /// Stores the measured room of the disk; tells whether this changes which writes the store
    /// takes.
    pub(crate) fn measured(&self, free_bytes: u64, reserve_bytes: u64) -> bool {
        self.free_bytes.store(free_bytes, Ordering::Relaxed);
        self.reserve_bytes.store(reserve_bytes, Ordering::Relaxed);
        let room = if free_bytes >= reserve_bytes {
            Room::Enough
        } else if free_bytes >= reserve_bytes / 4 {
            Room::ForRemovals
        } else {
            Room::None
        };
        self.room.swap(room as u8, Ordering::Relaxed) != room as u8
    }

    /// Bytes that the disk had free when it was measured last, and those that are kept free.
    pub(crate) fn disk(&self) -> (u64, u64) {
        let free = self.free_bytes.load(Ordering::Relaxed);
        (free, self.reserve_bytes.load(Ordering::Relaxed))
    }

    /// Why the disk has no room, in words for whoever wanted to write.
    pub(crate) fn no_room(&self) -> String {
        let (free, reserve) = self.disk();
        let removals = match self.room() {
            Room::Enough | Room::ForRemovals => "Deletes are still taken. ",
            Room::None => "",
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

    /// Stores the cause for which the log refused a write before any byte of it was in the log, or
    /// `None` after the log has taken a write.
    pub(crate) fn set_not_written(&self, cause: Option<String>) {
        *self
            .not_written
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = cause;
    }

    pub(crate) fn not_written(&self) -> Option<String> {
        self.not_written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The status of a store that has not failed: it takes writes, or it refuses them and names the
    /// cause.
    pub(crate) fn status(&self) -> StoreStatus {
        let cause = if self.room() == Room::Enough {
            self.not_written()
        } else {
            Some(self.no_room())
        };
        cause.map_or(StoreStatus::Writable, StoreStatus::Refusing)
    }

    /// Looks whether writes are refused, and remembers since when.
    pub(crate) fn look(&self) {
        let is_refusing = self.status() != StoreStatus::Writable;
        let mut since = self
            .refusing_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *since = is_refusing.then(|| since.unwrap_or_else(Instant::now));
    }

    /// Why the store has refused writes for at least `patience`; `None` if the store takes writes, or has
    /// refused them for a shorter time.
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
            (400, Room::Enough),
            (399, Room::ForRemovals),
            (100, Room::ForRemovals),
            (99, Room::None),
            (400, Room::Enough),
        ] {
            health.measured(free << 20, 400 << 20);
            assert_eq!(health.room(), expected, "{free}");
            assert_eq!(
                health.status() == StoreStatus::Writable,
                expected == Room::Enough
            );
        }
        health.set_not_written(Some("no files".to_owned()));
        assert_eq!(
            health.status(),
            StoreStatus::Refusing("no files".to_owned())
        );
        assert_eq!(health.refusal_of(Duration::ZERO), None);
        health.look();
        assert_eq!(
            health.refusal_of(Duration::ZERO).as_deref(),
            Some("no files")
        );
        assert_eq!(health.refusal_of(Duration::from_hours(1)), None);
        health.set_not_written(None);
        health.look();
        assert_eq!(health.refusal_of(Duration::ZERO), None);
    }
}
