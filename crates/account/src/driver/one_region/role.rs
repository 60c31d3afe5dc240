//! When the region writes: the engine takes writes while the replica is the write region, the state
//! has the whole log, and no other region can have been promoted without this region's knowledge.

use std::time::{Duration, Instant};

use orrery_partition::{Position, note_record};

use super::OneRegionWrites;
use crate::driver::Driver;

/// How long a restarted write region waits for the confirmation that it still is the write region.
const RETURN_PATIENCE: Duration = Duration::from_secs(3);

impl Driver<OneRegionWrites> {
    /// Stops writing when the region goes down, so that it takes no write at the moment of its
    /// return: as after a restart, another region may be the write region by then.
    pub(super) async fn notice_absence(&mut self) {
        let is_down = self.shared.is_down();
        let was_down = std::mem::replace(&mut self.strategy.was_down, is_down);
        if is_down || was_down {
            self.strategy.unverified_since = Some(Instant::now());
            self.published.set_returning(true);
            self.shared.lock().replica.mark_unverified();
        }
        if is_down {
            self.stop_writing().await;
        } else if was_down {
            self.strategy.unconfirmed_since = self.strategy.unverified_since;
        }
    }

    /// Makes the engine write or follow, according to the replica.
    pub(super) async fn follow_role(&mut self) {
        let (is_write_region, has_abandoned_groups) = {
            let mut core = self.shared.lock();
            let has_abandoned_groups = std::mem::take(&mut core.has_abandoned_groups);
            (core.replica.is_write_region(), has_abandoned_groups)
        };
        if self.strategy.is_writing && (!is_write_region || has_abandoned_groups) {
            self.stop_writing().await;
        }
        // Queued records have sequences below those of the next writes, so they are appended before
        // the engine is promoted.
        self.append_notes().await;
        if !self.strategy.is_writing && is_write_region && self.may_write() {
            self.publish();
            match self.engine.promote().await {
                Ok(()) => self.strategy.is_writing = true,
                Err(failure) => self.break_down(&failure.to_string()),
            }
        }
    }

    async fn stop_writing(&mut self) {
        if !std::mem::take(&mut self.strategy.is_writing) {
            return;
        }
        if let Err(failure) = self.engine.demote().await {
            self.break_down(&failure.to_string());
        }
    }

    /// Queued records have their sequences already; the writer appends them, or this task as a
    /// follower.
    async fn append_notes(&mut self) {
        if self.strategy.is_writing {
            if self.shared.lock().has_notes() {
                self.engine.wake_log();
            }
            return;
        }
        let notes = self.shared.lock().take_notes();
        let records = notes.into_iter();
        let records = records.map(|(at, text)| (Position(at.0), note_record(text)));
        self.follow(records.collect()).await;
    }

    /// Whether the state has applied the whole log and this region knows that it still is the write
    /// region.
    fn may_write(&mut self) -> bool {
        // Another region may have been promoted while this one was down, so the task first notices
        // the return.
        if self.strategy.was_down || self.shared.is_down() || self.broken.is_some() {
            return false;
        }
        let now = self.shared.now();
        let core = self.shared.lock();
        let last = core.replica.last();
        // The writer continues after the last record of the log, so the state must have applied
        // every record before.
        if last.0 != self.engine.applied().0 || self.engine.appended() != self.engine.applied() {
            return false;
        }
        let confirmed = core.replica.own_lag(now);
        match self.strategy.unconfirmed_since {
            Some(since)
                if !is_confirmed_after(since, confirmed) && since.elapsed() < RETURN_PATIENCE =>
            {
                false
            }
            _ => {
                self.strategy.unconfirmed_since = None;
                true
            }
        }
    }

    /// Whether the state may be outside the account's history: known to be, or not yet compared
    /// with the write region. After a time without messages the region continues, because all other
    /// regions may be down.
    pub(super) fn may_have_diverged(&mut self) -> bool {
        let now = self.shared.now();
        let core = self.shared.lock();
        let has_diverged = core.replica.has_diverged();
        let Some(since) = self.strategy.unverified_since else {
            return has_diverged;
        };
        let is_sure = if core.replica.is_write_region() {
            is_confirmed_after(since, core.replica.own_lag(now))
        } else {
            core.replica.is_verified()
        };
        drop(core);
        if is_sure || since.elapsed() >= RETURN_PATIENCE {
            self.strategy.unverified_since = None;
        }
        self.strategy.unverified_since.is_some() || has_diverged
    }
}

/// Whether a majority has confirmed the write region since then.
fn is_confirmed_after(since: Instant, confirmed: Option<(u64, u64)>) -> bool {
    // The age is rounded down to milliseconds, so one is added.
    confirmed.is_some_and(|(_, age)| Duration::from_millis(age + 1) < since.elapsed())
}
